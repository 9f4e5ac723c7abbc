"""Which earlier models CLASSIC consults, and in which precision it trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from classic.errors import InputError
from classic.methods.classic import Classic, ClassicConfig
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Task

MakeSystem = Callable[..., SystemConfig]


def taught(config: SystemConfig, tasks: tuple[Task, ...]) -> Classic:
    method = build(config, 0)
    assert isinstance(method, Classic)
    for task in tasks:
        learn_task(method, task, config.train, Seeds(0))
    return method


def test_the_nearest_models_are_consulted(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(changes={"method.most_teachers": 1, "train.epochs": 1, "additions.average": False})
    method = taught(config, toy_tasks[:2])
    assert method.teachers.places.shape == (2, method.model.backbone.features)
    for number, old in enumerate(toy_tasks[:2]):
        method.start_task(replace(old, name="again"), Seeds(0))
        assert method.teachers.consulted == [number]
        assert method.teachers.features.shape[1] == 1
        assert torch.equal(method.teachers.features[:, 0], method.teachers.say(method, old.train, [number])[0][:, 0])
        method.in_task = False


def test_transfer_tells_of_every_task_and_gives_nothing_to_those_not_asked(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    changes = {"method.most_teachers": 1, "train.epochs": 1, "additions.average": False}
    method = taught(tiny_system(changes=changes), toy_tasks[:3])
    assert len(method.transfer) == 3
    assert sum(share == 0.0 for share in method.transfer) == 1
    assert sum(method.transfer) == pytest.approx(1.0, abs=1e-5)


def test_enough_teachers_are_all_teachers(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    changes = {"train.epochs": 1, "additions.average": False}
    few = taught(tiny_system(changes=changes | {"method.most_teachers": 9}), toy_tasks[:3])
    everyone = taught(tiny_system(changes=changes), toy_tasks[:3])
    for name, tensor in everyone.tensors().items():
        assert torch.equal(tensor, few.tensors()[name]), name


def test_no_teachers_at_all_is_another_setting() -> None:
    with pytest.raises(InputError, match="most_teachers is 0"):
        ClassicConfig(most_teachers=0)


def test_low_precision_is_for_training_only(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    low = build(tiny_system(changes={"train.precision": "bfloat16"}), 0).model
    full = build(tiny_system(changes={"train.precision": "float32"}), 0).model
    for model in (low, full):
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    batch = full.backbone.collate(toy_tasks[0].train[:4])
    assert torch.equal(low.eval()(batch).logits, full.eval()(batch).logits)
    trained, exact = low.train()(batch).features, full.train()(batch).features
    assert trained.dtype == torch.float32
    assert not torch.equal(trained, exact)
    assert torch.allclose(trained, exact, atol=0.1)


# --- teachers are the old models ---


@pytest.mark.parametrize("average", [True, False], ids=["averaged", "protected"])
def test_a_teacher_says_what_that_version_answered(
    average: bool, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    """What a version answered on fixed texts is written down then, and compared when it teaches the fourth task."""
    config = tiny_system(changes={"additions.average": average, "train.learning_rate": 5e-3})
    method = build(config, 0)
    assert isinstance(method, Classic)
    texts, answered = toy_tasks[3].train, []
    for task in toy_tasks[:3]:
        learn_task(method, task, config.train, Seeds(0))
        method.eval()
        with torch.no_grad():
            answered.append(method.logits(method.model.backbone.collate(texts)))
    method.start_task(toy_tasks[3], Seeds(0))
    assert method.teachers.consulted == ([2] if average else [0, 1, 2])
    for place, teacher in enumerate(method.teachers.consulted):
        torch.testing.assert_close(method.teachers.logits[:, place], answered[teacher], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(answered[0], answered[2], atol=1e-3)  # they do differ from one another


def test_a_teacher_knows_the_classes_of_the_tasks_up_to_its_own(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    order = (toy_tasks[1], toy_tasks[0])  # the first lacks "neutral"
    method = taught(tiny_system(changes={"train.epochs": 1, "additions.average": False}), order)
    method.start_task(toy_tasks[2], Seeds(0))
    assert method.teachers.seen().tolist() == [[True, True, False], [True, True, True]]
