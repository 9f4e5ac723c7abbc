"""Metrics against scikit-learn, and the constants of the paper."""

from __future__ import annotations

import doctest
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from classic.data import DOMAINS, load_task
from classic.evaluation import accuracy, macro_f1, metrics

pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@settings(max_examples=150, deadline=None)
@given(pairs)
def test_equal_to_scikit_learn(rows: list[tuple[int, int]]) -> None:
    truth, predicted = [row[0] for row in rows], [row[1] for row in rows]
    assert accuracy(truth, predicted) == pytest.approx(accuracy_score(truth, predicted))
    assert macro_f1(truth, predicted) == pytest.approx(f1_score(truth, predicted, average="macro", zero_division=0))
    for labels in ([0, 1], [0, 1, 2]):
        expected = f1_score(truth, predicted, labels=labels, average="macro", zero_division=0)
        assert macro_f1(truth, predicted, labels) == pytest.approx(expected)


def test_docstrings() -> None:
    assert doctest.testmod(metrics).failed == 0


@pytest.mark.parametrize(("truth", "predicted"), [([], []), ([1], [1, 2])])
def test_nothing_to_score(truth: list[int], predicted: list[int]) -> None:
    for metric in (accuracy, macro_f1):
        with pytest.raises(ValueError, match="labels"):
            metric(truth, predicted)


def test_no_classes_are_no_score() -> None:
    with pytest.raises(ValueError, match="at least one label"):
        macro_f1([1], [1], labels=[])


def test_golden_constants(asc19: Path) -> None:
    """The paper prints both pairs as results of systems that learned nothing."""
    scores: dict[str, list[tuple[float, float]]] = {"positive": [], "majority": []}
    for entry in DOMAINS:
        task = load_task(entry.name, asc19 / entry.folder)
        truth = [example.polarity for example in task.test]
        majority = Counter(example.polarity for example in task.train).most_common(1)[0][0]
        for name, label in (("positive", "positive"), ("majority", majority)):
            guess = [label] * len(truth)
            scores[name].append((accuracy(truth, guess), macro_f1(truth, guess)))
    means = {name: tuple(round(sum(c) / 19, 4) for c in zip(*rows, strict=True)) for name, rows in scores.items()}
    assert means == {"positive": (0.7123, 0.3961), "majority": (0.7206, 0.4001)}
