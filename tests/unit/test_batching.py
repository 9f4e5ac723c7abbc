"""Batches from length buckets."""

from __future__ import annotations

from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st

from classic.backbones.bert_adapter import BertAdapter, BertAdapterConfig
from classic.batching import shuffled_rows, sorted_batches
from classic.types import Task


def rows(lengths: list[int], size: int, seed: int = 0) -> list[list[int]]:
    return shuffled_rows(lengths, size, torch.Generator().manual_seed(seed))


@given(st.lists(st.integers(3, 60), max_size=200), st.integers(1, 9), st.integers(0, 5))
def test_every_row_once_in_full_batches(lengths: list[int], size: int, seed: int) -> None:
    batches = rows(lengths, size, seed)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert sum(len(batch) < size for batch in batches) <= 1


@given(st.lists(st.integers(3, 60), min_size=2, max_size=120), st.integers(2, 9), st.integers(0, 5))
def test_pairs_stand_side_by_side(lengths: list[int], size: int, seed: int) -> None:
    pairs = [(row, row + 1) for row in range(0, len(lengths) - 1, 4)]
    batches = shuffled_rows(lengths, size, torch.Generator().manual_seed(seed), pairs)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    parted = [pair for pair in pairs if not any(set(pair) <= set(batch) for batch in batches)]
    assert len(parted) < len(batches)  # at most one at each seam
    assert all(row in (batch[0], batch[-1]) for pair in parted for row in pair for batch in batches if row in batch)


def test_the_seed_decides() -> None:
    lengths = [3 + i % 7 for i in range(50)]
    assert rows(lengths, 4, 1) == rows(lengths, 4, 1)
    assert rows(lengths, 4, 1) != rows(lengths, 4, 2)


def test_buckets_save_padding() -> None:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(5, 60, (512,), generator=generator).tolist()

    def padded(batches: list[list[int]]) -> int:
        return sum(len(batch) * max(lengths[row] for row in batch) for batch in batches)

    order = torch.randperm(512, generator=generator).tolist()
    plain = padded([order[i : i + 16] for i in range(0, 512, 16)])
    needed = sum(lengths)
    assert padded(rows(lengths, 16)) - needed < 0.25 * (plain - needed)


def test_batches_do_not_come_by_length() -> None:
    lengths = list(range(64))
    means = [sum(batch) / len(batch) for batch in rows(lengths, 4)]
    assert means not in (sorted(means), sorted(means, reverse=True))


def test_sorted_batches_say_where_an_example_belongs(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    backbone = BertAdapter(BertAdapterConfig(str(tiny_encoder), width=8), torch.Generator().manual_seed(0))
    examples = toy_tasks[0].train
    batches = list(sorted_batches(backbone, examples, 5))
    assert [len(batch) for batch in batches] == [5, 5, 5, 5, 4]
    lengths = backbone.lengths(examples)
    seen = []
    for batch in batches:
        for place, row in enumerate(batch.rows.tolist()):
            seen.append(row)
            assert int(batch.labels[place]) == examples[row].polarity.column
            assert int(batch.inputs["attention_mask"][place].sum()) == lengths[row]
    assert sorted(seen) == list(range(len(examples)))
    assert [lengths[row] for row in seen] == sorted(lengths)
