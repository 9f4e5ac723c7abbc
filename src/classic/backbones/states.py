"""Token states that never change: in batches, in memory within a bound, and on disk as one file per data set."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from classic.files import write_bytes
from classic.types import Batch, Example

Key = tuple[str, str, tuple[int, int] | None]


def key_of(example: Example) -> Key:
    """What determines an example's token states; its polarity does not."""
    return example.sentence, example.aspect, example.span


def pad_states(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Texts' states (L_i, d) as (B, L, d) in float32, and the mask (B, L), 1 for real tokens."""
    longest = max(len(text) for text in states)
    padded = torch.zeros(len(states), longest, states[0].shape[1])
    mask = torch.zeros(len(states), longest, dtype=torch.long)
    for row, text in enumerate(states):
        padded[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return padded, mask


def make_batch(inputs: dict[str, Tensor], examples: Sequence[Example], rows: Sequence[int] | None) -> Batch:
    """A batch of inputs, with the examples' labels and rows."""
    labels = torch.tensor([-1 if e.polarity is None else e.polarity.column for e in examples])
    return Batch(inputs, labels, torch.tensor(list(range(len(examples)) if rows is None else rows)))


class StateCache:
    """States in memory, the least recently used thrown out first.

    Nothing in it ever changes, so a copy of a model shares it with the original.

    Args:
        limit: Most bytes of states it holds.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._states: OrderedDict[Key, Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> StateCache:
        return self

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, key: Key) -> bool:
        return key in self._states

    def get(self, key: Key) -> Tensor | None:
        """The states of a text, if they are here; it is then the most recently used."""
        with self._lock:
            found = self._states.get(key)
            if found is not None:
                self._states.move_to_end(key)
            return found

    def put(self, key: Key, states: Tensor) -> None:
        """Takes the states of a text, and makes room for them."""
        size = states.numel() * states.element_size()
        with self._lock:
            if key in self._states or size > self.limit:
                return
            self._states[key] = states
            self.size += size
            while self.size > self.limit:
                _, oldest = self._states.popitem(last=False)
                self.size -= oldest.numel() * oldest.element_size()


class StateFile:
    """The states of a whole data set in one file, named by one hash over all of it.

    The file holds states and lengths, in the sorted order of the texts: no text, and no hash of any single one.

    Args:
        folder: Where such files are.
        encoder: What made the states: everything that determines them but the texts.
        keys: The texts.
    """

    def __init__(self, folder: Path, encoder: Sequence[object], keys: Sequence[Key]) -> None:
        self.keys = sorted(keys, key=repr)
        name = hashlib.sha256(json.dumps([list(encoder), self.keys]).encode()).hexdigest()
        self.path = folder / f"{name}.safetensors"

    def read(self) -> dict[Key, Tensor] | None:
        """The states, or None if there is no such file or it is damaged."""
        try:
            with safe_open(str(self.path), framework="pt") as handle:
                states, lengths = handle.get_tensor("states"), handle.get_tensor("lengths")
                wanted = (handle.metadata() or {}).get("sha256")
        except (FileNotFoundError, SafetensorError):
            return None
        if wanted != _digest(states, lengths):
            return None
        parts = states.split(lengths.tolist())
        # Copies, so that a text thrown out of memory really frees it.
        return {key: part.clone() for key, part in zip(self.keys, parts, strict=True)}

    def write(self, states: dict[Key, Tensor]) -> None:
        """Writes the states of all the texts."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        ordered = [states[key] for key in self.keys]
        joined, lengths = torch.cat(ordered), torch.tensor([len(text) for text in ordered])
        header = {"sha256": _digest(joined, lengths)}
        write_bytes(self.path, save({"states": joined, "lengths": lengths}, metadata=header))


def _digest(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
