"""ONE: every task starts from the same network and keeps its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from classic.methods.one import One
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Task

MakeSystem = Callable[..., SystemConfig]


def make(config: SystemConfig) -> One:
    method = build(config, 0)
    assert isinstance(method, One)
    return method


@pytest.mark.parametrize("scenario", list(Scenario))
def test_networks_do_not_touch_each_other(
    scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="one", scenario=scenario, changes={"train.epochs": 2, "train.learning_rate": 5e-3})
    method = make(config)
    untaught = method.networks.read()
    size = method.bytes_kept()
    batch = method.model.backbone.collate(toy_tasks[0].test)
    said = []
    for number, task in enumerate(toy_tasks[:3]):
        learn_task(method, task, config.train, Seeds(0))
        method.eval()
        with torch.no_grad():
            said.append(method.logits(batch))
            for earlier, answers in enumerate(said):
                assert torch.equal(method.logits(batch, earlier), answers)
        assert torch.equal(method.logits(batch), said[-1])  # asking an old network leaves the newest in place
        assert method.bytes_kept() == size * (number + 2)
    assert not torch.equal(said[0], said[1])
    assert torch.equal(method.networks.copies[0], untaught)
    restored = make(config)
    restored.restore(method.facts(), method.tensors())
    assert all(torch.equal(restored.eval().logits(batch, task), said[task]) for task in range(3))


@pytest.mark.parametrize("scenario", list(Scenario))
def test_every_task_starts_from_the_same_numbers(
    scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="one", scenario=scenario, changes={"train.epochs": 1})
    method = make(config)
    starts, heads = [], []
    for task in (toy_tasks[0], toy_tasks[2]):
        learn_task(method, task, config.train, Seeds(0))
        method.start_task(toy_tasks[0], Seeds(0))
        starts.append(method.networks.read())
        heads.append(method.model.head.current.weight.detach().clone())
        method.in_task = False
        if scenario is Scenario.TIL:  # take the head of the task that was only begun away again
            method.model.head.linears.pop(-1)
            method.model.head.columns.pop()
    assert torch.equal(starts[0], starts[1])
    assert torch.equal(heads[0], heads[1])
    assert torch.equal(starts[0], make(config).networks.read())
