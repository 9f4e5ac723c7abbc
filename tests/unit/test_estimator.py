"""The estimator: thin, and not in the way of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

from classic.errors import InputError
from classic.estimator import AspectClassifier
from classic.prediction.predictor import Predictor
from classic.types import Task

Tiny = Callable[[], dict[str, Any]]


@pytest.fixture
def settings(tiny_encoder: Path) -> dict[str, Any]:
    return {"backbone.encoder": str(tiny_encoder), "backbone.width": 16, "train.epochs": 1, "train.batch_size": 8}


def pairs(task: Task) -> tuple[list[tuple[str, str]], list[str]]:
    rows = [*task.train, *task.valid, *task.test]
    return [(row.sentence, row.aspect) for row in rows], [str(row.polarity) for row in rows]


def test_fit_partial_fit_predict(settings: dict[str, Any], toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    model = AspectClassifier(tmp_path / "toy.store", settings=settings)
    X, y = pairs(toy_tasks[0])
    assert model.fit(X, y, domain="screen") is model
    model.partial_fit(*pairs(toy_tasks[1]), domain="soup")
    assert model.domains_ == ["screen", "soup"]
    said, shares = model.predict(X), model.predict_proba(X)
    assert shares.shape == (len(X), 3)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (model.classes_[shares.argmax(axis=1)] == said).all()
    assert model.score(X, y) == pytest.approx(sum(a == b for a, b in zip(said, y, strict=True)) / len(y))
    stored = [str(answer.polarity) for answer in Predictor.open(tmp_path / "toy.store").predict(X)]
    assert stored == said.tolist()
    with pytest.raises(InputError, match="learned already"):
        model.fit(X, y)
    with pytest.raises(InputError, match="labels"):
        model.partial_fit(X, y[:-1], domain="zoom")


def test_it_can_be_cloned_and_begins_anew(settings: dict[str, Any], toy_tasks: tuple[Task, ...]) -> None:
    model = clone(AspectClassifier(settings=settings, seed=3))
    assert model.get_params()["seed"] == 3
    with pytest.raises(InputError, match="nothing is learned"):
        model.predict([("a lid", "lid")])
    X, y = pairs(toy_tasks[0])
    model.fit(X, y, domain="screen").fit(X, y, domain="again")
    assert model.domains_ == ["again"]
    with pytest.raises(InputError, match="unknown setting"):
        model.set_params(epochs=3)
