"""Checkpoints: what was saved, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from classic.training.checkpoint import Checkpoint

TENSORS = {
    "model/weight": torch.randn(2, 3, generator=torch.Generator().manual_seed(0)),
    "model/bits": torch.tensor([[1, 255]], dtype=torch.uint8),
    "model/none": torch.zeros((0, 4)),
    "optimiser/0.step": torch.tensor(3.0),
}
COUNTERS = {"epoch": 2, "best_score": -0.1234567890123456789, "epochs": [{"best": True}]}


def same(left: tuple[dict[str, torch.Tensor], dict[str, Any]] | None) -> bool:
    assert left is not None
    tensors, counters = left
    equal = tensors.keys() == TENSORS.keys() and counters == COUNTERS
    return equal and all(
        torch.equal(tensors[name], TENSORS[name]) and tensors[name].dtype == TENSORS[name].dtype for name in TENSORS
    )


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "work" / "checkpoint.safetensors", "job 1")
    checkpoint.save(TENSORS, COUNTERS)
    return checkpoint


def test_everything_comes_back(checkpoint: Checkpoint) -> None:
    assert same(checkpoint.load())
    assert [path.name for path in checkpoint.path.parent.iterdir()] == ["checkpoint.safetensors"]


def test_the_newest_state_wins(checkpoint: Checkpoint) -> None:
    checkpoint.save({"model/weight": torch.ones(1)}, {"epoch": 3})
    tensors, counters = checkpoint.load()
    assert counters == {"epoch": 3}
    assert torch.equal(tensors["model/weight"], torch.ones(1))


def test_minus_infinity_is_a_score(checkpoint: Checkpoint) -> None:
    checkpoint.save({}, {"best_score": float("-inf")})
    assert checkpoint.load() == ({}, {"best_score": float("-inf")})


def test_large_ones_take_at_most_a_tenth_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("classic.training.checkpoint.time.monotonic", lambda: clock[0])
    takes = [0.0]

    def slow(path: Path, data: bytes) -> None:
        clock[0] += takes[0]

    monkeypatch.setattr("classic.training.checkpoint.write_bytes", slow)
    checkpoint = Checkpoint(tmp_path / "c.safetensors", "job 1")
    assert checkpoint.due
    for takes[0], pause in ((0.1, 0.0), (2.0, 18.0), (0.6, 5.4)):
        checkpoint.save({}, {})
        assert checkpoint.due == (pause == 0)
        clock[0] += pause - 0.01
        assert checkpoint.due == (pause == 0)
        clock[0] += 0.02
        assert checkpoint.due


def test_nothing_there(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path / "none.safetensors", "job 1").load() is None


def test_another_jobs_state_is_not_used(checkpoint: Checkpoint) -> None:
    assert Checkpoint(checkpoint.path, "job 2").load() is None


def test_a_state_does_not_change_with_the_live_tensor(checkpoint: Checkpoint) -> None:
    live = torch.zeros(3)
    checkpoint.save({"live": live}, {})
    live.add_(1)
    assert torch.equal(checkpoint.load()[0]["live"], torch.zeros(3))


def test_a_file_cut_anywhere_is_no_state(checkpoint: Checkpoint) -> None:
    whole = checkpoint.path.read_bytes()
    for length in range(len(whole)):
        checkpoint.path.write_bytes(whole[:length])
        assert checkpoint.load() is None


@pytest.mark.parametrize("bit", [1, 64, 128])
def test_a_flipped_bit_is_never_taken_up(checkpoint: Checkpoint, bit: int) -> None:
    whole, refused = checkpoint.path.read_bytes(), 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= bit
        checkpoint.path.write_bytes(damaged)
        found = checkpoint.load()
        assert found is None or same(found)  # a flip in the header's padding harms nothing
        refused += found is None
    assert refused > 0.9 * len(whole)
