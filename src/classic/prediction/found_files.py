"""Finding the aspects of whole files of reviews: memory stays flat, a kill loses nothing and doubles nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from classic.prediction.bulk import write_chunks
from classic.runtime.answering import Answering
from classic.runtime.found_records import found_columns, found_lines
from classic.types import Found

CHUNK = 256
"""Reviews between two entries of the journal."""

Fields = Mapping[str, object]


def find_in_rows(
    predictor: Answering,
    rows: Sequence[Fields],
    column: str,
    min_confidence: float,
    domain: str | None = None,
    batch_size: int = 32,
) -> list[tuple[Fields, list[Found]]]:
    """Rows with the aspects that were found in one of their columns; a cell that is no text has none."""
    texts = ["" if row.get(column) is None else str(row[column]) for row in rows]
    found = predictor.find(texts, min_confidence=min_confidence, domain=domain, batch_size=batch_size)
    return list(zip(rows, found, strict=True))


def find_file(
    rows: Iterable[Fields],
    out: Path,
    form: str,
    predictor: Answering,
    column: str,
    names: Sequence[str],
    job: dict[str, Any],
    *,
    min_confidence: float = 0.5,
    domain: str | None = None,
    batch_size: int = 32,
    on_chunk: Callable[[int], None] | None = None,
    on_start: Callable[[int], None] | None = None,
) -> int:
    """Finds the aspects of all rows into a file, or goes on where a killed process left off.

    Args:
        rows: All rows from the first one on; those that are done already are read and skipped.
        out: The file; it appears when it is whole.
        form: ``jsonl``, ``csv`` or ``parquet``.
        predictor: Who finds and judges.
        column: The column of the reviews.
        names: All columns of the input.
        job: What else determines the answers; work on another job is thrown away.
        min_confidence: As in `Answering.find`.
        domain: As in `Answering.predict`.
        batch_size: Sentences computed at once.
        on_chunk: Told the number of rows that are done.
        on_start: Told the number of rows that were done before.

    Returns:
        The number of rows of the input.
    """
    columns = found_columns(names)

    def chunks(done: int) -> Iterator[tuple[int, str]]:
        waiting = itertools.islice(rows, done, None)
        while ahead := list(itertools.islice(waiting, CHUNK)):
            found = find_in_rows(predictor, ahead, column, min_confidence, domain, batch_size)
            yield len(ahead), found_lines(found, form, columns)

    asked = {"column": column, "min_confidence": min_confidence, "chunk": CHUNK, "columns": columns}
    return write_chunks(chunks, out, form, job | asked, columns, on_chunk, on_start)
