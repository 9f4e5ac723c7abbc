"""Weights averaged along the sequence: training walks on from where it stood, the average answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from classic.methods.classic import Classic
from classic.modules.averaging import RunningAverage
from classic.modules.keeping import Protection
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Task


def test_the_average_answers_and_training_goes_on_from_where_it_stood() -> None:
    weight = nn.Parameter(torch.zeros(2, 2))
    averaging = RunningAverage([weight])
    averaging.start_task()
    for _ in range(5):
        weight.data += 1.0
        averaging.step()
    averaging.finish_task()
    assert 0 < float(weight.data[0, 0]) < 5
    kept = weight.data.clone()
    averaging.start_task()
    assert torch.equal(weight.data, torch.full((2, 2), 5.0))
    averaging.finish_task()
    assert torch.equal(weight.data, kept)  # no step, no change


def test_the_rates_are_those_of_the_equation() -> None:
    weight = nn.Parameter(torch.zeros(1))
    averaging = RunningAverage([weight])
    averaging.start_task()
    expected = 0.0
    for n in range(1, 1201):
        weight.data.fill_(float(n % 7))
        averaging.step()
        expected += max(10 / (n + 10), 0.01) * (n % 7 - expected)
    averaging.finish_task()
    assert float(weight.data) == pytest.approx(expected, abs=1e-3)


def taught(make: Callable[..., SystemConfig], task: Task) -> Classic:
    config = make(changes={"train.epochs": 1})
    method = build(config, 0)
    assert isinstance(method, Classic)
    learn_task(method, task, config.train, Seeds(0))
    return method


def test_classic_keeps_both_and_only_in_dil(
    tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    method = taught(tiny_system, toy_tasks[0])
    assert isinstance(method.keeping, RunningAverage)
    answering = torch.cat([weight.detach().reshape(-1) for weight in method.averaged()])
    assert method.keeping.live.shape == answering.shape
    assert not torch.equal(method.keeping.live, answering)
    assert "keeping.live" in method.tensors()
    til = build(tiny_system(scenario=Scenario.TIL), 0)
    assert isinstance(til, Classic)
    assert isinstance(til.keeping, Protection)


def test_teachers_are_asked_as_they_answer(
    tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    method = taught(tiny_system, toy_tasks[0])
    said = method.teachers.say(method, toy_tasks[1].train, [0])[1]
    method.start_task(toy_tasks[1], Seeds(0))
    assert torch.equal(method.teachers.logits, said)
