"""Tables of whole reviews: no aspects, no labels, any columns. CSV, TSV, JSONL, Parquet, Excel, or a review per line.

Rows come one by one, so a file of any length needs no more memory than a short one (Excel's own reader aside).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from classic.data.readers.columns import unique_names
from classic.data.readers.delimited import iter_fields
from classic.data.readers.excel import WORKBOOK, named_cells, sheet_rows
from classic.data.readers.source import Place, Source, locate, text_lines, without_line_end, zip_members
from classic.errors import InputError

PLAIN = "review"
"""The column of a file that has none: every line of a .txt file is a review."""

Fields = dict[str, object]
_BATCH = 1024


def iter_table(path: str | Path) -> Iterator[tuple[int, Fields]]:
    """The line and the cells, by column name, of every row.

    Raises:
        DataError: The file is missing, is no table, or has a row that cannot be read.
    """
    source = locate(path)
    head = source.head(1 << 12)
    if head.startswith(b"PAR1"):
        return _from_parquet(source)
    if source.member is None and head.startswith(b"PK\x03\x04") and WORKBOOK in zip_members(source.file):
        return _from_excel(source)
    body = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if body.startswith(b"{"):
        return _from_jsonl(source)
    if body.startswith((b"<", b"[", b"PK\x03\x04", b"\x1f\x8b")):
        raise Place(source.path, 1, 1).error(
            "this is no table of reviews",
            expected="CSV, TSV, JSONL, Parquet or Excel with a column of texts, or a .txt file with a review per line",
            fix="convert it to CSV with a header",
        )
    if Path(source.path).suffix.casefold() == ".txt" and b"\t" not in body.partition(b"\n")[0]:
        return ((line, {PLAIN: without_line_end(text)}) for line, text in text_lines(source) if text.strip())
    return iter_fields(source)


def _from_jsonl(source: Source) -> Iterator[tuple[int, Fields]]:
    for number, text in text_lines(source):
        if text.strip():
            yield number, parse_fields(text, number, source.path)


def parse_fields(text: str, number: int, path: str) -> Fields:
    """The object on one line of JSON; ``number`` and ``path`` are for messages."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        column = error.colno if isinstance(error, json.JSONDecodeError) else 1
        raise Place(path, number, column).error("the line is no JSON", expected="one object per line") from None
    if not isinstance(found, dict):
        raise Place(path, number, 1).error("the line is no JSON object", expected="one object per line")
    return found


def _from_parquet(source: Source) -> Iterator[tuple[int, Fields]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("reading Parquet needs pyarrow", fix="pip install 'classic-asc[parquet]'") from None
    with source.open() as stream:
        line = 0
        try:
            for batch in pyarrow.parquet.ParquetFile(stream).iter_batches(batch_size=_BATCH):
                own = unique_names(batch.schema.names)
                for fields in pyarrow.RecordBatch.from_arrays(batch.columns, names=own).to_pylist():
                    line += 1
                    yield line, fields
        except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
            raise Place(source.path, line + 1).error(
                f"not a readable Parquet file ({type(error).__name__})", fix="write the file again"
            ) from error


def _from_excel(source: Source) -> Iterator[tuple[int, Fields]]:
    try:
        import openpyxl
    except ImportError:
        raise InputError("reading Excel files needs openpyxl", fix="pip install 'classic-asc[excel]'") from None
    with source.open() as stream:
        names: list[str] = []
        own: list[str] = []
        for line, row in sheet_rows(openpyxl, stream, source.path):
            if not names:
                names = ["" if name is None else str(name) for name in row]
                own = unique_names(names)
                continue
            yield line, named_cells(names, own, row)
