"""A busy machine: as many threads as there are free cores, and it is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from classic.cli import options
from classic.cli.options import free_cores, prepare_torch
from classic.training.checkpoint import Checkpoint


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("cores", "idle", "free"),
    [(2, 1.9, 2), (2, 1.0, 1), (2, 0.0, 1), (8, 5.4, 5), (1, 0.0, 1), (4, 60.0, 4), (4, None, 4)],
)
def test_cores_that_others_use_are_left_to_them(
    monkeypatch: pytest.MonkeyPatch, cores: int, idle: float | None, free: int
) -> None:
    monkeypatch.setattr(options, "idle_cores", lambda: idle)
    assert free_cores(cores) == free


def test_idle_cores_are_counted_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([(100, 1000), (130, 1060)])
    monkeypatch.setattr(options, "_ticks", lambda: next(looks))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert options.idle_cores() == 2.0


def test_fewer_threads_on_a_busy_machine_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(options, "idle_cores", lambda: 0.8)
    torch.set_num_threads(2)
    prepare_torch(None, "cpu")
    assert torch.get_num_threads() == 1
    assert "1 of 2 cores used. --threads N changes it." in capsys.readouterr().err
    torch.set_num_threads(2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # somebody has decided
    prepare_torch(None, "cpu")
    assert torch.get_num_threads() == 2
    prepare_torch(3, "cpu")
    assert torch.get_num_threads() == 3
    assert capsys.readouterr().err == ""


def test_a_stopped_domain_goes_on_with_its_own_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(2)
    Checkpoint(tmp_path / "work" / "checkpoint.safetensors", "job").save({"weight": torch.ones(1)}, {})
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(options, "idle_cores", lambda: 0.0)
    torch.set_num_threads(1)
    prepare_torch(None, "cpu", tmp_path)
    assert torch.get_num_threads() == 2
