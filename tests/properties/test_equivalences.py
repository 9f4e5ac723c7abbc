"""Methods that are one another in a special case, to the last bit; and runs that were killed and are not to be told."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from classic.methods.base import Method
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task
from classic.types import Polarity, Scenario, Step, Task

MakeSystem = Callable[..., SystemConfig]
SMALL = {"backbone.width": 16, "train.epochs": 2, "train.learning_rate": 5e-3}


def network(method: Method) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items() if name.startswith("model.")}


def everything(method: Method) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def teach(config: SystemConfig, tasks: tuple[Task, ...]) -> Method:
    method = build(config, 0)
    for task in tasks:
        learn_task(method, task, config.train, Seeds(0))
    return method


@pytest.mark.parametrize("scenario", list(Scenario))
def test_without_their_terms_they_are_ncl(
    scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    def learned(method: str, **changes: float) -> dict[str, Tensor]:
        own = {f"method.{key}": value for key, value in changes.items()}
        return network(teach(tiny_system(method=method, scenario=scenario, changes=SMALL | own), toy_tasks[:3]))

    ncl = learned("ncl")
    assert equal(learned("ewc", strength=0.0), ncl)
    assert equal(learned("derpp", alpha=0.0, beta=0.0), ncl)
    assert not equal(learned("ewc"), ncl)
    assert not equal(learned("derpp", alpha=0.0), ncl)
    assert not equal(learned("derpp", beta=0.0), ncl)


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("method", ["one", "ewc", "owm", "retrain"])
def test_in_the_first_task_there_is_nothing_to_keep(
    method: str, scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    ncl = teach(tiny_system(method="ncl", scenario=scenario, changes=SMALL), toy_tasks[:1])
    other = teach(tiny_system(method=method, scenario=scenario, changes=SMALL), toy_tasks[:1])
    assert equal(network(other), network(ncl))


def test_one_with_contrast_is_ncl_with_contrast_in_the_first_task(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    changes = SMALL | {"method.csc": 1.0}
    ncl, one = (teach(tiny_system(method=name, changes=changes), toy_tasks[:1]) for name in ("ncl", "one"))
    assert equal(network(one), network(ncl))
    assert not equal(network(one), network(teach(tiny_system(method="one", changes=SMALL), toy_tasks[:1])))


# --- killed runs ------------------------------------------------------------------------------------------------------


class Killed(Exception):
    """Stands for a kill."""


class Killer(NoWatcher):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        if (step.epoch, step.batch) == (self.epoch, 1):
            raise Killed


class KilledAtTheEnd(Checkpoint):
    """Ends a run when its last epoch has been saved, before the task is finished."""

    def save(self, tensors: dict[str, Tensor], counters: dict[str, Any]) -> None:
        super().save(tensors, counters)
        if counters["epoch"] == 3:
            raise Killed


@pytest.mark.parametrize(
    "case",
    [
        ("one", Scenario.TIL, {}),
        ("ewc", Scenario.DIL, {"method.fisher_mode": "train"}),
        ("ucl", Scenario.DIL, {}),
        ("owm", Scenario.DIL, {}),
        ("owm", Scenario.DIL, {"method.update": "step"}),
        ("derpp", Scenario.DIL, {"method.capacity": 10}),
        ("derpp", Scenario.TIL, {"method.capacity": 40}),
        ("retrain", Scenario.TIL, {}),
    ],
    ids=lambda case: f"{case[0]}-{case[1]}",
)
def test_a_killed_run_ends_with_the_same_bytes(
    case: tuple[str, Scenario, dict[str, Any]],
    tiny_system: MakeSystem,
    toy_tasks: tuple[Task, ...],
    tmp_path: Path,
) -> None:
    method, scenario, changes = case
    # Validated on the contrary of what is learned: the best epoch is not the last, and what it left must come back.
    flipped = {Polarity.POSITIVE: Polarity.NEGATIVE, Polarity.NEGATIVE: Polarity.POSITIVE, None: None}
    wrong = tuple(replace(example, polarity=flipped[example.polarity]) for example in toy_tasks[1].train)
    task = replace(toy_tasks[1], valid=wrong)
    changes = SMALL | changes | {"train.epochs": 3, "train.learning_rate": 0.02}
    config = tiny_system(method=method, scenario=scenario, changes=changes)
    base = teach(config, toy_tasks[:1])
    facts, tensors = copy.deepcopy(base.facts()), everything(base)

    def fresh() -> Method:
        copied = build(config, 0)
        copied.restore(facts, tensors)
        return copied

    whole = fresh()
    log = learn_task(whole, task, config.train, Seeds(0))
    assert not log.epochs[-1]["best"]
    for number in range(2):
        path = tmp_path / f"{number}.safetensors"
        with pytest.raises(Killed):
            if number:
                learn_task(fresh(), task, config.train, Seeds(0), KilledAtTheEnd(path, "job"))
            else:
                learn_task(fresh(), task, config.train, Seeds(0), Checkpoint(path, "job"), Killer(1))
        again = fresh()
        resumed = learn_task(again, task, config.train, Seeds(0), Checkpoint(path, "job"))
        assert equal(everything(again), everything(whole))
        assert again.facts() == whole.facts()
        assert resumed.epochs == log.epochs
