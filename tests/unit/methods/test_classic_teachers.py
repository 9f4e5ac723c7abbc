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
    config = tiny_system(changes={"method.most_teachers": 1, "train.epochs": 1, "method.units": "protected"})
    method = taught(config, toy_tasks[:2])
    assert method.places.shape == (2, method.model.backbone.features)
    for number, old in enumerate(toy_tasks[:2]):
        method.start_task(replace(old, name="again"), Seeds(0))
        assert method.consulted == [number]
        assert method._teacher_features.shape[1] == 1
        assert torch.equal(method._teacher_features[:, 0], method.teachers(old.train)[0][:, 0])
        method.in_task = False


def test_transfer_tells_of_every_task_and_gives_nothing_to_those_not_asked(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    method = taught(tiny_system(changes={"method.most_teachers": 1, "train.epochs": 1}), toy_tasks[:3])
    assert len(method.transfer) == 3
    assert sum(share == 0.0 for share in method.transfer) == 1
    assert sum(method.transfer) == pytest.approx(1.0, abs=1e-5)


def test_enough_teachers_are_all_teachers(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    few = taught(tiny_system(changes={"method.most_teachers": 9, "train.epochs": 1}), toy_tasks[:3])
    everyone = taught(tiny_system(changes={"train.epochs": 1}), toy_tasks[:3])
    for name, tensor in everyone.tensors().items():
        assert torch.equal(tensor, few.tensors()[name]), name


def test_no_teachers_at_all_is_another_setting() -> None:
    with pytest.raises(InputError, match="most_teachers is 0"):
        ClassicConfig(most_teachers=0)


def test_low_precision_is_for_training_only(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    low = build(tiny_system(changes={"train.precision": "bfloat16"}), 0).model
    full = build(tiny_system(), 0).model
    for model in (low, full):
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    batch = full.backbone.collate(toy_tasks[0].train[:4])
    assert torch.equal(low.eval()(batch).logits, full.eval()(batch).logits)
    assert torch.equal(low.train()(batch).features, low.eval()(batch, as_trained=True).features)
    trained, exact = low.train()(batch).features, full.train()(batch).features
    assert trained.dtype == torch.float32
    assert not torch.equal(trained, exact)
    assert torch.allclose(trained, exact, atol=0.1)
