"""The gate: the answers the service gives, every domain judged, its own included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classic.learning.learner import load_learner
from classic.learning.teach import teach
from classic.prediction.predictor import Predictor
from classic.serving import gate
from classic.serving.gate import compare
from classic.store.store import Store
from classic.types import POLARITIES, Example, Task


@pytest.fixture
def taught(taught_store: Path, toy_tasks: tuple[Task, ...]) -> tuple[Store, Task]:
    store, task = Store.open(taught_store), toy_tasks[3]
    teach(store, task)
    return store, task


def run(store: Store, task: Task, tests: dict[int, Path] | None = None, margin: float = 1.0) -> dict[str, Any]:
    return compare(store, load_learner(store), task, tests or {}, margin)[0]


def rote(monkeypatch: pytest.MonkeyPatch, columns: dict[int, int]) -> None:
    """Makes each version answer one class, whatever is asked."""
    monkeypatch.setattr(gate, "_answers", lambda predictor, examples, _: [columns[predictor.version]] * len(examples))


def rows_of(task: Task, column: int, number: int) -> Task:
    """A task whose held-out rows are all of one class."""
    rows = tuple(replace(example, polarity=POLARITIES[column]) for example in task.test * 40)[:number]
    return replace(task, valid=(), test=rows)


def test_a_lesson_that_spoils_its_own_domain_is_held_back(
    taught: tuple[Store, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From all right to all wrong on its own rows: it got no verdict at all."""
    store, task = taught
    rote(monkeypatch, {1: 1, 2: 1, 3: 0, 4: 1})
    found = run(store, rows_of(task, 0, 100))
    assert found["new"]["verdict"] == "fell" and not found["passed"] and found["verdict"] == "fell"
    assert [row["passed"] for row in found["domains"]] == [True, True, False]  # the model of 3 is the live one


def test_the_teacher_comparison_knows_lost_from_gained_and_from_wrong(
    taught: tuple[Store, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, task = taught
    # Truth is 0 everywhere. The model of 1 had it right and it is lost, 2 had it wrong as the new one has, 3 otherwise.
    rote(monkeypatch, {1: 0, 2: 1, 3: 2, 4: 1})
    rows = run(store, rows_of(task, 0, 400))["domains"]
    assert [(row["fell"], row["verdict"]) for row in rows] == [(100.0, "fell"), (0.0, "kept"), (0.0, "kept")]
    assert [row["disagreement"] for row in rows] == [1.0, 0.0, 1.0]
    rote(monkeypatch, {1: 1, 2: 1, 3: 1, 4: 0})  # and turned round: all is gained, nothing lost
    found = run(store, rows_of(task, 0, 400))
    assert [row["fell"] for row in found["domains"]] == [0.0] * 3 and found["verdict"] == "kept"


def test_few_rows_are_said_to_be_few_and_the_basis_is_named(taught: tuple[Store, Task]) -> None:
    store, task = taught
    found = run(store, task)
    assert {row["basis"] for row in found["domains"]} == {gate.TEACHER}
    assert found["new"]["basis"] == gate.OWN_ROWS
    for row in found["domains"]:
        low, high = row["interval"]
        assert low <= row["fell"] <= high and (row["verdict"] == "kept") == (high <= 1.0)
    assert found["verdict"] != "kept"  # 24 rows cannot show that less than a point was lost
    assert run(store, task, margin=100.0)["verdict"] == "kept"


def test_the_answers_are_those_the_service_gives(taught: tuple[Store, Task], tmp_path: Path) -> None:
    """A gate that asked in another way than the service does would compare other answers."""
    store, task = taught
    sentence = "the screen is good good good but the soup is bad bad bad"
    examples = tuple(Example(sentence, aspect, p) for aspect, p in zip(("screen", "soup"), POLARITIES, strict=False))
    asked: list[list[Example]] = []
    answer = Predictor.answer

    def listen(self: Predictor, examples: list[Example], domain: str | None, batch_size: int) -> Any:
        asked.append(examples)
        return answer(self, examples, domain, batch_size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Predictor, "answer", listen)
        run(store, replace(task, valid=(), test=examples * 6))
    assert asked and all(len(each) == 12 for each in asked)
