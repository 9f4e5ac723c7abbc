"""The starter: a model that has learned the starter corpus, as the first version of a new store.

What an aspect is, and what "not bad" means, small domains cannot teach a small encoder. So a new store of the default system
begins with the domain `starter`, learned once from the corpus that comes with the package (`classic.data.starter`) by

    python benchmarks/starter/make.py

and shipped as one file of a few megabytes. Everything else treats it as what it is: a domain that was learned first.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from classic.data.starter import STARTER
from classic.errors import StoreError
from classic.learning.learner import Learner, new_learner, take_on
from classic.store.card import write_card
from classic.store.store import Store
from classic.store.versions import Version
from classic.systems.system import SystemConfig

SHA256 = "87a8e72b014e0b2a40eb5e045c18f41913a7b7e05d21c2eb4d2acf3a73a146fb"  # of the shipped file
FORMAT = 1
_FILE = "starter.safetensors"
_DECIDES = ("method", "backbone", "scenario", "task_id", "backbone_config", "additions")  # weights of losses do not
_WHERE_IT_TRAINED = "live"  # leaf name: where averaged weights stood; not needed, training goes on from the average


def pack(learner: Learner, record: dict[str, Any]) -> bytes:
    """A learner that has learned the starter corpus as a file: weights in half precision, the record beside them."""
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    for name, tensor in learner.tensors().items():
        kept = tensor.new_zeros(0) if name.rpartition(".")[2] == _WHERE_IT_TRAINED else tensor
        halved = (
            kept.half() if kept.dtype == torch.float32 and kept.numel() > 1000 and name.startswith("method/") else kept
        )
        tensors[name] = halved.contiguous()
    header = {"format": FORMAT, "system": learner.config.complete().to_dict(), "record": record}
    return save(tensors, metadata={"starter": json.dumps(header, sort_keys=True)})


@cache
def _shipped() -> bytes | None:
    file = files("classic.learning").joinpath(_FILE)
    if not SHA256 or not file.is_file():
        return None
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise StoreError("the starter that comes with this package is damaged", fix="install classic-asc again")
    return data


def read(data: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors of a packed starter, weights in single precision again."""
    from safetensors.torch import load

    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["starter"])
    tensors = {name: t.float() if t.dtype == torch.float16 else t for name, t in load(data).items()}
    return header, tensors


def fits(config: SystemConfig) -> bool:
    """Whether a starter is shipped for this system: same method, backbone and shapes; how it trains does not matter."""
    data = _shipped()
    if data is None:
        return False
    wanted, there = config.complete().to_dict(), read(data)[0]["system"]
    return all(wanted[name] == there[name] for name in _DECIDES)


def starter_learner(config: SystemConfig | None = None, device: str = "cpu") -> Learner:
    """The starter as a model in memory, to ask without any store."""
    data = _shipped()
    config = config or SystemConfig.preset()
    if data is None or not fits(config):
        raise StoreError("there is no starter for this system", fix="teach a store with `classic learn`, then ask it")
    header, tensors = read(data)
    learner = new_learner(config, 0, device)
    record = header["record"]
    take_on(learner, tensors, record["facts"], [STARTER], [tuple(record["temperature"])])
    return learner


def begin_with_starter(store: Store, device: str = "cpu") -> tuple[Version, Learner]:
    """Publishes the starter as the first version of a store that has learned nothing. The caller knows that it fits."""
    learner = starter_learner(SystemConfig.from_dict(store.settings["system"]), device)
    data = _shipped()
    assert data is not None
    record = read(data)[0]["record"]
    with store.lock():
        card = write_card(record, learner.config.to_dict(), learner.domains)
        store.publish(learner.tensors(), record, {}, card)
    return store.version(), learner
