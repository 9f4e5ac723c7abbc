"""Systems: the only file that knows both methods and backbones.

A system is a method on a backbone in a scenario with a task-id rule; every row of the paper is one. The grid of pairs is
never written out: two tables and `build` are all.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from classic.backbones.base import Backbone
from classic.backbones.bert import Bert, BertConfig
from classic.backbones.bert_adapter import BertAdapter, BertAdapterConfig
from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.backbones.gpt2 import Gpt2, Gpt2Config
from classic.backbones.w2v import W2v, W2vConfig
from classic.config import PresetName, TrainConfig, from_dict, replace, to_dict
from classic.errors import IncompatibleError, InputError, unknown_name
from classic.methods.additions import Additions
from classic.methods.base import Method
from classic.methods.bcl import Bcl, BclConfig
from classic.methods.classic import Classic, ClassicConfig
from classic.methods.derpp import Derpp, DerppConfig
from classic.methods.ewc import Ewc, EwcConfig
from classic.methods.hat import Hat, HatConfig
from classic.methods.joint import Joint, JointConfig, Retrain, RetrainConfig
from classic.methods.kan import Kan, KanConfig
from classic.methods.lamol import Lamol, LamolConfig
from classic.methods.ncl import Ncl, NclConfig
from classic.methods.one import One, OneConfig
from classic.methods.owm import Owm, OwmConfig
from classic.methods.srk import Srk, SrkConfig
from classic.methods.ucl import Ucl, UclConfig
from classic.model import Model
from classic.modules.heads import Head, HeadConfig
from classic.seeding import Seeds
from classic.systems.recipes import Asked, recipe
from classic.training.devices import fastest_precision
from classic.types import Scenario, TaskId


@dataclass(frozen=True)
class Part:
    """How a method or a backbone is made.

    Attributes:
        build: A subclass of Method or of Backbone, taking (model, config) or (config, generator).
        config: The class of its configuration.
    """

    build: Any
    config: Any


METHODS: dict[str, Part] = {
    "ncl": Part(Ncl, NclConfig),
    "one": Part(One, OneConfig),
    "ewc": Part(Ewc, EwcConfig),
    "ucl": Part(Ucl, UclConfig),
    "owm": Part(Owm, OwmConfig),
    "derpp": Part(Derpp, DerppConfig),
    "joint": Part(Joint, JointConfig),
    "retrain": Part(Retrain, RetrainConfig),
    "hat": Part(Hat, HatConfig),
    "classic": Part(Classic, ClassicConfig),
    "kan": Part(Kan, KanConfig),
    "srk": Part(Srk, SrkConfig),
    "bcl": Part(Bcl, BclConfig),
    "lamol": Part(Lamol, LamolConfig),
}
BACKBONES: dict[str, Part] = {
    "bert_adapter": Part(BertAdapter, BertAdapterConfig),
    "bert": Part(Bert, BertConfig),
    "bert_frozen": Part(BertFrozen, BertFrozenConfig),
    "w2v": Part(W2v, W2vConfig),
    "gpt2": Part(Gpt2, Gpt2Config),
}


@dataclass(frozen=True)
class SystemConfig:
    """Everything that determines what a system learns from given data, but the seed.

    Attributes:
        method: Name in METHODS.
        backbone: Name in BACKBONES.
        scenario: DIL or TIL.
        task_id: How the task of a test example is found.
        method_config, backbone_config: The parts' own configurations, as plain values.
        train: The recipe.
        head: The head.
        additions: What is added to the method.
    """

    method: str = "classic"
    backbone: str = "bert_adapter"
    scenario: Scenario = Scenario.DIL
    task_id: TaskId = TaskId.LAST
    method_config: dict[str, Any] = field(default_factory=dict)
    backbone_config: dict[str, Any] = field(default_factory=dict)
    train: TrainConfig = field(default_factory=TrainConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    additions: Additions = field(default_factory=Additions)

    SECTIONS: ClassVar[tuple[str, ...]] = ("method", "backbone", "train", "head", "additions")

    @classmethod
    def preset(
        cls,
        name: PresetName = "default",
        *,
        method: str = "classic",
        backbone: str = "bert_adapter",
        scenario: Scenario = Scenario.DIL,
        changes: dict[str, Any] | None = None,
        quick: bool = False,
    ) -> SystemConfig:
        """A preset with some values changed.

        Args:
            name: ``default``, ``paper`` or ``authors``.
            method: Name in METHODS.
            backbone: Name in BACKBONES.
            scenario: DIL or TIL.
            changes: Values by dotted key: ``{"train.epochs": 3, "method.gates.s_max": 200, "backbone.width": 128}``.
            quick: Whether to spend minutes, not hours, on an order: few epochs, low precision, shortcuts.
        """
        kinds: dict[str, Any] = {
            "method": _part("method", METHODS, method).config,
            "backbone": _part("backbone", BACKBONES, backbone).config,
            "train": TrainConfig,
            "head": HeadConfig,
            "additions": Additions,
        }
        changes = changes or {}
        budget, encoder = "quick" if quick else "full", changes.get("backbone.encoder")
        asked = Asked(name, budget, method, backbone, scenario, encoder=encoder)
        average = (recipe(asked) | changes).get("additions.average", False)
        settings = recipe(dataclasses.replace(asked, average=average)) | changes
        sections: dict[str, dict[str, Any]] = {section: {} for section in cls.SECTIONS}
        for key, value in settings.items():
            section, _, rest = key.partition(".")
            if section not in cls.SECTIONS or not rest:
                raise InputError(
                    f"setting {key!r} names no section",
                    fix="begin it with train., method., backbone., head. or additions.",
                )
            sections[section][rest] = value
        parts = {section: replace(kinds[section](), values, where=section) for section, values in sections.items()}
        if parts["train"].precision == "fastest":
            parts["train"] = dataclasses.replace(parts["train"], precision=fastest_precision())
        rule = TaskId.GIVEN if scenario is Scenario.TIL else TaskId.LAST
        return cls(
            method=method,
            backbone=backbone,
            scenario=scenario,
            task_id=rule,
            method_config=to_dict(parts["method"]),
            backbone_config=to_dict(parts["backbone"]),
            train=parts["train"],
            head=parts["head"],
            additions=parts["additions"],
        )

    def complete(self) -> SystemConfig:
        """The same with every setting of its parts written out; refuses settings the parts do not have."""
        return dataclasses.replace(
            self,
            method_config=_completed(_part("method", METHODS, self.method), self.method_config, "method"),
            backbone_config=_completed(_part("backbone", BACKBONES, self.backbone), self.backbone_config, "backbone"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return to_dict(self) | {"scenario": str(self.scenario), "task_id": str(self.task_id)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SystemConfig:
        """The inverse of to_dict; unknown keys are refused."""
        config = from_dict(cls, values, where="system")
        config.complete()
        return config


def _completed(part: Part, values: dict[str, Any], where: str) -> dict[str, Any]:
    return to_dict(from_dict(part.config, values, where=where))


def _part(kind: str, table: dict[str, Part], name: str) -> Part:
    if name not in table:
        raise unknown_name(kind, name, list(table))
    return table[name]


def without_caches(system: dict[str, Any]) -> dict[str, Any]:
    """A system as plain values, without how much is cached and where, which changes no result."""
    kept = {key: value for key, value in system["backbone_config"].items() if not key.startswith("cache_")}
    return system | {"backbone_config": kept}


def classes_of(config: SystemConfig) -> tuple[type, type]:
    """The classes of a system's method and backbone."""
    return _part("method", METHODS, config.method).build, _part("backbone", BACKBONES, config.backbone).build


