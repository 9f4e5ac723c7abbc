"""What every pair of method and backbone came to when it was last looked at; a change is noticed, a refactoring is not.

A run is known by the version numbers of its parts (`classic.benchmark.runs.identity`). They are only worth something if
somebody notices that behaviour changed and no number did. So this file keeps, for every pair, a fingerprint of its tensors
and answers after two tiny tasks. After raising a number, or changing a default setting, record it anew:

    CLASSIC_RECORD_BEHAVIOUR=1 pytest tests/contract/test_pairs.py
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classic.benchmark.runs.identity import versions_of
from classic.methods.base import Method
from classic.systems.system import SystemConfig, classes_of

RECORDS = Path(__file__).parent / "behaviour"
# Another processor adds up in another order: the fifth digit may differ. A change of behaviour moves the second or third.
TOLERANCE = 5e-3
_OF_TENSORS = 3  # numbers of a fingerprint; those of answers follow
RECORDING = bool(os.environ.get("CLASSIC_RECORD_BEHAVIOUR"))


def fingerprint(method: Method, answers: Tensor) -> list[float]:
    """A few numbers that a change of any tensor or answer moves: norms, a projection, and all answers."""
    draw = torch.Generator().manual_seed(0)
    values = torch.cat([t.detach().double().reshape(-1) for _, t in sorted(method.tensors().items())])
    direction = torch.randn(len(values), generator=draw, dtype=torch.float64)
    found = [float(values.norm()), float(values.abs().sum()) / len(values) ** 0.5]
    found.append(float(values @ direction) / len(values) ** 0.5)
    return [round(value, 6) for value in [*found, *answers.softmax(dim=1).double().reshape(-1).tolist()]]


def check(config: SystemConfig, method: Method, answers: Tensor) -> None:
    """Compares a pair with its record, or writes it."""
    file = RECORDS / f"{config.method}-{config.backbone}.json"
    now: dict[str, Any] = {
        "settings": _settings(config),
        "versions": versions_of(classes_of(config)),
        "fingerprint": fingerprint(method, answers),
    }
    before = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    same = all(before.get(name) == now[name] for name in ("settings", "versions"))
    if RECORDING:
        if not same:  # what is recorded stands until a number or a setting changes
            RECORDS.mkdir(exist_ok=True)
            file.write_text(json.dumps(now) + "\n", "utf-8")
        return
    assert same, f"{file.name} is of other versions or settings: record it anew (see {Path(__file__).name})"
    assert len(before["fingerprint"]) == len(now["fingerprint"])
    compared = zip(now["fingerprint"], before["fingerprint"], strict=True)
    if config.backbone == "gpt2":  # trained from nothing, its answers hang on the last digit: only tensors are compared
        compared = zip(now["fingerprint"][:_OF_TENSORS], before["fingerprint"][:_OF_TENSORS], strict=True)
    gaps = [abs(a - b) / max(1.0, abs(b)) for a, b in compared]
    assert max(gaps) < TOLERANCE, (
        f"{config.method}@{config.backbone} behaves differently: raise the version beside what was changed "
        f"({', '.join(now['versions'])}), then record it anew (see {Path(__file__).name})"
    )


def _settings(config: SystemConfig) -> str:
    plain = config.complete().to_dict()
    for place in ("encoder", "vectors", "cache_folder"):  # where a tiny network lies changes nothing
        plain["backbone_config"].pop(place, None)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
