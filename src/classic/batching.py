"""Batches drawn from length buckets: texts of like length together, padded to the longest of their own batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from classic.backbones.base import Backbone
from classic.types import Batch, Example

_BUCKET = 8  # batches that are sorted together: enough to save nearly all padding, few enough to stay random


def shuffled_rows(lengths: Sequence[int], size: int, generator: torch.Generator) -> list[list[int]]:
    """Rows of each training batch of an epoch: shuffled, sorted by length within buckets, batches shuffled again."""
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches: list[list[int]] = []
    for start in range(0, len(order), size * _BUCKET):
        bucket = sorted(order[start : start + size * _BUCKET], key=lambda row: lengths[row])
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
