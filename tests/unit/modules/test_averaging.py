"""Weights averaged along the sequence: what answers goes a part of the way to where each lesson leads."""

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


def lesson(averaging: RunningAverage, weight: nn.Parameter, values: list[float]) -> None:
    averaging.start_task()
    for value in values:
        weight.data.fill_(value)
        averaging.step()
    averaging.finish_task()


def test_a_lesson_begins_where_the_answers_are_and_they_go_a_part_of_the_way() -> None:
    weight = nn.Parameter(torch.zeros(2, 2))
    averaging = RunningAverage([weight])
    lesson(averaging, weight, [1.0, 2.0, 3.0])
    first = weight.data.clone()
    assert 1 < float(first[0, 0]) < 3
    averaging.start_task()
    assert torch.equal(weight.data, first)  # not where training stood
    averaging.finish_task()
    assert torch.equal(weight.data, first)  # no step, no change


def test_a_step_copies_nothing_as_large_as_the_network_and_is_the_equation_to_the_bit() -> None:
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(*shape)) for shape in ((9, 33), (1,), (5, 3, 2), (70,))]
    averaging = RunningAverage(parameters)
    averaging.start_task()
    place, wanted = averaging.live.data_ptr(), averaging.live.clone()
    for step in range(1, 30):
        for parameter in parameters:
            parameter.data.add_(torch.randn_like(parameter))
        averaging.step()
        flat = torch.cat([parameter.detach().flatten() for parameter in parameters])
        wanted = torch.lerp(wanted, flat, max(10 / (step + 10), 0.02))
        assert torch.equal(averaging.live, wanted)
    assert averaging.live.data_ptr() == place
    averaging.finish_task()


def test_the_rates_are_those_of_the_equations() -> None:
    weight = nn.Parameter(torch.zeros(1))
    averaging = RunningAverage([weight])
    answers = 0.0
    for count in (700, 300, 30):
        values = [float(n % 7) for n in range(1, count + 1)]
        expected = answers
        for n, value in enumerate(values, start=1):
            expected += max(10 / (n + 10), 0.02) * (value - expected)
        answers += {700: 1.0, 300: 0.75, 30: 0.5}[count] * (expected - answers)
        lesson(averaging, weight, values)
        assert float(weight.data) == pytest.approx(answers, abs=1e-3)


def taught(make: Callable[..., SystemConfig], task: Task) -> Classic:
    config = make(changes={"train.epochs": 1})
    method = build(config, 0)
    assert isinstance(method, Classic)
    learn_task(method, task, config.train, Seeds(0))
    return method


def test_classic_averages_only_in_dil_and_keeps_nothing_twice(
    tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    method = taught(tiny_system, toy_tasks[0])
    assert isinstance(method.keeping, RunningAverage)
    assert not method.keeping.live.numel() and not method.keeping.average.numel()
    assert int(method.tensors()["keeping.steps"]) > 0
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
