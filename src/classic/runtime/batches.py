"""Batches of texts of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

TOKENS = 384
"""Computed at once on a CPU: more do not fit its caches and are slower."""


def like_length(lengths: Sequence[int], batch_size: int, tokens: int = TOKENS) -> Iterator[list[int]]:
    """Rows of batches of texts of like length, each once, the shortest first.

    Args:
        lengths: Tokens of each text.
        batch_size: Most texts in a batch.
        tokens: Most tokens in a batch, padding included; a longer text is a batch by itself.
    """
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if batch and (len(batch) == batch_size or (len(batch) + 1) * lengths[row] > tokens):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
