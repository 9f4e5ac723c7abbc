"""Retrain and joint: all data together, from the same start."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from classic.methods.joint import Retrain
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import NoWatcher, learn_task
from classic.types import Scenario, Step, Task

MakeSystem = Callable[..., SystemConfig]
CHANGES = {"train.epochs": 2, "train.learning_rate": 5e-3}


def make(config: SystemConfig) -> Retrain:
    method = build(config, 0)
    assert isinstance(method, Retrain)
    return method


@pytest.mark.parametrize("scenario", list(Scenario))
def test_joint_is_the_last_retraining(scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    always = tiny_system(method="retrain", scenario=scenario, changes=CHANGES)
    once = tiny_system(method="joint", scenario=scenario, changes=CHANGES | {"method.tasks": 3})
    retrained, joint = make(always), make(once)
    untaught = joint.untaught.read()
    for number, task in enumerate(toy_tasks[:3]):
        learn_task(retrained, task, always.train, Seeds(0))
        log = learn_task(joint, task, once.train, Seeds(0))
        assert bool(log.epochs) == (number == 2)
        assert torch.equal(joint.untaught.read(), untaught) == (number < 2)
    left, right = retrained.tensors(), joint.tensors()
    assert left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
    again = make(once)
    again.restore(json.loads(json.dumps(joint.facts())), joint.tensors())
    assert again.kept == joint.kept and [task.name for task in again.kept] == [task.name for task in toy_tasks[:3]]
    batch = joint.model.backbone.collate(toy_tasks[1].test)
    assert torch.equal(again.eval().logits(batch, 1), joint.eval().logits(batch, 1))


@pytest.mark.parametrize("scenario", list(Scenario))
def test_all_examples_take_part_and_each_by_its_own_head(
    scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="retrain", scenario=scenario, changes=CHANGES)
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    method.start_task(toy_tasks[1], Seeds(0))
    (phase,) = method.plan(toy_tasks[1])
    assert phase.examples == toy_tasks[0].train + toy_tasks[1].train
    assert phase.valid == (toy_tasks[0].valid + toy_tasks[1].valid if scenario is Scenario.DIL else ())
    rows = [0, 30, 3]  # tasks 0, 1, 0
    batch = method.model.backbone.collate([phase.examples[row] for row in rows], rows)
    losses = []
    for row, task in zip(rows, (0, 1, 0), strict=True):
        single = method.model.backbone.collate([phase.examples[row]], [row])
        logits = method.eval().model(single, task).logits
        losses.append(torch.nn.functional.cross_entropy(logits, single.labels))
    term = method.loss(batch, Step(1, 0, 1, 0, 1))["ce"]
    torch.testing.assert_close(term, torch.stack(losses).mean(), rtol=1e-4, atol=1e-5)
    trained = {id(p) for group in phase.groups for p in group.parameters}
    assert {id(p) for p in method.model.head.parameters()} <= trained


def test_the_size_of_all_domains_together_decides_how_many_epochs(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="retrain", changes=CHANGES | {"train.epochs": 3, "train.large_epochs": 1})
    train = replace(config.train, large_from=40)  # two toy domains have 48 examples
    method = make(config)
    epochs = [len(learn_task(method, task, train, Seeds(0)).epochs) for task in toy_tasks[:2]]
    assert epochs == [3, 1]


def test_epochs_are_compared_on_all_domains_in_dil(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="retrain", changes=CHANGES)
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))

    class Watch(NoWatcher):
        batches = 0

        def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
            self.batches = batches

    watch = Watch()
    log = learn_task(method, toy_tasks[1], config.train, Seeds(0), watcher=watch)
    assert watch.batches == 6  # 48 examples by 8
    batch = method.model.backbone.collate(toy_tasks[0].valid + toy_tasks[1].valid)
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(method.eval().logits(batch), batch.labels)
    best = min(log.epochs, key=lambda record: record["valid_loss"])
    assert best["valid_loss"] == pytest.approx(float(loss), rel=1e-4)
