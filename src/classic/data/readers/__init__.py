"""Readers: one function per format, chosen by the content of the file.

Every reader takes (source, labelled, notes) and yields rows; whatever is wrong with a file becomes one
``DataError`` that knows the file, the line and the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from classic.data.readers.authors_json import read_authors_json
from classic.data.readers.delimited import read_delimited
from classic.data.readers.detect import FORMATS, detect, detect_format
from classic.data.readers.hu_liu import read_hu_liu
from classic.data.readers.jsonl import read_jsonl
from classic.data.readers.parquet import read_parquet
from classic.data.readers.pyabsa import read_pyabsa
from classic.data.readers.row import Note, Row
from classic.data.readers.semeval_xml import read_semeval_xml
from classic.data.readers.source import Source, locate
from classic.types import Example

Reader = Callable[[Source, bool, list[Note]], Iterator[Row]]

READERS: dict[str, Reader] = {
    "authors-json": read_authors_json,
    "semeval-xml": read_semeval_xml,
    "hu-liu": read_hu_liu,
    "csv": read_delimited,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "pyabsa": read_pyabsa,
}


def iter_rows(path: str | Path, labelled: bool = True, *, notes: list[Note] | None = None) -> Iterator[Row]:
    """Yields the rows of a file one by one; CSV, JSONL and Parquet need no more memory for a larger file.

    Args:
        path: The file, or a member of a zip archive as ``archive.zip/member``.
        labelled: Whether every example must have a polarity.
        notes: Receives what the reader left out on purpose.

    Raises:
        DataError: The file is missing, of no known format, or wrong at some place.
    """
    source = locate(path)
    return READERS[detect(source)](source, labelled, notes if notes is not None else [])


def read_rows(path: str | Path, labelled: bool = True, *, notes: list[Note] | None = None) -> list[Row]:
    """All rows of a file, each with the line it stands on. See ``iter_rows``."""
    return list(iter_rows(path, labelled, notes=notes))


def read_examples(path: str | Path, *, labelled: bool = True) -> list[Example]:
    """All examples of a file in any known format. See ``iter_rows``."""
    return [row.example for row in iter_rows(path, labelled)]


__all__ = ["FORMATS", "READERS", "Note", "Row", "detect_format", "iter_rows", "read_examples", "read_rows"]
