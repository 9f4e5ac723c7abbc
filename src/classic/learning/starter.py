"""The starter: a model that has learned the starter corpus, as the first version of a new store.

What an aspect is, and what "not bad" means, small domains cannot teach a small encoder. So a new store of the default system
begins with the domain `starter`, learned once from the corpus that comes with the package (`classic.data.starter`) by

    python benchmarks/starter/make.py

and shipped as one file of a few megabytes for each encoder that has a name of its own. Everything else treats it as what it
is: a domain that was learned first. What finds aspects learned the same corpus and lies beside it, made by
``python benchmarks/starter/make_finder.py``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from classic.backbones.encoder import EMBEDDED, LARGER
from classic.config import from_dict, to_dict
from classic.data.starter import STARTER
from classic.errors import StoreError, unknown_name
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder, can_find, finder_of
from classic.learning.learner import Learner, new_learner, take_on
from classic.modules.folded import alive
from classic.store.card import write_card
from classic.store.store import Store
from classic.store.versions import Version
from classic.systems.system import SystemConfig, without_caches


@dataclass(frozen=True)
class Shipped:
    """A starter that comes with the package: its file, and what it must be."""

    file: str
    sha256: str


# By the name of the encoder it learned over.
SHIPPED: dict[str, Shipped] = {
    EMBEDDED: Shipped("starter.safetensors", "95a9c734f204a87f94093bd6bdf6ce7bf5d54c703c457c891755b61d50172259"),
    LARGER: Shipped("starter_mpnet.safetensors", "aaa3ee2024926351983ac6d61b79bd95a39957e26f1cd9268e7b15ef7bd994f5"),
}
FINDER_SHA256 = "7e9a99c51ecf0be2b7b83bc710b0720573b48ea0800e6f65d3ee38ff0124c023"  # of the finder beside it
FORMAT = 1
_FINDER_FILE = "starter_finder.safetensors"
_DECIDES = ("method", "backbone", "scenario", "task_id", "backbone_config", "additions")  # weights of losses do not
_READING = ("belief", "faded")
_PLAIN = "ncl"  # may begin with the same network, its masks gone into the weights
_OF_MASKS = ("capacity", "masks", "overlap", "transfer")  # in a record, what only a method with masks reports
_AWAKE = 1e-6  # bias of a unit that says nothing: at 0 behind a ReLU it could never learn


def pack(learner: Learner, record: dict[str, Any]) -> bytes:
    """A learner that has learned the starter corpus as a file: weights in half precision, the record beside them."""
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    for name, tensor in learner.tensors().items():
        large = tensor.dtype == torch.float32 and tensor.numel() > 1000 and name.startswith("method/")
        tensors[name] = (tensor.half() if large else tensor).contiguous()
    header = {"format": FORMAT, "system": learner.config.complete().to_dict(), "record": record}
    return save(tensors, metadata={"starter": json.dumps(header, sort_keys=True)})


@cache
def _shipped(encoder: str) -> bytes | None:
    shipped = SHIPPED.get(encoder)
    return _checked(shipped.file, shipped.sha256) if shipped else None


def _starter_of(config: SystemConfig) -> bytes | None:
    """The file of the starter over a system's encoder, if there is one."""
    return _shipped(config.complete().backbone_config.get("encoder", ""))


@cache
def _shipped_finder() -> bytes | None:
    return _checked(_FINDER_FILE, FINDER_SHA256)


def _checked(name: str, sha256: str) -> bytes | None:
    file = files("classic.learning").joinpath(name)
    if not sha256 or not file.is_file():
        return None
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StoreError("the starter that comes with this package is damaged", fix="install classic-asc again")
    return data


def pack_finder(finder: KeptFinder, record: dict[str, Any]) -> bytes:
    """A finder that has learned the starter corpus as a file, and how well it does in the held-out domains."""
    from safetensors.torch import save

    assert finder.tensors is not None
    header = {"format": FORMAT, "finder": to_dict(finder.config), "record": record}
    return save(finder.tensors, metadata={"starter": json.dumps(header, sort_keys=True)})


def starter_finder(encoder: str, config: FinderConfig, seed: int) -> tuple[KeptFinder, dict[str, Any]]:
    """What finds aspects in a store that begins with the starter, and its record; untaught if its shape is another."""
    kept, data = KeptFinder(encoder, config, seed), _shipped_finder()
    if data is None:
        return kept, {}
    from safetensors.torch import load

    header = _header(data)
    if header["finder"]["width"] != config.width or (config.encoder or encoder) != EMBEDDED:
        return kept, {}
    kept.tensors = load(data)
    return kept, {"finder": header["record"]}


