"""CSV and TSV with a header. Every cell knows its line and column, which csv.reader cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from classic.data.readers.columns import AS_KNOWN, FIELD_NAMES, Columns, own_names, unique_names
from classic.data.readers.row import BadRow, Note, Row, match_fields, read_row, require_fields
from classic.data.readers.source import Place, Source, text_lines, without_line_end
from classic.errors import MOST_SHOWN, DataError, several

DELIMITERS = (",", "\t", ";")
MAX_CELL = 131_072
"""The limit of the standard library's csv module."""
MAX_COLUMNS = 1_000
_HEADER = "a header with sentence, aspect, polarity"

KNOWN_NAMES = frozenset(name for names in FIELD_NAMES.values() for name in names)


@dataclass(slots=True)
class _Record:
    line: int
    cells: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_blank(self) -> bool:
        return len(self.cells) == 1 and not self.cells[0].strip()


def read_delimited(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Streams the rows behind the header; blank lines are skipped."""
    lines = text_lines(source)
    header, delimiter = _read_header(lines, source.path, source.columns)
    columns = match_fields(header.cells, lambda index: Place(source.path, *header.places[index]), source.columns)
    names = f" among {len(header.cells)} columns" if columns else "; the first line has no known name, or is no header"
    require_fields(columns, labelled, lambda: Place(source.path, header.line, 1), names, header.cells)
    own = own_names(header.cells, source.columns)
    for record in _records(lines, source.path, delimiter):

        def where(name: str, record: _Record = record) -> Place:
            return Place(source.path, *record.places[columns.get(name, 0)])

        fields: dict[str, object] = dict(zip(own, record.cells, strict=False))
        if error := _wrong_number(record, len(header.cells), source.path):
            yield BadRow(error, record.line, fields)
            continue
        values: dict[str, object] = {name: record.cells[index] for name, index in columns.items()}
        yield read_row(values, record.line, fields, labelled=labelled, where=where, told=source.columns)


def iter_fields(source: Source) -> Iterator[tuple[int, dict[str, object]]]:
    """The line and the cells, by column name, of every row of any table with a header; blank lines are skipped.

    Raises:
        DataError: Rows have too few cells or too many; all of them are told.
    """
    lines = text_lines(source)
    header, delimiter = _read_header(lines, source.path, expected="a header, and a review in each row")
    own = unique_names(header.cells)
    bad: list[DataError] = []
    count = 0
    for record in _records(lines, source.path, delimiter):
        if error := _wrong_number(record, len(header.cells), source.path):
            count += 1
            bad += [error] if len(bad) < MOST_SHOWN else []
        elif not bad:
            yield record.line, dict(zip(own, record.cells, strict=True))
    if bad:
        raise several(bad, count)


def _wrong_number(record: _Record, expected: int, path: str) -> DataError | None:
    if len(record.cells) == expected:
        return None
    line, column = record.places[-1 if len(record.cells) < expected else expected]
    return Place(path, line, column).error(
        f"a row with {len(record.cells)} cell{'' if len(record.cells) == 1 else 's'}",
        expected=f"{expected} cells, as in the header",
        fix="put a text that contains the delimiter in double quotes",
    )


def sniff_delimiter(header: str, told: Columns = AS_KNOWN) -> str:
    """The delimiter that turns the header into the most known column names, then into the most columns."""

    def score(delimiter: str) -> tuple[int, int]:
        return _known(header, delimiter, told), header.count(delimiter)

    # max keeps the first of equals, so the answer never depends on chance.
    return max(DELIMITERS, key=score)


def known_columns(header: str, told: Columns = AS_KNOWN) -> int:
    """How many known column names a first line has, under its best delimiter; what somebody told is known."""
    return _known(header, sniff_delimiter(header, told), told)


def _known(header: str, delimiter: str, told: Columns) -> int:
    names = [name.strip().strip('"').strip().casefold() for name in header.split(delimiter)]
    return sum(name in KNOWN_NAMES or name in told.spelt for name in names)


def _read_header(
    lines: Iterator[tuple[int, str]], path: str, told: Columns = AS_KNOWN, *, expected: str = _HEADER
) -> tuple[_Record, str]:
    for number, line in lines:
        if line.strip():
            delimiter = sniff_delimiter(without_line_end(line), told)
            return _read_record(number, line, lines, path, delimiter), delimiter
    raise Place(path, 1, 1).error("the file is empty", expected=expected)


def _records(lines: Iterator[tuple[int, str]], path: str, delimiter: str) -> Iterator[_Record]:
    for number, line in lines:
        record = _read_record(number, line, lines, path, delimiter)
        if not record.is_blank:
            yield record


def _read_record(number: int, line: str, lines: Iterator[tuple[int, str]], path: str, delimiter: str) -> _Record:
    """Reads one record, which may go on over several lines inside quotes."""
    record = _Record(number)
    at = 0
    while True:
        place = Place(path, number, at + 1)
        record.places.append((number, at + 1))
        if len(record.places) > MAX_COLUMNS:
            raise place.error(f"more than {MAX_COLUMNS:,} columns", expected="a table of sentences and aspects")
        if line.startswith('"', at):
            cell, number, line, at = _read_quoted(number, line, at, lines, place)
            end = len(without_line_end(line))
            if at < end and not line.startswith(delimiter, at):
                raise Place(path, number, at + 1).error(
                    "text behind a closing quote",
                    expected="a delimiter or the end of the line",
                    fix='write a quote inside a quoted text as ""',
                )
        else:
            end = len(without_line_end(line))
            found = line.find(delimiter, at, end)
            stop = found if found >= 0 else end
            cell, at = line[at:stop], stop
            if (bare := cell.find("\r")) >= 0:
                raise Place(path, number, stop - len(cell) + bare + 1).error(
                    "a carriage return inside a row",
                    expected="LF or CR LF at the end of a line",
                    fix="save the file with LF line ends, or put the text in double quotes",
                )
        if len(cell) > MAX_CELL:
            raise _cell_too_long(place)
        record.cells.append(cell)
        if at >= end:
            return record
        at += 1


def _read_quoted(
    number: int, line: str, at: int, lines: Iterator[tuple[int, str]], place: Place
) -> tuple[str, int, str, int]:
    """Reads a quoted cell; returns it with the line it ends on and the offset behind its closing quote."""
    parts: list[str] = []
    size = 0
    at += 1
    while True:
        quote = line.find('"', at)
        parts.append(line[at:] if quote < 0 else line[at:quote])
        size += len(parts[-1])
        if size > MAX_CELL:
            raise _cell_too_long(place)
        if quote < 0:
            following = next(lines, None)
            if following is None:
                raise place.error(
                    "a quote that is never closed",
                    expected="a closing double quote",
                    fix='close it, or write a quote inside a quoted text as ""',
                )
            number, line = following
            at = 0
        elif line.startswith('"', quote + 1):
            parts.append('"')
            at = quote + 2
        else:
            return "".join(parts), number, line, quote + 1


def _cell_too_long(place: Place) -> DataError:
    return place.error(
        f"a cell of more than {MAX_CELL:,} characters",
        expected="one sentence per cell",
        fix="check that the quote at this place is closed",
    )
