"""What was found in reviews as lines of JSONL or CSV: a line per aspect, each with everything in its row of the input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from classic.data.readers.columns import beside
from classic.runtime.records import as_csv, as_jsonl, record, spread
from classic.types import Found

COLUMNS = (
    *("aspect", "start", "end", "confidence", "polarity", "positive", "negative", "neutral"),
    *("sentence", "nearest_domain", "unfamiliar", "truncated", "version"),
)


def found_record(found: Found) -> dict[str, Any]:
    """An aspect that was found, as plain JSON values; its span counts in the whole text."""
    values = record(found.prediction) | {"span": [found.start, found.end], "confidence": round(found.confidence, 6)}
    return {name: values[name] for name in ("aspect", "span", *COLUMNS[3:])}


def found_columns(names: Iterable[str]) -> list[str]:
    """The columns of a CSV file: those of the answers, then those of the input."""
    return [*COLUMNS, *_own(names).values()]


def found_lines(rows: Iterable[tuple[Mapping[str, object], Sequence[Found]]], form: str, names: Sequence[str]) -> str:
    """Rows of the input with what was found in them, as text. A row without an aspect is one line without one.

    Args:
        rows: The cells of each row by name, and its aspects.
        form: ``csv``; anything else is JSONL.
        names: The columns of CSV, from `found_columns`.
    """
    values = [
        each | {own: fields[name] for name, own in _own(fields).items()}
        for fields, found in rows
        for each in ([found_record(one) for one in found] or [{"aspect": None, "polarity": None}])
    ]
    if form == "csv":
        return as_csv(map(spread, values), names)
    return as_jsonl(values)


def _own(names: Iterable[str]) -> dict[str, str]:
    return beside(names, {*COLUMNS, "span"})
