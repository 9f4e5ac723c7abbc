"""Configurations: strict reading, presets, dotted changes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest

from classic.backbones.bert_adapter import BertAdapterConfig
from classic.config import PRESETS, TrainConfig, check_preset, from_dict, replace, to_dict
from classic.errors import InputError
from classic.methods.additions import Additions
from classic.methods.classic import ClassicConfig
from classic.methods.hat import HatConfig
from classic.methods.ncl import NclConfig
from classic.modules.gates import GateConfig
from classic.systems.system import SystemConfig
from classic.types import Scenario, TaskId

KINDS = [Additions, TrainConfig, GateConfig, NclConfig, HatConfig, ClassicConfig, BertAdapterConfig]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    size: int = 1


@dataclass(frozen=True)
class Outer:
    rate: float = 0.1
    many: int = 2
    name: str = "x"
    flag: bool = False
    kind: Literal["adam", "sgd"] = "adam"
    maybe: float | None = None
    colour: Colour = Colour.RED
    inner: Inner = field(default_factory=Inner)


def test_values_are_read() -> None:
    given = {"rate": 1, "maybe": 3, "kind": "sgd", "colour": "blue", "inner": {"size": 5}, "flag": True}
    found = from_dict(Outer, given)
    assert found == Outer(rate=1.0, maybe=3.0, kind="sgd", colour=Colour.BLUE, inner=Inner(5), flag=True)
    assert isinstance(found.rate, float)
    assert isinstance(found.maybe, float)
    assert isinstance(found.colour, Colour)
    assert from_dict(Outer, {"maybe": None}).maybe is None
    assert from_dict(Outer, {}) == Outer()


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"rate": "fast"}, "configuration.rate"),
        ({"rate": True}, "configuration.rate"),
        ({"rate": None}, "configuration.rate"),
        ({"many": 2.5}, "configuration.many"),
        ({"many": True}, "configuration.many"),
        ({"flag": 1}, "configuration.flag"),
        ({"name": 3}, "configuration.name"),
        ({"maybe": "much"}, "configuration.maybe"),
        ({"colour": "green"}, "configuration.colour"),
        ({"kind": "adamw"}, "configuration.kind"),
        ({"inner": 3}, "configuration.inner"),
        ({"inner": {"size": "big"}}, "configuration.inner.size"),
        (7, "configuration"),
    ],
)
def test_wrong_values_are_refused_with_their_place(given: Any, where: str) -> None:
    with pytest.raises(InputError) as caught:
        from_dict(Outer, given)
    assert where in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"rat": 1}, "'rate'"),
        ({"inner": {"siez": 1}}, "'size'"),
        ({"kind": "adm"}, "'adam'"),
        ({"colour": "blu"}, "'blue'"),
    ],
)
def test_a_misspelling_gets_a_suggestion(given: dict[str, Any], hint: str) -> None:
    with pytest.raises(InputError, match=f"did you mean {hint}"):
        from_dict(Outer, given)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_configurations_survive_json(kind: Any) -> None:
    assert from_dict(kind, json.loads(json.dumps(to_dict(kind())))) == kind()


def test_what_the_paper_prints() -> None:
    config = SystemConfig.preset("paper")
    train, method = config.train, from_dict(ClassicConfig, config.method_config)
    shape = from_dict(BertAdapterConfig, config.backbone_config)
    assert (train.learning_rate, train.batch_size, train.weight_decay) == (3e-5, 32, 0.0)
    assert (train.epochs_for(300), train.epochs_for(3000)) == (30, 10)
    assert (method.csc, method.ced, method.cks, method.temperature, method.gates.s_max) == (1, 1, 1, 1, 400)
    assert (method.teachers, method.gates.anneal, method.gates.form) == ("sum", "epoch", "soft")
    assert (shape.width, shape.pooling, shape.max_length) == (2000, "cls", 128)


def test_unknown_presets_are_refused() -> None:
    assert check_preset("paper") == "paper"
    with pytest.raises(InputError, match="did you mean 'paper'"):
        check_preset("papr")


def test_replace_reaches_nested_values_and_leaves_the_original() -> None:
    config = ClassicConfig()
    changed = replace(config, {"gates.s_max": 200, "ced": 0})
    assert (changed.gates.s_max, changed.ced) == (200.0, 0.0)
    assert config == ClassicConfig()
    assert replace(changed, {"gates.s_max": config.gates.s_max, "ced": config.ced}) == config


@pytest.mark.parametrize("key", ["gate.s_max", "gates.smax", "csc.x", "gates.s_max.x", "nothing"])
def test_replace_refuses_unknown_keys(key: str) -> None:
    with pytest.raises(InputError, match="unknown key"):
        replace(ClassicConfig(), {key: 1})


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("method", ["ncl", "hat", "classic"])
def test_systems_survive_json(name: str, scenario: Scenario, method: str) -> None:
    config = SystemConfig.preset(name, method=method, scenario=scenario)
    again = SystemConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert isinstance(again.scenario, Scenario)
    assert again.task_id is (TaskId.GIVEN if scenario is Scenario.TIL else TaskId.LAST)


@pytest.mark.parametrize(
    "given",
    [{"scenario": "dl"}, {"task_id": "first"}, {"method": "clasic"}, {"method_config": 5}, {"method_config": {"x": 1}}],
)
def test_bad_systems_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        SystemConfig.from_dict(given)


def test_changes_of_a_system() -> None:
    config = SystemConfig.preset("paper", changes={"train.epochs": 3, "method.gates.s_max": 200, "backbone.width": 16})
    assert config.train.epochs == 3
    assert config.method_config["gates"]["s_max"] == 200.0
    assert config.backbone_config["width"] == 16
    for key in ("epochs", "training.epochs", "train", "method.gats.s_max"):
        with pytest.raises(InputError):
            SystemConfig.preset("paper", changes={key: 1})


@pytest.mark.parametrize(
    ("asked", "fresh", "teachers"),
    [
        ({}, 0.0, None),
        ({"quick": True}, 0.0, 5),
        ({"quick": True, "changes": {"additions.average": False}}, 0.04, 5),
        ({"scenario": Scenario.TIL}, 0.04, None),
        ({"changes": {"additions.average": False}}, 0.04, None),
        ({"changes": {"method.gates.fresh": 0.1, "method.most_teachers": 2}}, 0.1, 2),
        ({"name": "paper"}, 0.04, None),
    ],
)
def test_only_averaged_units_make_do_without_fresh_ones(
    asked: dict[str, Any], fresh: float, teachers: int | None
) -> None:
    method = SystemConfig.preset(**asked).method_config
    assert (method["gates"]["fresh"], method["most_teachers"]) == (fresh, teachers)


def test_reading_a_configuration_does_not_import_torch() -> None:
    program = "import sys, classic.config, classic.types, classic.errors; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    "change", [{"epochs": 0}, {"batch_size": -1}, {"learning_rate": float("nan")}, {"warmup": 1.0}]
)
def test_numbers_out_of_range_are_refused(change: dict) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        TrainConfig(**change)
