"""The examples in docstrings do what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from classic.learning.learner import open_or_create
from classic.prediction.predictor import Predictor
from classic.systems.system import SystemConfig

MODULES = (
    "data.memory",
    "data.tasks",
    "estimator",
    "evaluation.details",
    "evaluation.metrics",
    "learning.teach",
    "prediction.testing",
    "runtime.answering",
    "types",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(
    name: str, taught_path: Path, quick_system: SystemConfig, tiny_encoder: Path, tmp_path: Path
) -> None:
    module = import_module(f"classic.{name}")
    known = {
        "predictor": Predictor.open(taught_path),
        "store": open_or_create(tmp_path / "toy.store", quick_system),
        "tiny": {"backbone.encoder": str(tiny_encoder), "backbone.width": 16, "train.epochs": 1},
    }
    found = [test for test in doctest.DocTestFinder().find(module, extraglobs=known) if test.examples]
    assert found, "no example: take the module off the list"
    runner = doctest.DocTestRunner()
    for test in found:
        said: list[str] = []
        assert runner.run(test, out=said.append).failed == 0, "".join(said)
