"""Answers as a Parquet file, made of the lines they were kept in while they were found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from classic.errors import InputError
from classic.runtime.records import spread

_BATCH = 4096


def need_pyarrow() -> Any:
    """pyarrow, or the line that installs it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("writing Parquet needs pyarrow", fix="pip install 'classic-asc[parquet]'") from None
    return pyarrow


def write_parquet(lines: Path, target: Path) -> None:
    """Writes lines of JSON as a Parquet file; memory stays flat.

    A column holds numbers if all its values are numbers, and text otherwise.
    """
    arrow = need_pyarrow()
    kinds: dict[str, set[type]] = {}
    for row in _rows(lines):
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    chosen = {name: _kind(found - {type(None)}) for name, found in kinds.items()}
    types = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    schema = arrow.schema([(name, types[kind]) for name, kind in chosen.items()])
    with arrow.parquet.ParquetWriter(target, schema) as writer:
        rows = _rows(lines)
        while batch := list(islice(rows, _BATCH)):
            columns = {name: [_as(row.get(name), kind) for row in batch] for name, kind in chosen.items()}
            writer.write_table(arrow.table(columns, schema=schema))


def _rows(lines: Path) -> Iterator[dict[str, Any]]:
    with lines.open(encoding="utf-8") as handle:
        for line in handle:
            yield spread(json.loads(line))


def _kind(found: set[type]) -> type:
    if found in ({int}, {bool}, {float}):
        return next(iter(found))
    return float if found == {int, float} else str


def _as(value: Any, kind: type) -> Any:
    if value is None or isinstance(value, kind):
        return value
    return json.dumps(value, ensure_ascii=False) if kind is str else kind(value)
