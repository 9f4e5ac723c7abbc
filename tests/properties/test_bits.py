"""Earlier models are kept to the last bit, and the test that says so can fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from classic.config import TrainConfig
from classic.evaluation import accuracy
from classic.methods.base import Method
from classic.methods.hat import Hat
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Batch, Output, Scenario, Task

MakeSystem = Callable[..., SystemConfig]
# A rate at which a few steps move every weight that may move.
FAST = {"train.learning_rate": 5e-3}


def batches(method: Method, tasks: tuple[Task, ...]) -> list[Batch]:
    return [method.model.backbone.collate(task.test) for task in tasks]


def outputs(method: Hat, of_task: int, over: list[Batch]) -> list[Output]:
    method.eval()
    with torch.no_grad():
        return [method.output(batch, of_task) for batch in over]


def same(left: list[Output], right: list[Output]) -> bool:
    pairs = list(zip(left, right, strict=True))
    return all(torch.equal(a.features, b.features) and torch.equal(a.logits, b.logits) for a, b in pairs)


def learn_all(config: SystemConfig, tasks: tuple[Task, ...], train: TrainConfig | None = None) -> tuple[Hat, list]:
    """Learns the tasks; what each said about every test sentence of every task when it had just been learned."""
    method = build(config, 0)
    over, said = batches(method, tasks), []
    for number, task in enumerate(tasks):
        learn_task(method, task, train or config.train, Seeds(0))
        said.append(outputs(method, number, over))
    return method, said


PROTECTED: dict[str, Any] = {"additions.average": False}  # in DIL the default lets units go on learning
SYSTEMS: dict[str, tuple[str, str, Scenario, dict[str, Any]]] = {
    "classic": ("default", "classic", Scenario.DIL, PROTECTED),
    "classic til": ("default", "classic", Scenario.TIL, {}),
    "quick": (
        "default",
        "classic",
        Scenario.DIL,
        PROTECTED | {"backbone.layers": 1, "method.most_teachers": 1, "train.precision": "bfloat16"},
    ),
    "hat": ("default", "hat", Scenario.DIL, {}),
    "paper": ("paper", "classic", Scenario.DIL, {}),
    "paper, wide masks": ("paper", "classic", Scenario.DIL, {"method.gates.init_std": 1.0}),
    "authors without decay": ("authors", "classic", Scenario.TIL, {"train.weight_decay": 0.0}),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_earlier_tasks_stay_to_the_last_bit(name: str, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    preset, kind, scenario, changes = SYSTEMS[name]
    method, said = learn_all(tiny_system(preset, kind, scenario, FAST | changes), toy_tasks)
    over = batches(method, toy_tasks)
    for task, then in enumerate(said):
        assert same(outputs(method, task, over), then)
    # The models are four, not one four times over.
    for task in range(3):
        assert not torch.equal(said[task][0].features, said[task + 1][0].features)


@pytest.mark.parametrize("scenario", list(Scenario))
def test_decay_breaks_earlier_tasks(scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    """The control: with weight decay protected weights shrink, and the comparison above must see it."""
    config = tiny_system(scenario=scenario, changes=FAST | PROTECTED | {"train.weight_decay": 0.01})
    method, said = learn_all(config, toy_tasks[:2])
    (now,) = outputs(method, 0, batches(method, toy_tasks[:1]))
    assert not torch.equal(now.features, said[0][0].features)


def test_unprotected_gradients_break_earlier_tasks(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other control: it is the gradient rule that keeps them."""
    monkeypatch.setattr("classic.modules.gates.TaskGates.protect", lambda self: None)
    method, said = learn_all(tiny_system(changes=FAST | PROTECTED), toy_tasks[:2])
    (now,) = outputs(method, 0, batches(method, toy_tasks[:1]))
    assert not torch.equal(now.features, said[0][0].features)


def test_naive_learning_changes_earlier_features(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="ncl", changes=FAST)
    method = build(config, 0)
    batch = method.model.backbone.collate(toy_tasks[0].test)
    features = []
    for task in toy_tasks[:2]:
        learn_task(method, task, config.train, Seeds(0))
        method.eval()
        with torch.no_grad():
            features.append(method.model(batch).features)
    assert not torch.equal(*features)


def test_what_is_said_with_the_task_given_cannot_get_worse(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(scenario=Scenario.TIL, changes=FAST | {"train.epochs": 8})
    method = build(config, 0)
    over, rows = batches(method, toy_tasks), []
    for number, task in enumerate(toy_tasks):
        learn_task(method, task, config.train, Seeds(0))
        answers = [outputs(method, earlier, [over[earlier]])[0].logits.argmax(dim=1) for earlier in range(number + 1)]
        rows.append([accuracy(over[u].labels.tolist(), said.tolist()) for u, said in enumerate(answers)])
    for earlier in range(len(toy_tasks)):
        assert len({row[earlier] for row in rows[earlier:]}) == 1
    assert min(rows[-1]) > 0.4
    assert sum(rows[-1]) / len(rows[-1]) > 0.7


def test_looking_at_an_earlier_task_leaves_no_trace(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    method, _ = learn_all(tiny_system(changes=FAST), toy_tasks[:2])
    before = {name: tensor.clone() for name, tensor in method.tensors().items()}
    over = batches(method, toy_tasks[:1])
    with torch.no_grad():
        newest = method.output(over[0]).features
        for task in (0, 1):
            method.output(over[0], task)
        with pytest.raises(RuntimeError), method.acting_as(0):
            raise RuntimeError
        assert torch.equal(method.output(over[0]).features, newest)
    assert all(torch.equal(tensor, before[name]) for name, tensor in method.tensors().items())


def test_teachers_say_what_they_said_then(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    """What CED and CKS are taught with is, row by row, what each earlier model says about the new examples."""
    method, _ = learn_all(tiny_system(changes=FAST), toy_tasks[:2])
    examples = toy_tasks[2].train
    features, logits = method.teachers.say(method, examples, [0, 1])
    batch = method.model.backbone.collate(examples)
    for task in range(2):
        (direct,) = outputs(method, task, [batch])
        assert torch.allclose(features[:, task], direct.features, atol=1e-5)
        assert torch.allclose(logits[:, task], direct.logits, atol=1e-5)


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("scenario", list(Scenario))
def test_classic_without_its_losses_is_hat(
    preset: str, scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    nothing = {"method.csc": 0, "method.ced": 0, "method.cks": 0, "method.absent": 0, "method.missing": "plain"}
    nothing |= {"additions.shares": "learned", "additions.domains": "blind"} | PROTECTED

    def final(kind: str, changes: dict[str, object]) -> dict[str, Tensor]:
        method, _ = learn_all(tiny_system(preset, kind, scenario, FAST | changes), toy_tasks[:3])
        return method.tensors()

    hat = final("hat", {"method.missing": "plain"})
    bare = final("classic", nothing)
    assert bare.keys() == hat.keys()
    assert all(torch.equal(bare[name], hat[name]) for name in hat)
    one_loss = final("classic", nothing | {"method.cks": 1})
    assert any(not torch.equal(one_loss[name], hat[name]) for name in hat)
