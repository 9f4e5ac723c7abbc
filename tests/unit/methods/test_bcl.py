"""B-CL: capsules against a slow loop, who takes part in a task's model, and what is protected."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from classic.errors import IncompatibleError
from classic.evaluation.answers import answer
from classic.methods.bcl import Bcl
from classic.modules.capsules import SharingCapsules, route, squash
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task
from classic.types import Batch, Scenario, Step, Task, TaskId

MakeSystem = Callable[..., SystemConfig]
Vector = list[float]


@pytest.fixture(scope="module")
def config(tiny_system: MakeSystem) -> SystemConfig:
    return tiny_system(method="bcl", scenario=Scenario.TIL, changes={"method.length": 24, "train.learning_rate": 0.01})


@pytest.fixture(scope="module")
def taught(config: SystemConfig, toy_tasks: tuple[Task, ...]) -> Bcl:
    """A method that has learned two tasks."""
    method = make(config)
    for task in toy_tasks[:2]:
        learn_task(method, task, replace(config.train, epochs=20), Seeds(0))
    return method


def make(config: SystemConfig) -> Bcl:
    method = build(config, 0)
    assert isinstance(method, Bcl)
    return method


def kept(method: Bcl) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


# --- capsules --------------------------------------------------------------------------------------------------------


def slow_squash(s: Vector) -> Vector:
    size = sum(x * x for x in s)
    return [x * size / (1 + size) / math.sqrt(size) for x in s]


def slow_route(votes: list[list[Vector]], rounds: int) -> list[Vector]:
    """One example's votes [task][capsule][dimension], number by number."""
    tasks, capsules, size = len(votes), len(votes[0]), len(votes[0][0])
    agreement = [[0.0] * capsules for _ in range(tasks)]
    shared: list[Vector] = []
    for number in range(rounds):
        shared = []
        for j in range(capsules):
            weights = [math.exp(agreement[i][j]) for i in range(tasks)]
            total = sum(weights)
            pooled = [sum(weights[i] / total * votes[i][j][k] for i in range(tasks)) for k in range(size)]
            shared.append(slow_squash(pooled))
        if number < rounds - 1:
            for i in range(tasks):
                for j in range(capsules):
                    agreement[i][j] += sum(a * b for a, b in zip(votes[i][j], shared[j], strict=True))
    return shared


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_routing_against_a_slow_loop(rounds: int) -> None:
    torch.manual_seed(0)
    votes = torch.randn(2, 4, 3, 5, dtype=torch.float64)
    expected = torch.tensor([slow_route(example, rounds) for example in votes.tolist()], dtype=torch.float64)
    assert torch.allclose(route(votes, rounds), expected, atol=1e-10)


def test_a_capsule_listens_to_the_tasks_that_agree() -> None:
    direction = torch.tensor([2.0, 0.0, 0.0])
    votes = torch.stack([direction, direction, -direction, torch.tensor([0.0, 1.0, 0.0])]).view(1, 4, 1, 3)
    once, thrice = route(votes, 1)[0, 0], route(votes, 3)[0, 0]
    assert thrice[0] > once[0] > 0


def test_squash_shortens_and_has_a_gradient_at_zero() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    found = squash(x)
    assert torch.allclose(found[0], torch.tensor([3.0, 4.0]) / 5 * 25 / 26)
    found.sum().backward()
    assert x.grad is not None and bool(x.grad.isfinite().all())


def capsules(tasks: int, length: int = 6) -> SharingCapsules:
    sharing = SharingCapsules(8, 3, 2, length, 3)
    sharing.grow(tasks, torch.Generator().manual_seed(0))
    with torch.no_grad():
        sharing.widen.layer.weight.normal_(generator=torch.Generator().manual_seed(1))
    sharing.reach = tasks
    return sharing


def test_before_the_first_task_nothing_is_shared() -> None:
    x = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(2))
    assert torch.equal(SharingCapsules(8, 3, 2, 5, 3)(x), x)


def test_padding_and_what_is_behind_the_longest_length_have_no_say() -> None:
    sharing = capsules(3, length=5)
    x = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(2))
    real = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    sharing.real = real
    short = sharing(x)
    assert torch.equal(short[1, 2:], x[1, 2:])
    sharing.real = torch.cat([real, torch.zeros(2, 4, dtype=torch.long)], dim=1)
    long = sharing(torch.cat([x, torch.randn(2, 4, 8)], dim=1))
    assert torch.allclose(short, long[:, :4], atol=1e-6)
    sharing.real = torch.ones(2, 9)
    far = torch.randn(2, 9, 8)
    changed = far.clone()
    changed[:, 5:] = 0
    assert torch.equal(sharing(far)[:, 5:], far[:, 5:])
    assert torch.equal(sharing(far)[:, :5], sharing(changed)[:, :5])


def test_an_example_has_no_say_in_another() -> None:
    sharing = capsules(2)
    x = torch.randn(3, 6, 8)
    sharing.real = torch.ones(3, 6)
    together = sharing(x)
    for row in range(3):
        sharing.real = torch.ones(1, 6)
        assert torch.allclose(sharing(x[row : row + 1])[0], together[row], atol=1e-6)


# --- the method ------------------------------------------------------------------------------------------------------


def test_in_dil_it_is_refused(tiny_system: MakeSystem) -> None:
    with pytest.raises(IncompatibleError, match="'til' only"):
        build(tiny_system(method="bcl"), 0)


def test_learns_toy_tasks(taught: Bcl, toy_tasks: tuple[Task, ...]) -> None:
    for number, (task, chance) in enumerate(zip(toy_tasks[:2], (1 / 3, 1 / 2), strict=True)):
        truth = torch.tensor([e.polarity.column for e in task.test if e.polarity])
        predicted = answer(taught, task.test, TaskId.GIVEN, number).argmax(dim=1)
        assert float((predicted == truth).float().mean()) > chance + 0.2


