"""Answers as lines of JSONL or CSV, each with everything that stood in its row of the input."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from classic.data.readers.columns import beside
from classic.data.writers import safe_cell
from classic.types import Prediction, without_halves

ERROR = "error"
_COLUMNS = (
    *("sentence", "aspect", "polarity", "positive", "negative", "neutral"),
    *("nearest_domain", "unfamiliar", "aspect_found", "truncated", "version", "start", "end"),
)
_ASKED = ("sentence", "aspect", "start", "end")
"""Columns whose values the answer repeats anyway: by these names, readers give only the fields themselves."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A row of the input and what became of it.

    Attributes:
        answer: The prediction; None if the row could not be read.
        fields: The row, by the names of the input.
        error: What was wrong with it.
    """

    answer: Prediction | None
    fields: Mapping[str, object] = field(default_factory=dict)
    error: str = ""


def record(answer: Prediction) -> dict[str, Any]:
    """A prediction as plain JSON values."""
    return answer.to_dict() | {name: round(share, 6) for name, share in dict(answer.probabilities).items()}


def returned(names: Iterable[str]) -> dict[str, str]:
    """Under which names the columns of the input come back; those that the answer has already do not.

    >>> returned(["id", "polarity", "sentence", "span"])
    {'id': 'id', 'polarity': 'input_polarity', 'span': 'input_span'}
    """
    return beside([name for name in names if name not in _ASKED], {*_COLUMNS, "span", ERROR})


def as_object(row: Answered) -> dict[str, Any]:
    """A row with its answer as plain JSON values: the answer first, then the other columns of the input."""
    if row.answer is None:  # nothing else repeats what was asked
        asked = {name: row.fields[name] for name in _ASKED if name in row.fields}
        values = {"sentence": None, "aspect": None} | asked | {"polarity": None, ERROR: row.error}
    else:
        values = record(row.answer)
    return values | {own: row.fields[name] for name, own in returned(row.fields).items()}


def columns(names: Iterable[str], *, marked: bool = False) -> list[str]:
    """The columns of a CSV file of answers.

    Args:
        names: The columns of the input.
        marked: Whether rows that could not be read are in it.
    """
    return [*_COLUMNS, *((ERROR,) if marked else ()), *returned(names).values()]


def header(form: str, names: Sequence[str] = _COLUMNS) -> str:
    """What stands before the first answer."""
    return _written([names]) if form == "csv" else ""


def lines(rows: Iterable[Answered], form: str, names: Sequence[str] = _COLUMNS) -> str:
    """Answers as text, one line each unless a sentence has several. ``names`` are the columns of CSV."""
    if form != "csv":
        return as_jsonl(map(as_object, rows))
    return as_csv(map(_flat, rows), names)


def as_jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as lines of JSON."""
    return without_halves("".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows))


def as_csv(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Rows as lines of CSV."""
    return _written([_cell(values.get(name)) for name in names] for values in rows)


def _flat(row: Answered) -> dict[str, Any]:
    return spread(as_object(row))


def spread(values: dict[str, Any]) -> dict[str, Any]:
    """The span in two columns, as CSV has it; of a row that could not be read, what stands in them."""
    values["start"], values["end"] = values.pop("span", None) or (values.get("start"), values.get("end"))
    return values


def _cell(value: object) -> object:
    """A spreadsheet must not take a review for a formula."""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return safe_cell(value) if isinstance(value, str) else value


def _written(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return without_halves(text.getvalue())
