"""Parquet files. Lines in messages are row numbers and columns are column numbers, both counted from 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from classic.data.readers.columns import own_names
from classic.data.readers.row import BadRow, Note, Row, match_fields, read_row, require_fields
from classic.data.readers.source import Place, Source
from classic.errors import DataError, InputError

_BATCH = 1024


def read_parquet(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Streams the rows in batches."""
    try:
        # Imported here: pyarrow is large, optional and used by nothing else.
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError("reading Parquet needs pyarrow", fix="pip install 'classic-asc[parquet]'") from error

    broken: tuple[type[Exception], ...] = (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError)

    def unreadable(error: Exception, line: int | None = None) -> DataError:
        return Place(source.path, line).error(
            f"not a readable Parquet file ({type(error).__name__})",
            expected="a Parquet file with columns sentence, aspect, polarity",
            fix="write the file again",
        )

    with source.open() as stream:
        try:
            file = pyarrow.parquet.ParquetFile(stream)
            names = [str(name) for name in file.schema_arrow.names]
        except broken as error:
            raise unreadable(error) from error
        columns = match_fields(names, lambda index: Place(source.path, 1, index + 1), source.columns)
        require_fields(columns, labelled, lambda: Place(source.path, 1, 1), f" among {len(names)} columns", names)
        own = own_names(names, source.columns)
        batches = _batches(file, names)
        line = 0
        while True:
            try:
                values_by_column = next(batches, None)
            except broken as error:
                raise unreadable(error, line + 1) from error
            if values_by_column is None:
                return
            for values in zip(*values_by_column, strict=True):
                line += 1

                def where(field: str, line: int = line) -> Place:
                    return Place(source.path, line, columns.get(field, 0) + 1)

                named: dict[str, object] = {field: values[index] for field, index in columns.items()}
                fields = dict(zip(own, values, strict=True))
                yield read_row(named, line, fields, labelled=labelled, where=where, told=source.columns)


def _batches(file: Any, names: list[str]) -> Iterator[list[list[object]]]:
    for batch in file.iter_batches(batch_size=_BATCH):
        yield [batch.column(index).to_pylist() for index in range(len(names))]