def refuse_unfit(config: SystemConfig) -> None:
    """Refuses a method on a backbone that does not provide what it needs, with a sentence that says what."""
    method = _part("method", METHODS, config.method).build
    needs = method.needs_with(config.additions)
    lacking = needs - _part("backbone", BACKBONES, config.backbone).build.provides
    if lacking:
        raise IncompatibleError(
            f"method {config.method!r} cannot work on backbone {config.backbone!r}: "
            f"it needs {', '.join(sorted(lacking))}",
            fix=f"choose one of: {', '.join(n for n, p in BACKBONES.items() if needs <= p.build.provides)}",
        )
    added = config.additions
    if added.average and config.scenario is Scenario.TIL:
        raise IncompatibleError(
            "in TIL every earlier model is asked, and averaged weights keep none", fix="leave +average out"
        )
    for name, wanted in (
        ("reader", added.domains == "inferred" or added.shares != "learned"),
        ("average", added.average),
    ):
        if wanted and name not in method.adopts:
            raise IncompatibleError(f"method {config.method!r} has no use for +{name}", fix=f"leave +{name} out")


def build(config: SystemConfig, seed: int, device: torch.device | str = "cpu") -> Method:
    """Makes an untaught method; the same configuration and seed give the same bytes.

    Raises:
        IncompatibleError: If the method needs what the backbone does not provide.
    """
    method_part = _part("method", METHODS, config.method)
    backbone_part = _part("backbone", BACKBONES, config.backbone)
    refuse_unfit(config)
    seeds = Seeds(seed)
    backbone_config = from_dict(backbone_part.config, config.backbone_config, where="backbone")
    backbone: Backbone = backbone_part.build(backbone_config, seeds.generator("backbone"))
    width = method_part.build.feature_width(backbone)
    head = Head(width, config.scenario, config.head.dropout, seeds.generator("shared head"))
    method_config = from_dict(method_part.config, config.method_config, where="method")
    precision = fastest_precision() if config.train.precision == "fastest" else config.train.precision
    method: Method = method_part.build(Model(backbone, head, precision), method_config)
    method.adopt(config.additions)
    return method.to(device)
