"""A sequence of tasks through a store: resumable, and the same numbers however it is tested."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from classic.errors import InputError
from classic.evaluation.matrix import ResultMatrix
from classic.evaluation.scores import expand, score
from classic.learning.sequence import learn_sequence, summary, task_facts, tensors_digest
from classic.learning.testing import confusion
from classic.store.store import Store
from classic.store.versions import Version
from classic.systems.system import SystemConfig
from classic.types import Task

Tasks = tuple[Task, ...]
SCORES = [f"{when}_{metric}" for when in ("final", "forward") for metric in ("accuracy", "macro_f1", "own_f1")]


def scores(matrix: ResultMatrix) -> dict[str, float]:
    return {name: getattr(matrix, name) for name in SCORES}


def same(left: ResultMatrix, right: ResultMatrix) -> bool:
    return repr(left.to_dict()) == repr(right.to_dict())


def test_taken_up_in_the_middle_it_gives_the_same_store_and_matrix(
    tmp_path: Path, taught_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    _, whole = learn_sequence(taught_path, toy_tasks[:3], quick_system)  # learned before: only the scores are read
    learn_sequence(tmp_path / "parts", toy_tasks[:1], quick_system)
    told: list[tuple[int, int]] = []

    def tell(version: Version, matrix: ResultMatrix) -> None:
        told.append((version.number, matrix.learned))

    store, matrix = learn_sequence(tmp_path / "parts", toy_tasks[:3], quick_system, on_task=tell)
    assert store.verify() == Store.open(taught_path).digest()
    assert same(matrix, whole)
    assert told == [(1, 1), (2, 2), (3, 3)]
    assert [store.read_scores(number) for number in (1, 2, 3)] == [
        Store.open(taught_path).read_scores(number) for number in (1, 2, 3)
    ]


def test_a_finished_sequence_is_not_taught_or_tested_again(
    taught_store: Path, quick_system: SystemConfig, toy_tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {file: file.read_bytes() for file in taught_store.rglob("*") if file.is_file()}
    monkeypatch.setattr("classic.learning.teach.learn_task", None)
    monkeypatch.setattr("classic.learning.sequence.confusion", None)
    learn_sequence(taught_store, toy_tasks[:3], quick_system)
    assert {file: file.read_bytes() for file in taught_store.rglob("*") if file.is_file()} == before


def test_lost_scores_are_computed_again_from_the_versions(
    taught_store: Path, taught_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    (taught_store / "scores" / "0002.json").unlink()
    _, again = learn_sequence(taught_store, toy_tasks[:3], quick_system)
    assert Store.open(taught_store).read_scores(2) == Store.open(taught_path).read_scores(2)
    assert same(again, learn_sequence(taught_path, toy_tasks[:3], quick_system)[1])


def test_testing_only_at_the_end_gives_the_same_final_and_forward_scores(
    tmp_path: Path, taught_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    _, every = learn_sequence(taught_path, toy_tasks[:3], quick_system)
    store, last = learn_sequence(tmp_path / "last", toy_tasks[:3], quick_system, rows="last")
    assert store.digest() == Store.open(taught_path).digest()
    assert scores(last) == scores(every)
    assert set(store.read_scores(2)) == {"soup"}
    assert set(store.read_scores(3)) == {"screen", "soup", "lens"}


@pytest.mark.parametrize("change", ["order", "data", "other"])
def test_a_store_of_another_sequence_is_refused(
    taught_store: Path, quick_system: SystemConfig, toy_tasks: Tasks, change: str
) -> None:
    first, second, third = toy_tasks[:3]
    tasks = {
        "order": [second, first, third],
        "data": [first, replace(second, train=second.train[:-2]), third],
        "other": [toy_tasks[3], first],
    }[change]
    digest = Store.open(taught_store).digest()
    with pytest.raises(InputError, match="as its domain"):
        learn_sequence(taught_store, tasks, quick_system)
    assert Store.open(taught_store).verify() == digest


def test_counts_of_answers_are_enough_for_every_score() -> None:
    counted = {"pairs": [[0, 0, 3], [0, 1, 1], [1, 1, 2], [1, 2, 1]]}
    true, said = expand(counted)
    assert (true, said) == ([0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2])
    found = score(counted)
    assert found["accuracy"] == pytest.approx(5 / 7)
    f1 = (2 * 3 / (2 * 3 + 1), 2 * 2 / (2 * 2 + 2))
    assert found["own_f1"] == pytest.approx(sum(f1) / 2)
    assert found["macro_f1"] == pytest.approx(sum(f1) / 3)


def test_a_domain_nobody_taught_can_be_tested(taught_path: Path, toy_tasks: Tasks) -> None:
    from classic.learning.learner import load_learner

    counted = confusion(load_learner(Store.open(taught_path)), "router", toy_tasks[3].test)
    assert len(expand(counted)[0]) == len(toy_tasks[3].test)


def test_the_summary_is_plain_and_complete(taught_path: Path, quick_system: SystemConfig, toy_tasks: Tasks) -> None:
    store, matrix = learn_sequence(taught_path, toy_tasks[:3], quick_system)
    found = summary(store, matrix)
    assert found["scores"] == scores(matrix)
    assert found["tensors_sha256"] == tensors_digest(store.tensors())
    told = task_facts(store, toy_tasks[:3])
    assert list(told) == [task.name for task in toy_tasks[:3]]
    assert found["cpu_seconds"] == pytest.approx(sum(facts["cpu_seconds"] for facts in told.values()))
    for index, facts in enumerate(told.values()):
        assert facts["forward"]["own_f1"] == matrix.value("own_f1", index, index)
        assert facts["final"]["own_f1"] == matrix.value("own_f1", 2, index)
        assert sum(count for _, _, count in facts["final"]["pairs"]) == facts["final"]["examples"]
    assert all(math.isfinite(value) for value in found["scores"].values())
