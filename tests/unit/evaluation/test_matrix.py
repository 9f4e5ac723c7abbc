"""The matrix of results and its summaries."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from classic.errors import InputError
from classic.evaluation import ResultMatrix

LABELS = ["p", "n"]


def filled() -> ResultMatrix:
    """Accuracy [[1], [.5, .75], [.75, .25, 1]]."""
    matrix = ResultMatrix(["a", "b", "c"])
    right = {(0, 0): 4, (1, 0): 2, (1, 1): 3, (2, 0): 3, (2, 1): 1, (2, 2): 4}
    for (t, u), count in right.items():
        truth = ["p", "p", "n", "n"]
        wrong = {"p": "n", "n": "p"}
        matrix.record(t, u, truth, [y if i < count else wrong[y] for i, y in enumerate(truth)], LABELS)
    return matrix


def test_summaries_follow_their_definitions() -> None:
    matrix = filled()
    assert matrix.final_accuracy == pytest.approx((0.75 + 0.25 + 1) / 3)
    assert matrix.forward_accuracy == pytest.approx((1 + 0.75 + 1) / 3)
    assert matrix.curve() == pytest.approx([1, 0.625, 2 / 3])
    assert matrix.forgetting_by_task() == pytest.approx({"a": 0.25, "b": 0.5})
    assert matrix.forgetting == pytest.approx(0.375)
    assert matrix.backward_transfer == pytest.approx(((0.75 - 1) + (0.25 - 0.75)) / 2)
    assert matrix.final_macro_f1 == matrix.final_own_f1


def test_forgetting_takes_the_best_earlier_row_and_transfer_the_diagonal() -> None:
    matrix = ResultMatrix(["a", "b", "c"])
    for t, guess in enumerate((["p", "n"], ["p", "p"], ["p", "n"])):
        for u in range(t + 1):
            matrix.record(t, u, ["p", "p"], guess, LABELS)
    assert matrix.forgetting_by_task() == pytest.approx({"a": 0.5, "b": 0.5})
    assert matrix.backward_transfer == pytest.approx((0 - 0.5) / 2)


def test_a_stray_class_lowers_only_the_papers_f1() -> None:
    matrix = ResultMatrix(["a"])
    matrix.record(0, 0, ["p", "n", "n"], ["p", "n", "neutral"], LABELS)
    assert (matrix.final_macro_f1, matrix.final_own_f1) == pytest.approx((5 / 9, 5 / 6))
    assert matrix.own_f1[0, 0] == matrix.final_own_f1


def test_arrays_are_nan_above_the_diagonal() -> None:
    acc = filled().acc
    assert acc.shape == (3, 3)
    assert math.isnan(acc[0, 1])
    assert acc[2, 1] == 0.25


def test_before_anything_was_learned_and_in_the_middle() -> None:
    matrix = ResultMatrix(["a", "b"])
    assert math.isnan(matrix.final_accuracy)
    matrix.record(0, 0, ["p"], ["p"], LABELS)
    assert matrix.final_accuracy == 1
    assert math.isnan(matrix.forgetting)
    matrix.record(1, 1, ["p"], ["p"], LABELS)
    assert math.isnan(matrix.final_accuracy), "a missing cell must not be skipped silently"


@pytest.mark.parametrize("cell", [(0, 1), (3, 0), (-1, 0), (1, -1)])
def test_cells_outside_the_triangle(cell: tuple[int, int]) -> None:
    with pytest.raises(IndexError):
        ResultMatrix(["a", "b", "c"]).record(*cell, ["p"], ["p"], LABELS)


def test_json_round_trip_is_strict() -> None:
    matrix = filled()
    text = json.dumps(matrix.to_dict(), allow_nan=False)
    again = ResultMatrix.from_dict(json.loads(text))
    assert again.to_dict() == matrix.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": None},
        {"tasks": ["a", "a"]},
        {"accuracy": [[1]]},
        {"macro_f1": None},
        {"extra": 1},
        {"macro_f1": [["x", 1], [1, 1]]},
        {"accuracy": [[float("inf"), None], [1, 1]]},
        {"own_f1": [[1, None], [float("-inf"), 1]]},
        {"own_f1": [[1, None], [float("nan"), 1]]},
    ],
)
def test_wrong_json_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        ResultMatrix.from_dict({**ResultMatrix(["a", "b"]).to_dict(), **change})


def test_a_misspelt_metric_is_told_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown metric 'macro_f2'") as told:
        ResultMatrix(["a"])._of("macro_f2")
    assert "macro_f1" in told.value.fix


def test_table() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(filled().table())
    text = console.export_text()
    assert "75.0" in text
    assert "62.5" in text
    assert "nan" not in text
