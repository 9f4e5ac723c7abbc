"""Evaluation: the answers of predict, counted; on a store, an export or a predictor; files or rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from classic.data import write_examples
from classic.errors import InputError
from classic.evaluation.metrics import accuracy, macro_f1
from classic.prediction.predictor import Predictor
from classic.prediction.testing import evaluate
from classic.types import POLARITIES, Task


def test_scores_are_those_of_the_answers(taught_path: Path, toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    predictor, examples = Predictor.open(taught_path), toy_tasks[0].test
    answers = list(predictor.stream(examples))
    true, said = [e.polarity for e in examples], [a.polarity for a in answers]
    rows = [(e.sentence, e.aspect, str(e.polarity)) for e in examples]
    told: list[int] = []
    found = evaluate(predictor, rows, on_answer=told.append)
    assert (found.accuracy, found.macro_f1) == (accuracy(true, said), pytest.approx(macro_f1(true, said)))
    assert told == list(range(1, len(rows) + 1))
    for row, polarity in zip(found.confusion, POLARITIES, strict=True):
        pairs = [s for t, s in zip(true, said, strict=True) if t is polarity]
        assert row == [pairs.count(each) for each in POLARITIES]
    low, high = found.intervals["accuracy"]
    assert 0 <= low <= found.accuracy <= high <= 1
    write_examples(examples, tmp_path / "test.csv")
    assert evaluate(taught_path, tmp_path / "test.csv") == found
    assert evaluate(predictor, tmp_path) == evaluate(predictor, str(tmp_path)) == found
    assert found.to_dict()["confusion"] == found.confusion


def test_an_export_is_evaluated_too(taught_path: Path, toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from classic.export import export_store
    from classic.store.store import Store

    export_store(Store.open(taught_path), tmp_path / "toy.onnx")
    assert evaluate(tmp_path / "toy.onnx", toy_tasks[0].test) == evaluate(taught_path, toy_tasks[0].test)


def test_a_folder_without_a_test_file_is_refused(taught_path: Path, tmp_path: Path) -> None:
    (tmp_path / "train.csv").touch()
    with pytest.raises(InputError, match="no test file in this folder"):
        evaluate(taught_path, tmp_path)


def test_unlabelled_or_no_data_are_refused(taught_path: Path) -> None:
    for data in ([("the screen", "screen")], []):
        with pytest.raises(InputError):
            evaluate(taught_path, data)
