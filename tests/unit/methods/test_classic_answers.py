"""How far CLASSIC's answers believe the label shares of a domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from classic.methods.classic import Classic
from classic.modules.domain_reader import KnownDomain
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Batch, Scenario, Task

MakeSystem = Callable[..., SystemConfig]


def taught(config: SystemConfig, task: Task) -> tuple[Classic, Batch]:
    method = build(config, 0)
    assert isinstance(method, Classic)
    learn_task(method, task, config.train, Seeds(0))
    method.eval()
    return method, method.model.backbone.collate(task.test)


def uneven(task: Task) -> Task:
    """The task with most of one class left out, so that its shares are far from even."""
    rare = [example for example in task.train if example.polarity is task.train[0].polarity]
    return replace(task, train=tuple(example for example in task.train if example not in rare[1:]))


def test_a_told_domain_is_believed_by_half_in_til(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    for scenario, belief in ((Scenario.TIL, 0.5), (Scenario.DIL, 0.0)):
        config = tiny_system(scenario=scenario, changes={"train.epochs": 1})
        method, batch = taught(config, uneven(toy_tasks[0]))
        with torch.no_grad():
            difference = method.answer(batch, 0) - method.logits(batch, 0)
        there = method.answers.shares[0] > 0
        shares = method.answers.shares[0][there].log().expand(len(batch), -1)
        torch.testing.assert_close(difference[:, there], belief * shares, atol=1e-5, rtol=1e-4)
        assert shares.std() > 0.1  # they are uneven, so believing them would do something


def test_shares_that_were_learned_are_not_believed_again(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(changes={"train.epochs": 1, "additions.shares": "learned"})
    method, _ = taught(config, uneven(toy_tasks[0]))
    reader = method.reader(0)
    assert isinstance(reader, KnownDomain)
    assert reader.expected[method.answers.shares[0] > 0].tolist() == [0.0] * int((method.answers.shares[0] > 0).sum())
