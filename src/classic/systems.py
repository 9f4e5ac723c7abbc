"""Systems: the only file that knows both methods and backbones.

A system is a method on a backbone in a scenario with a task-id rule; every row of the paper is one. The grid of pairs is
never written out: two tables and `build` are all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from classic.backbones.base import Backbone
from classic.backbones.bert_adapter import BertAdapter, BertAdapterConfig
from classic.config import PresetName, TrainConfig, from_dict, replace, to_dict
from classic.errors import IncompatibleError, InputError, unknown_name
from classic.methods.base import Method
from classic.methods.classic import Classic, ClassicConfig
from classic.methods.hat import Hat, HatConfig
from classic.methods.ncl import Ncl, NclConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.seeding import Seeds
from classic.types import Scenario, TaskId


@dataclass(frozen=True)
class Part:
    """How a method or a backbone is made: its class and its configuration's class."""

    build: Callable[..., Any]
    config: Any


METHODS: dict[str, Part] = {
    "ncl": Part(Ncl, NclConfig),
    "hat": Part(Hat, HatConfig),
    "classic": Part(Classic, ClassicConfig),
}
BACKBONES: dict[str, Part] = {
    "bert_adapter": Part(BertAdapter, BertAdapterConfig),
}


@dataclass(frozen=True)
class SystemConfig:
    """Everything that determines what a system learns from given data, but the seed.

    Attributes:
        method: Name in METHODS.
        backbone: Name in BACKBONES.
        scenario: DIL or TIL.
        task_id: How the task of a test example is found.
        head_dropout: Before the head; 0.1 in the released code.
        method_config, backbone_config: The parts' own configurations, as plain values.
        train: The recipe.
    """

    method: str = "classic"
    backbone: str = "bert_adapter"
    scenario: Scenario = Scenario.DIL
    task_id: TaskId = TaskId.LAST
    head_dropout: float = 0.1
    method_config: dict[str, Any] = field(default_factory=dict)
    backbone_config: dict[str, Any] = field(default_factory=dict)
    train: TrainConfig = field(default_factory=TrainConfig)

    SECTIONS: ClassVar[tuple[str, ...]] = ("method", "backbone", "train")

    @classmethod
    def preset(
        cls,
        name: PresetName = "default",
        *,
        method: str = "classic",
        backbone: str = "bert_adapter",
        scenario: Scenario = Scenario.DIL,
        changes: dict[str, Any] | None = None,
    ) -> SystemConfig:
        """A preset with some values changed.

        Args:
            name: ``default``, ``paper`` or ``authors``.
            method: Name in METHODS.
            backbone: Name in BACKBONES.
            scenario: DIL or TIL.
            changes: Values by dotted key: ``{"train.epochs": 3, "method.gates.s_max": 200, "backbone.width": 128}``.
        """
        parts: dict[str, Any] = {
            "method": _part("method", METHODS, method).config.preset(name),
            "backbone": _part("backbone", BACKBONES, backbone).config.preset(name),
            "train": TrainConfig.preset(name),
        }
        sections: dict[str, dict[str, Any]] = {}
        for key, value in (changes or {}).items():
            section, _, rest = key.partition(".")
            if section not in cls.SECTIONS or not rest:
                raise InputError(
                    f"setting {key!r} names no section", fix="begin it with train., method. or backbone."
                )
            sections.setdefault(section, {})[rest] = value
        for section, values in sections.items():
            parts[section] = replace(parts[section], values, where=section)
        rule = TaskId.GIVEN if scenario is Scenario.TIL else TaskId.LAST
        return cls(
            method=method,
            backbone=backbone,
            scenario=scenario,
            task_id=rule,
            method_config=to_dict(parts["method"]),
            backbone_config=to_dict(parts["backbone"]),
            train=parts["train"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return to_dict(self) | {"scenario": str(self.scenario), "task_id": str(self.task_id)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SystemConfig:
        """The inverse of to_dict; unknown keys are refused."""
        config = from_dict(cls, values, where="system")
        from_dict(_part("method", METHODS, config.method).config, config.method_config, where="method")
        from_dict(_part("backbone", BACKBONES, config.backbone).config, config.backbone_config, where="backbone")
        return config


def _part(kind: str, table: dict[str, Part], name: str) -> Part:
    if name not in table:
        raise unknown_name(kind, name, list(table))
    return table[name]


def build(config: SystemConfig, seed: int, device: torch.device | str = "cpu") -> Method:
    """Makes an untaught method; the same configuration and seed give the same bytes.

    Raises:
        IncompatibleError: If the method needs what the backbone does not provide.
    """
    method_part = _part("method", METHODS, config.method)
    backbone_part = _part("backbone", BACKBONES, config.backbone)
    lacking = method_part.build.needs - backbone_part.build.provides
    if lacking:
        raise IncompatibleError(
            f"method {config.method!r} cannot work on backbone {config.backbone!r}: "
            f"it needs {', '.join(sorted(lacking))}",
            fix="choose another backbone",
        )
    seeds = Seeds(seed)
    backbone_config = from_dict(backbone_part.config, config.backbone_config, where="backbone")
    backbone: Backbone = backbone_part.build(backbone_config, seeds.generator("backbone"))
    head = Head(backbone.features, config.scenario, config.head_dropout, seeds.generator("shared head"))
    method_config = from_dict(method_part.config, config.method_config, where="method")
    method: Method = method_part.build(Model(backbone, head), method_config)
    return method.to(device)
