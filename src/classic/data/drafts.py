"""Rows as they are written, good or bad, for somebody who wants to see all errors of a file at once and mend them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from classic.data.readers import BadRow, iter_entries
from classic.data.readers.columns import FIELD_NAMES
from classic.data.readers.row import make_example
from classic.data.readers.source import Place
from classic.errors import DataError
from classic.types import Example


@dataclass(frozen=True, slots=True)
class Draft:
    """One row: what stands there, and either the example it makes or what is wrong with it.

    Attributes:
        line: The physical line it begins on.
        values: Raw values by canonical field name.
        example: What it means, if it is good.
        error: What is wrong, if it is not.
    """

    line: int
    values: dict[str, object]
    example: Example | None = None
    error: DataError | None = field(default=None, compare=False)


def read_drafts(path: str | Path) -> Iterator[Draft]:
    """Yields every row of a labelled file and goes on after a bad one.

    Raises:
        DataError: The rest of the file cannot be read: a quote that is never closed, or a byte that is not UTF-8.
    """
    for entry in iter_entries(path):
        if isinstance(entry, BadRow):
            yield Draft(entry.line, _known(entry.fields), error=entry.error)
        else:
            yield Draft(entry.line, as_values(entry.example), entry.example)


def as_values(example: Example) -> dict[str, object]:
    """An example by canonical field name."""
    start, end = example.span or (None, None)
    polarity = example.polarity and example.polarity.value
    return {"sentence": example.sentence, "aspect": example.aspect, "polarity": polarity, "start": start, "end": end}


def faulty_field(values: dict[str, object]) -> str | None:
    """The field that keeps raw values from being an example; None if they are one."""
    asked: list[str] = []

    def where(name: str) -> Place:
        asked.append(name)
        return Place("")

    try:
        make_example(values, labelled=True, where=where)
    except DataError:
        return asked[-1]
    return None


def _known(value: Mapping[str, object]) -> dict[str, object]:
    by_name = {name.strip().casefold(): each for name, each in value.items()}
    return {field: by_name[name] for field, names in FIELD_NAMES.items() for name in names if name in by_name}
