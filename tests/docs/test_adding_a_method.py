"""The page on adding a method is followed to the letter: its file is written, its method learns, and it is what it says."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from classic.learning.sequence import learn_sequence
from classic.methods.base import Method
from classic.seeding import Seeds
from classic.systems.system import METHODS, Part, SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Task

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_method.md"


@pytest.fixture
def anchor(tmp_path: Path) -> Iterator[ModuleType]:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    file = tmp_path / "anchor.py"
    file.write_text(next(block for block in blocks if "class Anchor(Method)" in block), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("anchor", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["anchor"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    METHODS["anchor"] = Part(module.Anchor, module.AnchorConfig)
    yield module
    del METHODS["anchor"], sys.modules["anchor"]


def learn(config: SystemConfig, tasks: tuple[Task, ...]) -> Method:
    method = build(config, 0)
    for task in tasks:
        learn_task(method, task, config.train, Seeds(0))
    return method


def test_the_page_is_short_enough(anchor: ModuleType) -> None:
    assert anchor.__file__ is not None
    assert len(Path(anchor.__file__).read_text(encoding="utf-8").splitlines()) <= 100


def test_the_new_method_learns_through_a_store(
    anchor: ModuleType, tmp_path: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    store, matrix = learn_sequence(tmp_path / "anchor.store", toy_tasks[:2], tiny_system(method="anchor"))
    assert store.domains() == [task.name for task in toy_tasks[:2]]
    assert 0 <= matrix.final_accuracy <= 1
    assert "method/anchor" in store.tensors()


def test_without_its_spring_it_is_naive_learning_and_with_it_weights_move_less(
    anchor: ModuleType, tiny_system: Callable[..., SystemConfig], toy_tasks: tuple[Task, ...]
) -> None:
    naive = learn(tiny_system(method="ncl"), toy_tasks[:2])
    slack = learn(tiny_system(method="anchor", changes={"method.strength": 0.0}), toy_tasks[:2])
    expected = naive.tensors()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in slack.tensors().items() if name != "anchor")
    moved = []
    for strength in (0.0, 100.0):
        config = tiny_system(method="anchor", changes={"method.strength": strength})
        method = build(config, 0)
        learn_task(method, toy_tasks[0], config.train, Seeds(0))
        before = method._flat().detach().clone()
        learn_task(method, toy_tasks[1], config.train, Seeds(0))
        moved.append(float((method._flat().detach() - before).norm()))
    assert moved[1] < moved[0]
