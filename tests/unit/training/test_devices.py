"""Which precision is chosen."""

from __future__ import annotations

import pytest
import torch

from classic.systems.system import SystemConfig
from classic.training import devices


def test_a_preset_says_what_was_measured_and_a_store_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in ("float32", "bfloat16"):
        monkeypatch.setattr("classic.systems.system.fastest_precision", lambda found=found: found)
        assert SystemConfig.preset().train.precision == found
    assert SystemConfig.preset(changes={"train.precision": "float32"}).train.precision == "float32"


@pytest.mark.parametrize(("slower", "chosen"), [(torch.bfloat16, "float32"), (torch.float32, "bfloat16")])
def test_the_faster_one_is_found(slower: torch.dtype, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0

    def multiply(left: torch.Tensor, right: torch.Tensor) -> None:
        nonlocal clock
        clock += 2.0 if left.dtype == slower else 1.0

    monkeypatch.setattr(devices.torch, "mm", multiply)
    monkeypatch.setattr(devices.time, "perf_counter", lambda: clock)
    assert devices.fastest_precision.__wrapped__() == chosen
