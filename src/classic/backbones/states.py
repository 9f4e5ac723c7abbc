"""Token states that never change: computed once, kept in memory within a bound, and on disk as one file per data set."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from classic.files import write_bytes
from classic.types import Batch, Example

Key = tuple[str, str, tuple[int, int] | None]

_ENCODED_TOGETHER = 32  # more saves nothing on a CPU


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


class FrozenStates:
    """The token states of texts, computed once and looked up ever after.

    Texts are encoded together only with texts of their own length, so that nothing is padded: then an encoding does not
    depend, not even in its last bit, on what else was encoded, and a full cache, an empty one, or one read from disk
    give the same model.

    Args:
        encode: The states (n, L, d) of n examples of one length.
        lengths: How many tokens each example has.
        made_by: Everything that determines the states but the texts.
        precision: In which they are kept.
        limit: Most bytes of memory.
        folder: Where the states of whole data sets are kept from run to run, if at all.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[Example]], Tensor],
        lengths: Callable[[Sequence[Example]], list[int]],
        made_by: Sequence[object],
        precision: torch.dtype,
        limit: int,
        folder: str | None,
    ) -> None:
        self.encode, self.lengths, self.made_by, self.precision = encode, lengths, made_by, precision
        self.folder = None if folder is None else Path(folder).expanduser()
        self.cache = StateCache(limit)

    def prepare(self, examples: Sequence[Example], *, dataset: bool) -> None:
        """Computes what is missing, or reads it if these examples are a data set whose states are on disk."""
        missing = {key: e for e in examples if (key := key_of(e)) not in self.cache}
        if not missing:
            return
        if not dataset or self.folder is None:
            self._compute(missing)
            return
        whole = {key_of(e): e for e in examples}
        file = StateFile(self.folder, self.made_by, list(whole))
        states = file.read()
        if states is None:
            file.write(self._compute(whole))
        else:
            for key, text in states.items():
                self.cache.put(key, text)

    def look_up(self, examples: Sequence[Example]) -> list[Tensor]:
        """The states (L_i, d) of every example, in order."""
        keys = [key_of(example) for example in examples]
        found = {key: self.cache.get(key) for key in keys}
        found |= self._compute({key: e for key, e in zip(keys, examples, strict=True) if found[key] is None})
        return [text for key in keys if (text := found[key]) is not None]

    def _compute(self, examples: dict[Key, Example]) -> dict[Key, Tensor]:
        by_length: dict[int, list[Key]] = {}
        for key, length in zip(examples, self.lengths(list(examples.values())), strict=True):
            by_length.setdefault(length, []).append(key)
        found: dict[Key, Tensor] = {}
        with torch.no_grad():
            for keys in by_length.values():
                for start in range(0, len(keys), _ENCODED_TOGETHER):
                    group = keys[start : start + _ENCODED_TOGETHER]
                    states = self.encode([examples[key] for key in group])
                    for key, text in zip(group, states.cpu(), strict=True):
                        found[key] = text.to(self.precision, copy=True)  # a view would hold on to the whole group
                        self.cache.put(key, found[key])
        return found


def _digest(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
