"""Checkpoints of a task in training: one safetensors file, replaced whole."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from classic.files import write_bytes, writing

_MOMENT = 0.5  # seconds; what takes less is written as often as it is asked for
_PAUSE = 9.0  # times what the last one took: they take a tenth of the time


class Checkpoint:
    """The newest state of one job, in one file, so that a kill leaves the previous state or this one.

    It holds weights, optimiser moments, the best epoch so far and counters; no text, no rows of data. It is deleted when
    the task is published.

    Args:
        path: The file.
        job: What determines the result (configuration, seed, data hash). A checkpoint of another job is not used.
    """

    def __init__(self, path: Path, job: str) -> None:
        self.path = path
        self.job = job
        self._written, self._took = 0.0, 0.0

    @property
    def due(self) -> bool:
        """Whether another one is worth its time.

        That of a whole encoder takes a second, as long as an epoch over a small domain.
        """
        return self._took < _MOMENT or time.monotonic() - self._written > _PAUSE * self._took

    def save(self, tensors: dict[str, torch.Tensor], counters: dict[str, Any]) -> None:
        """Replaces the checkpoint."""
        began = time.monotonic()
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        owned = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        text = json.dumps(counters, sort_keys=True)
        header = {"job": self.job, "counters": text, "sha256": _digest(owned, text)}
        header["threads"] = str(torch.get_num_threads())
        write_bytes(self.path, save(owned, metadata=header))
        self._written = time.monotonic()
        self._took = self._written - began

    def load(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]] | None:
        """The saved state, or None if there is none, it is damaged, or it belongs to another job."""
        if not self.path.is_file():
            return None
        try:
            with safe_open(str(self.path), framework="pt") as handle:
                header = handle.metadata() or {}
                if header.get("job") != self.job:
                    return None
                tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
        except SafetensorError:
            return None
        if header.get("sha256") != _digest(tensors, header.get("counters", "")):
            return None
        return tensors, json.loads(header["counters"])


def threads_of(path: Path) -> int | None:
    """The number of threads a checkpoint was written with, which it must be taken up with; None if there is none."""
    try:
        with safe_open(str(path), framework="pt") as handle:
            return int((handle.metadata() or {})["threads"])
    except (OSError, SafetensorError, KeyError, ValueError):
        return None


def _digest(tensors: dict[str, torch.Tensor], counters: str) -> str:
    """sha256 of everything that is taken up again: safetensors notices a cut file but not a flipped bit."""
    digest = hashlib.sha256(counters.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
