"""Rows as they are written, good or bad, for somebody who wants to see all errors of a file at once and mend them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from classic.data.readers import READERS
from classic.data.readers.delimited import iter_cells
from classic.data.readers.detect import detect
from classic.data.readers.jsonl import parse_line
from classic.data.readers.row import FIELD_NAMES, Note, make_example
from classic.data.readers.source import Place, Source, locate, text_lines, without_line_end
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
    """Yields every row of a labelled file; in CSV, TSV and JSONL it goes on after a bad one.

    Raises:
        DataError: The rest of the file cannot be read: a quote that is never closed, a byte that is not UTF-8, or, in
            the other formats, a bad row.
    """
    source = locate(path)
    form = detect(source)
    if form == "csv":
        yield from _delimited(source)
    elif form == "jsonl":
        yield from _json_lines(source)
    else:
        notes: list[Note] = []
        for row in READERS[form](source, True, notes):
            yield Draft(row.line, as_values(row.example), row.example)


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


def _delimited(source: Source) -> Iterator[Draft]:
    for cells in iter_cells(source, labelled=True):
        try:
            if cells.error:
                raise cells.error
            yield Draft(cells.line, cells.values, make_example(cells.values, labelled=True, where=cells.where))
        except DataError as error:
            yield Draft(cells.line, cells.values, error=error)


def _json_lines(source: Source) -> Iterator[Draft]:
    for number, raw in text_lines(source):
        line = without_line_end(raw)
        try:
            good = [
                Draft(number, as_values(row.example), row.example)
                for row in parse_line(line, number, source.path, labelled=True)
            ]
        except DataError as error:
            yield from _mendable(line, number, source.path, error)
        else:
            yield from good


def _mendable(line: str, number: int, path: str, error: DataError) -> Iterator[Draft]:
    """The drafts of a bad line: one for every aspect of a list, so that only the bad ones carry an error."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        yield Draft(number, {}, error=error)
        return
    aspects = value.get("aspects")
    if not isinstance(aspects, list) or not all(isinstance(aspect, dict) for aspect in aspects) or not aspects:
        yield Draft(number, _known(value), error=error)
        return
    shared = {name: each for name, each in value.items() if name != "aspects"}
    for aspect in aspects:
        alone = json.dumps(shared | aspect)
        try:
            (row,) = parse_line(alone, number, path, labelled=True)
            yield Draft(number, as_values(row.example), row.example)
        except DataError as own:
            yield Draft(number, _known(shared | aspect), error=own)


def _known(value: dict[str, object]) -> dict[str, object]:
    by_name = {name.strip().casefold(): each for name, each in value.items()}
    return {field: by_name[name] for field, names in FIELD_NAMES.items() for name in names if name in by_name}
