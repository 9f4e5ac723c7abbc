"""Excel workbooks (.xlsx): the first sheet, a header below titles. Lines are rows and columns are columns, from 1."""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Iterator
from typing import Any

from classic.data.readers.columns import FIELD_NAMES, free_name, own_names
from classic.data.readers.row import BadRow, Note, Row, match_fields, read_row, require_fields
from classic.data.readers.source import Place, Source
from classic.errors import DataError, InputError

WORKBOOK = "xl/workbook.xml"
"""The member that tells a workbook from other zip archives."""
MAX_UNPACKED = 512 << 20
_HEAD = 20  # rows that tell titles from a header
_Numbered = tuple[int, tuple[object, ...]]


def read_excel(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Streams the rows; empty ones are skipped, and formulas give the values they were saved with."""
    try:
        # Imported here: openpyxl is optional and used by nothing else.
        import openpyxl
    except ImportError as error:
        raise InputError("reading Excel files needs openpyxl", fix="pip install 'classic-asc[excel]'") from error
    with source.open() as stream:
        rows = sheet_rows(openpyxl, stream, source.path)
        line, header = next(rows, (1, ()))
        names = ["" if name is None else str(name) for name in header]
        columns = match_fields(names, lambda index: Place(source.path, line, index + 1), source.columns)
        seen = f" among {len(names)} columns of the first sheet"
        require_fields(columns, labelled, lambda: Place(source.path, line, 1), seen, names)
        own = own_names(names, source.columns)
        for line, row in rows:

            def where(field: str, line: int = line) -> Place:
                return Place(source.path, line, columns.get(field, 0) + 1)

            values = {field: row[index] if index < len(row) else None for field, index in columns.items()}
            fields = named_cells(names, own, row)
            yield read_row(values, line, fields, labelled=labelled, where=where, told=source.columns)


def named_cells(names: list[str], own: list[str], row: tuple[object, ...]) -> dict[str, object]:
    """The cells of a row under names of their own; one below no name goes by the letters of its column, if it is filled."""
    found = {}
    for index, value in enumerate(row):
        if index < len(names) and names[index]:
            found[own[index]] = value
        elif value is not None:
            found[free_name(f"column_{_letters(index)}", own)] = value
    return found


def _letters(index: int) -> str:
    """A, B, ..., Z, AA, ...: what Excel calls a column."""
    found = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        found = chr(ord("A") + letter) + found
    return found


def sheet_rows(openpyxl: Any, stream: Any, path: str) -> Iterator[_Numbered]:
    """The numbered rows of the first sheet that have anything in them, from its header on."""
    rows = ((line, row) for line, row in _all_rows(openpyxl, stream, path) if _filled(row))
    head = list(itertools.islice(rows, _HEAD))
    return itertools.chain(head[_titles(head) :], rows)


def _titles(head: list[_Numbered]) -> int:
    """How many rows with one cell each stand above the header of a table: a title, a date."""
    wide = [_filled(row) > 1 for _, row in head]
    titles = wide.index(True) if True in wide else 0
    table = 2 * sum(wide[titles:]) > len(wide) - titles  # not one column with a note here and there
    return titles if table and _plain(head[0][1]) not in FIELD_NAMES["sentence"] else 0


def _plain(row: tuple[object, ...]) -> str:
    return "".join(str(value) for value in row if value is not None).strip().casefold()


def _filled(row: tuple[object, ...]) -> int:
    return sum(value is not None for value in row)


def _all_rows(openpyxl: Any, stream: Any, path: str) -> Iterator[_Numbered]:
    try:
        with zipfile.ZipFile(stream) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_UNPACKED:
                raise Place(path).error(
                    f"the workbook is larger than {MAX_UNPACKED >> 20} MiB when unpacked", fix="save it as CSV"
                )
        stream.seek(0)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # some programs write a size that is not the sheet's, and cells beyond it would be lost
        yield from enumerate(sheet.iter_rows(values_only=True), start=1)
    except (DataError, GeneratorExit):
        raise
    except Exception as error:  # a damaged workbook raises whatever its damaged part makes openpyxl raise
        raise Place(path).error(
            f"not a readable Excel workbook ({type(error).__name__})",
            expected="an .xlsx file with columns sentence, aspect, polarity in its first sheet",
            fix="save it again, or as CSV",
        ) from None
