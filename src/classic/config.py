"""Configuration: frozen dataclasses, strict reading and writing. Does not import torch.

Each part of a system (training, backbone, method) has a configuration of its own beside its code. What the presets make of
them stands in one table, `classic.systems.recipes`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeVar

from classic.errors import InputError, unknown_name

PresetName = Literal["default", "paper", "authors"]
Precision = Literal["float32", "bfloat16"]
_KINDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
PRESETS: tuple[PresetName, ...] = ("default", "paper", "authors")

C = TypeVar("C")


def check_preset(name: str) -> PresetName:
    """Returns the name if it is one of the three presets, else refuses it with a suggestion."""
    for known in PRESETS:
        if name == known:
            return known
    raise unknown_name("preset", name, list(PRESETS))


def to_dict(config: Any) -> dict[str, Any]:
    """A configuration as plain JSON values: the same whether it was written and read or not, so tuples are lists."""
    values: dict[str, Any] = _plain(dataclasses.asdict(config))
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def from_dict(kind: type[C], values: dict[str, Any], *, where: str = "configuration") -> C:
    """Builds a configuration from plain values; unknown keys and values of the wrong type are refused."""
    if not isinstance(values, dict):
        raise InputError(f"{where} is {values!r}, a {type(values).__name__}", fix="give a table of keys and values")
    hints = typing.get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    built: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise unknown_name("key", key, known, where=where)
        built[key] = _check(hints[key], value, f"{where}.{key}")
    return kind(**built)


def _check(hint: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return from_dict(hint, value, where=where)
    if origin is Literal:
        options = typing.get_args(hint)
        if value not in options:
            raise unknown_name("value", str(value), [str(option) for option in options], where=where)
        return value
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        if value not in list(hint):
            raise unknown_name("value", str(value), [str(option) for option in hint], where=where)
        return hint(value)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in typing.get_args(hint):
            return None
        return _check(next(arm for arm in typing.get_args(hint) if arm is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise InputError(f"{where} is {value!r}, a {type(value).__name__}", fix="give a list")
        return tuple(_check(typing.get_args(hint)[0], each, where) for each in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is int and isinstance(value, bool))):
        raise InputError(f"{where} is {value!r}", fix=f"give {_KINDS.get(hint, f'a value of type {hint.__name__}')}")
    return value


def replace(config: C, changes: dict[str, Any], *, where: str = "configuration") -> C:
    """A copy with some values changed; dotted keys reach nested configurations ("gates.s_max": 200)."""
    values = to_dict(config)
    for key, value in changes.items():
        target = values
        *path, leaf = key.split(".")
        for part in path:
            if not isinstance(target.get(part), dict):
                raise unknown_name("key", part, list(target), where=where)
            target = target[part]
        if leaf not in target:
            raise unknown_name("key", leaf, list(target), where=where)
        target[leaf] = value
    return from_dict(type(config), values, where=where)


@dataclass(frozen=True)
class TrainConfig:
    """How a task is trained.

    What is not given is what it was before there was a choice, so that an older store goes on as it began; `preset` says
    what is best.

    Attributes:
        learning_rate: Adam's step size for all weights but the mask embeddings, which have their own.
        epochs: Passes over a small domain.
        large_epochs: Passes over a domain with at least ``large_from`` training examples.
        large_from: Where "large" begins; of the paper's domains only the two of SemEval are that large.
        batch_size: Examples in a training batch.
        optimiser: ``adam``, ``sgd``, or the released code's ``authors_adam`` (no bias correction, per-tensor clipping).
        momentum: Of ``sgd``.
        weight_decay: Decoupled decay. Anything above 0 lets protected weights shrink and breaks old tasks.
        clip_norm: Largest norm of the gradient; of all parameters of a group together, or of each tensor (authors_adam).
        warmup: Share of a task's steps in which the rate climbs from 0.
        schedule: ``linear`` decay to 0, ``constant`` after warm-up, or ``linear_twice`` (the released code's slip).
        selection: Which epoch is kept: the one with the lowest validation loss or the highest macro-F1, or the last.
        eval_batch_size: Examples in a batch without gradients.
        patience: Epochs without a better validation score before the rate is cut by 3, with a new optimiser and from
            the weights as they are; None never cuts. ``epochs`` is then the most there can be.
        rate_floor: A cut below this rate ends the task. As high as the learning rate, the first cut does: that is early
            stopping without cuts.
        precision: Of the matrix products in training; ``bfloat16`` is nearly twice as fast where the processor or GPU
            knows it, and slower where not. ``fastest`` measures which it is; a store keeps what was found when it was made.
        joined: The probability that a training sentence is put side by side with another one in an epoch, so that only
            the aspect tells which half is meant: see `classic.training.joining`.
    """

    learning_rate: float = 1e-3
    epochs: int = 4
    large_epochs: int = 2
    large_from: int = 1000
    batch_size: int = 16
    optimiser: Literal["adam", "sgd", "authors_adam"] = "adam"
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    warmup: float = 0.1
    schedule: Literal["linear", "constant", "linear_twice"] = "linear"
    selection: Literal["loss", "macro_f1", "last"] = "loss"
    eval_batch_size: int = 64
    patience: int | None = None
    rate_floor: float = 1e-4
    precision: Literal["float32", "bfloat16", "fastest"] = "float32"
    joined: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epochs", "large_epochs", "batch_size", "eval_batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"train.{name} is {getattr(self, name)}", fix="give at least 1")
        for name in ("learning_rate", "weight_decay", "clip_norm", "momentum", "rate_floor"):
            if not 0 <= getattr(self, name) < float("inf"):  # NaN fails, too
                raise InputError(f"train.{name} is {getattr(self, name)}", fix="give a finite number, 0 or more")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"train.patience is {self.patience}", fix="give at least 1, or none at all")
        if not 0 <= self.warmup < 1:
            raise InputError(f"train.warmup is {self.warmup}", fix="give a share from 0 up to, not including, 1")
        if not 0 <= self.joined <= 1:
            raise InputError(f"train.joined is {self.joined}", fix="give a probability from 0 to 1")

    def epochs_for(self, examples: int) -> int:
        """Passes over a domain with that many training examples."""
        return self.large_epochs if examples >= self.large_from else self.epochs