def test_all_capsules_up_to_the_task_get_a_gradient(taught: Bcl, toy_tasks: tuple[Task, ...]) -> None:
    method = copy.deepcopy(taught)
    method.start_task(toy_tasks[2], Seeds(0))
    batch = method.model.backbone.collate(toy_tasks[2].train)
    torch.stack(list(method.loss(batch, Step(2, 0, 1, 1, 2)).values())).sum().backward()
    for sharing in entries(method):
        assert len(sharing.views) == len(sharing.routes) == 3
        for parameter in (*sharing.views.parameters(), *sharing.routes, sharing.widen.layer.weight):
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0


def test_a_tasks_model_asks_the_capsules_up_to_it(taught: Bcl, toy_tasks: tuple[Task, ...]) -> None:
    method = copy.deepcopy(taught)
    examples = toy_tasks[0].test

    def answers() -> list[Tensor]:
        return [answer(method, examples, TaskId.GIVEN, task) for task in (0, 1)]

    before = answers()
    with torch.no_grad():
        for sharing in entries(method):
            sharing.views[1].weight.add_(torch.randn_like(sharing.views[1].weight))
    after = answers()
    assert torch.equal(before[0], after[0])
    assert not torch.equal(before[1], after[1])
    with torch.no_grad():
        for sharing in entries(method):
            sharing.views[0].weight.add_(torch.randn_like(sharing.views[0].weight))
    last = answers()
    assert not torch.equal(after[0], last[0])
    assert not torch.equal(after[1], last[1])


def entries(method: Bcl) -> list[Any]:
    """The capsules that stand in the network."""
    found = [plastic.before for plastic in method.model.backbone.plastic().values() if not plastic.upstream]
    assert len(found) == len(method.capsules) == 4  # two in each of two layers
    assert all(isinstance(sharing, SharingCapsules) for sharing in found)
    return found


def test_masked_layers_are_protected_and_capsules_go_on_learning(
    config: SystemConfig, toy_tasks: tuple[Task, ...]
) -> None:
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    before = kept(method)
    used = dict(zip(method.gates.names, method.gates.mask(0).split(method.gates.sizes), strict=True))
    learn_task(method, toy_tasks[1], config.train, Seeds(0))
    plastics = method.model.backbone.plastic()
    names = {id(parameter): name for name, parameter in method.named_parameters()}
    for number, sharing in enumerate(entries(method)):
        own = used[f"capsules{number}"]
        assert own.any()
        widen = sharing.widen.layer
        assert torch.equal(before[names[id(widen.weight)]][own], widen.weight[own])
        assert torch.equal(before[names[id(widen.bias)]][own], widen.bias[own])
        down = plastics[f"adapter{number}.down"].layer
        rows = used[f"adapter{number}.down"]
        assert torch.equal(before[names[id(down.weight)]][rows], down.weight[rows])
        for parameter in (sharing.views[0].weight, sharing.routes[0]):
            assert not torch.equal(before[names[id(parameter)]], parameter)


def test_padding_has_no_say(taught: Bcl, toy_tasks: tuple[Task, ...]) -> None:
    taught.eval()
    batch = taught.model.backbone.collate(toy_tasks[1].test)
    more = {
        name: torch.cat([value, torch.zeros(len(batch), 9, dtype=value.dtype)], dim=1)
        for name, value in batch.inputs.items()
    }
    with torch.no_grad():
        short, long = taught.logits(batch, 1), taught.logits(Batch(more, batch.labels, batch.rows), 1)
    assert torch.allclose(short, long, atol=1e-4)


def test_a_restored_method_answers_the_same(taught: Bcl, config: SystemConfig, toy_tasks: tuple[Task, ...]) -> None:
    other = make(config)
    other.restore(taught.facts(), kept(taught))
    for task in (0, 1):
        assert torch.equal(*(answer(m, toy_tasks[task].test, TaskId.GIVEN, task) for m in (taught, other)))
    per_task = 64 * 3 + 3 + 3 * (24 * 3) * 24
    assert taught.bytes_kept() >= 4 * 2 * 4 * per_task


class Killed(Exception):
    """Stands for a kill."""


class Killer(NoWatcher):
    """Ends a run in its second epoch."""

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        if step.epoch == 1:
            raise Killed


def test_a_killed_run_ends_with_the_same_bytes(
    config: SystemConfig, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    first = make(config)
    learn_task(first, toy_tasks[0], config.train, Seeds(0))
    facts, tensors = copy.deepcopy(first.facts()), kept(first)
    learn_task(first, toy_tasks[1], config.train, Seeds(0))
    checkpoint = Checkpoint(tmp_path / "checkpoint", "job")
    for watcher in (Killer(), None):
        method = make(config)
        method.restore(facts, tensors)
        if watcher:
            with pytest.raises(Killed):
                learn_task(method, toy_tasks[1], config.train, Seeds(0), checkpoint, watcher)
        else:
            learn_task(method, toy_tasks[1], config.train, Seeds(0), checkpoint)
            assert equal(kept(first), kept(method))


def test_as_many_parameters_as_the_arithmetic() -> None:
    with torch.device("meta"):
        sharing = SharingCapsules(768, 3, 3, 128, 3)
        before = sum(p.numel() for p in sharing.parameters())
        sharing.grow(19)
    assert before == 3 * 768 + 768
    assert sum(p.numel() for p in sharing.parameters()) - before == 19 * (768 * 3 + 3) + 3 * 19 * 384 * 128