def read(data: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors of a packed starter, weights in single precision again."""
    from safetensors.torch import load

    header = _header(data)
    tensors = {name: t.float() if t.dtype == torch.float16 else t for name, t in load(data).items()}
    return header, tensors


def _header(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["starter"])
    return header


def fits(config: SystemConfig) -> bool:
    """Whether a starter is shipped for this system: same method, backbone and shapes.

    Plain sequential training over the same shapes may begin with it, too. How a system trains does not matter, nor how
    firmly its answers are read.
    """
    data = _starter_of(config)
    if data is None:
        return False
    wanted, there = without_caches(config.complete().to_dict()), without_caches(read(data)[0]["system"])
    decides = ("backbone", "scenario", "task_id", "backbone_config") if config.method == _PLAIN else _DECIDES
    return all(_told(wanted[name]) == _told(there[name]) for name in decides)


def _told(setting: Any) -> Any:
    """A setting without how firmly logits are read, which fits every starter."""
    if not isinstance(setting, dict):
        return setting
    return {name: value for name, value in setting.items() if name not in _READING}


def starter_over(encoder: str) -> SystemConfig:
    """The default system over an encoder that has a starter.

    Raises:
        InputError: It has none.
    """
    if encoder not in SHIPPED:
        raise unknown_name("encoder with a starter", encoder, list(SHIPPED))
    return SystemConfig.preset(changes={"backbone.encoder": encoder})


def starter_learner(config: SystemConfig | None = None, device: str = "cpu") -> Learner:
    """The starter as a model in memory, to ask without any store."""
    config = config or SystemConfig.preset()
    data = _starter_of(config)
    if data is None or not fits(config):
        raise StoreError("there is no starter for this system", fix="teach a store with `classic learn`, then ask it")
    header, tensors = read(data)
    learner = new_learner(config, 0, device)
    record = header["record"]
    if config.method == _PLAIN:
        masked = SystemConfig.from_dict(header["system"])
        teacher = new_learner(masked, 0)  # over the same encoder: else it would not fit
        take_on(teacher, tensors, record["facts"], [STARTER], [tuple(record["temperature"])])
        plain = _without_masks(teacher)
        tensors = {name: plain[name] for name in learner.tensors()}
    take_on(learner, tensors, record["facts"], [STARTER], [tuple(record["temperature"])])
    encoder = learner.config.backbone_config["encoder"]
    if can_find(learner.method.model.backbone):
        learner.finder = starter_finder(encoder, finder_of(encoder), 0)[0]
    return learner


def _without_masks(learner: Learner) -> dict[str, Tensor]:
    """The tensors of a masked network as a plain one that says the same; units that were shut may learn again."""
    layers = learner.method.model.backbone.plastic().values()
    heard = {plastic for layer in layers for plastic in layer.upstream}
    with torch.no_grad(), learner.method.acting_as(None):
        for layer in layers:
            own = layer.layer
            if layer.upstream:
                own.weight[:, ~torch.cat([alive(plastic) for plastic in layer.upstream])] = 0.0
            if layer not in heard and own.bias is not None:
                own.weight[~alive(layer)], own.bias[~alive(layer)] = 0.0, _AWAKE
    return learner.tensors()


def begin_with_starter(store: Store, device: str = "cpu") -> tuple[Version, Learner]:
    """Publishes the starter as the first version of a store that has learned nothing. The caller knows that it fits."""
    learner = starter_learner(SystemConfig.from_dict(store.settings["system"]), device)
    data = _starter_of(learner.config)
    assert data is not None
    record = read(data)[0]["record"]
    if learner.config.method == _PLAIN:
        record = {name: value for name, value in record.items() if name not in _OF_MASKS}
    learner.finder = None
    if (settings := store.settings.get("finder")) is not None:
        config = from_dict(FinderConfig, settings, where="finder")
        encoder = store.settings["encoder"]["encoder"]
        learner.finder, found = starter_finder(encoder, config, store.settings["seed"])
        record = record | found
    with store.lock():
        card = write_card(record, learner.config.to_dict(), learner.domains)
        finder = learner.finder.tensors if learner.finder else None
        store.publish(learner.tensors(), record, {}, card, finder)
    return store.version(), learner
