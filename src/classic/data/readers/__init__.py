"""Readers: one function per format, chosen by the content of the file.

Every reader takes (source, labelled, notes) and yields rows, good and bad. A bad row carries a ``DataError`` that knows
the file, the line and the column; where the rest of a file cannot be read, the reader raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from classic.data.readers.authors_json import read_authors_json
from classic.data.readers.columns import AS_KNOWN, Columns
from classic.data.readers.delimited import read_delimited
from classic.data.readers.detect import FORMATS, detect, detect_format
from classic.data.readers.excel import read_excel
from classic.data.readers.hu_liu import read_hu_liu
from classic.data.readers.json_list import read_json_list
from classic.data.readers.jsonl import read_jsonl
from classic.data.readers.parquet import read_parquet
from classic.data.readers.pyabsa import read_pyabsa
from classic.data.readers.row import BadRow, Note, Row
from classic.data.readers.semeval_xml import read_semeval_xml
from classic.data.readers.source import Place, Source, locate
from classic.data.readers.tuples import read_tuples
from classic.errors import MOST_SHOWN, DataError, several
from classic.types import Example

Reader = Callable[[Source, bool, list[Note]], Iterator[Row | BadRow]]

READERS: dict[str, Reader] = {
    "authors-json": read_authors_json,
    "semeval-xml": read_semeval_xml,
    "hu-liu": read_hu_liu,
    "csv": read_delimited,
    "jsonl": read_jsonl,
    "json-list": read_json_list,
    "parquet": read_parquet,
    "excel": read_excel,
    "pyabsa": read_pyabsa,
    "tuples": read_tuples,
}
TABLES = ("csv", "excel", "parquet")
"""The formats whose columns somebody may name."""


def iter_entries(
    path: str | Path, labelled: bool = True, *, notes: list[Note] | None = None, columns: Columns = AS_KNOWN
) -> Iterator[Row | BadRow]:
    """Yields all rows of a file, the good and the bad; see ``iter_rows``.

    Raises:
        DataError: The file is missing, of no known format, or cannot be read any further.
    """
    source = replace(locate(path), columns=columns)
    form = detect(source)
    if columns and form not in TABLES:
        raise Place(source.path).error(
            f"columns were named, but this file ({form}) has none",
            expected="CSV, TSV, Excel or Parquet",
            fix="leave them out, or rename the fields in the file",
        )
    return READERS[form](source, labelled, notes if notes is not None else [])


def iter_rows(
    path: str | Path, labelled: bool = True, *, notes: list[Note] | None = None, columns: Columns = AS_KNOWN
) -> Iterator[Row]:
    """Yields the rows of a file one by one; CSV, JSONL and Parquet need no more memory for a larger file.

    Behind a bad row no more rows are given, but the rest of the file is looked at, so that the error tells all of them.

    Args:
        path: The file, or a member of a zip archive as ``archive.zip/member``.
        labelled: Whether every example must have a polarity.
        notes: Receives what the reader left out on purpose.
        columns: What the columns of a table are, where their names are not the known ones.

    Raises:
        DataError: The file is missing, of no known format, or wrong at some places.
    """
    bad: list[DataError] = []
    count = 0
    try:
        for entry in iter_entries(path, labelled, notes=notes, columns=columns):
            if isinstance(entry, BadRow):
                count += 1
                if len(bad) < MOST_SHOWN:
                    bad.append(entry.error)
            elif not bad:
                yield entry
    except DataError as error:
        raise several([*bad, error], count + 1) from None
    if bad:
        raise several(bad, count)


def read_rows(
    path: str | Path, labelled: bool = True, *, notes: list[Note] | None = None, columns: Columns = AS_KNOWN
) -> list[Row]:
    """All rows of a file, each with the line it stands on. See ``iter_rows``."""
    return list(iter_rows(path, labelled, notes=notes, columns=columns))


def read_examples(path: str | Path, *, labelled: bool = True, columns: Columns = AS_KNOWN) -> list[Example]:
    """All examples of a file in any known format. See ``iter_rows``."""
    return [row.example for row in iter_rows(path, labelled, columns=columns)]


__all__ = [
    "AS_KNOWN",
    "FORMATS",
    "READERS",
    "BadRow",
    "Columns",
    "Note",
    "Row",
    "detect_format",
    "iter_entries",
    "iter_rows",
    "read_examples",
    "read_rows",
]
