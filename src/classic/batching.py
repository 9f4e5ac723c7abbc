"""Batches drawn from length buckets: texts of like length together, padded to the longest of their own batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from classic.backbones.base import Backbone
from classic.types import Batch, Example

_BUCKET = 8  # batches that are sorted together: enough to save nearly all padding, few enough to stay random


def shuffled_rows(
    lengths: Sequence[int], size: int, generator: torch.Generator, pairs: Sequence[tuple[int, int]] = ()
) -> list[list[int]]:
    """Rows of each training batch of an epoch: shuffled, sorted by length within buckets, batches shuffled again.

    Args:
        lengths: Of every row.
        size: Of a batch.
        generator: Decides.
        pairs: Rows that stand side by side, and so in one batch, but where a batch just ends between them.
    """
    mates = {row: pair for pair in pairs for row in pair}
    longest = {row: max(lengths[one] for one in pair) for row, pair in mates.items()}
    drawn = torch.randperm(len(lengths), generator=generator).tolist()
    order = list(dict.fromkeys(one for row in drawn for one in mates.get(row, (row,))))
    batches: list[list[int]] = []
    for start in range(0, len(order), size * _BUCKET):
        bucket = sorted(order[start : start + size * _BUCKET], key=lambda row: longest.get(row, lengths[row]))
        batches += [bucket[i : i + size] for i in range(0, len(bucket), size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def sorted_batches(backbone: Backbone, examples: Sequence[Example], size: int) -> Iterator[Batch]:
    """Every example once, by length, for passes without gradient; `rows` tells where an example belongs."""
    backbone.prepare(examples)
    lengths = backbone.lengths(examples)
    order = sorted(range(len(examples)), key=lambda row: lengths[row])
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield backbone.collate([examples[row] for row in rows], rows)
