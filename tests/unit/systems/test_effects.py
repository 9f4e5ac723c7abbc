"""A setting that changes nothing is refused; one that is refused changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from classic.errors import InputError
from classic.seeding import Seeds
from classic.systems.effects import flat, idle, refuse_idle
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Task

MakeSystem = Callable[..., SystemConfig]
OTHER: dict[str, Any] = {
    "method.gates.s_max": 7.0,
    "method.gates.anneal": "none",
    "method.gates.compensate": True,
    "method.gates.init_std": 3.0,
    "method.gates.learning_rate": 0.5,
    "method.missing": "plain",
    "method.most_teachers": 1,
    "method.teachers": "sum",
    "train.momentum": 0.9,
    "train.rate_floor": 0.5,
    "backbone.cache_mb": 1,
    "backbone.cache_folder": "nowhere",
}


def test_what_does_nothing_by_default_is_known(tiny_system: MakeSystem) -> None:
    assert idle(tiny_system()).keys() == OTHER.keys()


def test_what_is_refused_changes_nothing(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    """All at once: two tasks end with the same bytes."""
    tensors = []
    for changes in ({}, OTHER):
        config = tiny_system(changes=changes | {"train.epochs": 1})
        method = build(config, 0)
        for task in toy_tasks[:2]:
            learn_task(method, task, config.train, Seeds(0))
        tensors.append(method.tensors())
    assert tensors[0].keys() == tensors[1].keys()
    assert all(torch.equal(tensor, tensors[1][name]) for name, tensor in tensors[0].items())


def test_the_other_setting_is_named(tiny_system: MakeSystem) -> None:
    with pytest.raises(InputError, match=r"method\.gates\.s_max has no effect in this system: hard masks"):
        refuse_idle(tiny_system(), ["train.epochs", "method.gates.s_max"])
    refuse_idle(tiny_system("paper"), ["train.epochs", "method.gates.s_max"])
    blind = tiny_system(changes={"additions.domains": "blind"})
    assert {"additions.belief", "additions.faded"} <= idle(blind).keys()


def test_every_setting_has_a_dotted_name(tiny_system: MakeSystem) -> None:
    names = flat(tiny_system())
    assert {
        "train.epochs",
        "method.gates.travel",
        "backbone.width",
        "head.dropout",
        "additions.average",
    } <= names.keys()
