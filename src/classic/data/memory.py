"""Rows that are in memory already, in whatever shape people have them, as examples.

Taken are: examples; dicts with the field names of the files; tuples (sentence, aspect) and (sentence, aspect, polarity);
a pandas or polars DataFrame; a Hugging Face Dataset; any iterable of these. None of these libraries is imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from classic.data.readers.row import WORD_LABELS, BadRow, Row, match_fields, parse_polarity, read_row, require_fields
from classic.data.readers.source import Place
from classic.errors import MOST_SHOWN, DataError, InputError, several
from classic.types import Example, as_span, checked

NAME = "the data"
_NOTHING = ("NAType", "NaTType")  # pandas is not imported for them
_FORMS = "examples, dicts, tuples (sentence, aspect, polarity), a DataFrame or a Dataset"


@runtime_checkable
class _Pandas(Protocol):
    def itertuples(self) -> Any: ...
    def to_dict(self, orient: str) -> Any: ...


@runtime_checkable
class _Polars(Protocol):
    def iter_rows(self, *, named: bool) -> Any: ...


@runtime_checkable
class _Coded(Protocol):
    """A Dataset that tells its columns' kinds: a label may be a number with a name, which `names` lists."""

    features: Mapping[str, Any]

    def __iter__(self) -> Iterator[Any]: ...


def iter_examples(data: object, *, labelled: bool = True) -> Iterator[Example]:
    """The examples one by one; a bad row is an error as soon as it comes.

    >>> [example.aspect for example in iter_examples([("Soft bed, noisy lift.", ["bed", "lift"])], labelled=False)]
    ['bed', 'lift']

    Args:
        data: Rows, see above. Rows are counted from 1 in messages.
        labelled: Whether every example must have a polarity.
    """
    for entry in _entries(data, labelled):
        if isinstance(entry, BadRow):
            raise entry.error
        yield entry.example


def to_examples(data: object, *, labelled: bool = True) -> list[Example]:
    """All examples; the error tells all bad rows at once. See `iter_examples`.

    >>> to_examples([{"text": "Soft bed.", "aspect": "bed", "label": "pos"}])[0].polarity
    <Polarity.POSITIVE: 'positive'>
    """
    found: list[Example] = []
    bad: list[DataError] = []
    count = 0
    for entry in _entries(data, labelled):
        if isinstance(entry, BadRow):
            count += 1
            if len(bad) < MOST_SHOWN:
                bad.append(entry.error)
        else:
            found.append(entry.example)
    if bad:
        raise several(bad, count)
    return found


def _entries(data: object, labelled: bool) -> Iterator[Row | BadRow]:
    for number, row in enumerate(_rows(data), start=1):
        if isinstance(row, Example):
            yield _checked(row, number, labelled)
            continue
        try:
            asked = _fields(row, number)
        except DataError as error:
            yield BadRow(error, number)
            continue
        for fields in asked:
            yield _read(fields, number, labelled)


def _rows(data: object) -> Iterable[object]:
    if isinstance(data, _Polars):
        rows: Iterable[object] = data.iter_rows(named=True)
        return rows
    if isinstance(data, _Pandas):
        return list(data.to_dict("records"))
    if isinstance(data, str | bytes | Path | Mapping) or not isinstance(data, Iterable):
        raise InputError(
            f"a value of type {type(data).__name__} is no list of rows",
            fix=f"give {_FORMS}; read a file with read_examples",
        )
    if isinstance(data, _Coded) and isinstance(data.features, Mapping):
        return _with_names(data)
    return data


def _with_names(data: _Coded) -> Iterator[object]:
    """The rows of a Dataset, with the names of its coded labels in place of their numbers."""
    names = {column: getattr(kind, "names", None) for column, kind in data.features.items()}
    for row in data:
        yield {column: _name(value, names.get(column)) for column, value in row.items()}


def _name(value: object, names: list[str] | None) -> object:
    if names is None or type(value) is not int:
        return value
    return names[value] if 0 <= value < len(names) else None  # -1 is a label that is hidden


def _fields(row: object, number: int) -> list[dict[str, object]]:
    """A row by field names; several where it has a list of aspects."""
    if isinstance(row, Mapping):
        fields = {str(name): None if is_missing(value) else value for name, value in row.items()}
    elif isinstance(row, tuple | list) and 2 <= len(row) <= 3:
        fields = dict(zip(("sentence", "aspect", "polarity"), row, strict=False))
        if isinstance(fields["aspect"], list):
            fields["aspects"] = fields.pop("aspect")
    else:
        fix = "to have the aspects of texts found, use Predictor.find" if isinstance(row, str) else ""
        raise Place(NAME, number).error(f"a row of type {type(row).__name__}", expected=_FORMS, fix=fix)
    aspects = fields.pop("aspects", None)
    if aspects is None:
        return [fields]
    if not isinstance(aspects, list | tuple):
        raise Place(NAME, number).error("the aspects are no list", expected="a list of terms, spans or dicts")
    return [fields | (dict(each) if isinstance(each, Mapping) else {"aspect": each}) for each in aspects]


def _read(fields: dict[str, object], number: int, labelled: bool) -> Row | BadRow:
    place = Place(NAME, number)
    try:
        span = fields.get("span")
        columns = match_fields(fields, lambda _: place)
        names = list(fields)
        values = {field: _whole(fields[names[index]]) for field, index in columns.items()}
        aspect = values.get("aspect")
        if isinstance(aspect, tuple):
            span = aspect
        if span is not None:
            values["start"], values["end"] = _offsets(span, place)
            sentence = values.get("sentence")
            if not isinstance(aspect, str) and isinstance(sentence, str):
                values["aspect"] = sentence[slice(*_offsets(span, place))]
        require_fields(values, labelled, lambda: place, names=names)
    except DataError as error:
        return BadRow(error, number, fields)
    return read_row(values, number, fields, labelled=labelled, where=lambda _: place)


def _checked(example: Example, number: int, labelled: bool) -> Row | BadRow:
    place = Place(NAME, number)
    try:
        polarity = parse_polarity(example.polarity, labelled, lambda _: place, WORD_LABELS)
        if polarity is not example.polarity:
            example = replace(example, polarity=polarity)
        return Row(checked(example), number)
    except DataError as error:
        return BadRow(error, number)
    except InputError as error:
        return BadRow(place.error(error.what, fix=error.fix), number)


def _offsets(span: object, place: Place) -> tuple[int, int]:
    if found := as_span(span):
        return found
    raise place.error("a span that is no pair of positions", expected="(start, end), two whole numbers")


def is_missing(value: object) -> bool:
    """What DataFrames have where there is nothing: not a number, which is not even itself, or pandas' NA."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _NOTHING


def is_table(value: object) -> bool:
    """Whether it has columns: a DataFrame, or a dict of them."""
    return isinstance(value, _Polars | _Pandas | Mapping)


def _whole(value: object) -> object:
    """A whole number as one: a column with gaps holds its numbers as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
