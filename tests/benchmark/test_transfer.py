"""Backward and forward transfer and forgetting per task, from matrices small enough for the head."""

from __future__ import annotations

from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables import transfer
from classic.benchmark.tables.rows import TableRow, rows_of

NCL = "ncl@bert_adapter/dil"


def only_row(folder: Path, system: str = NCL, **chosen: tuple[int, ...]) -> TableRow:
    return rows_of("main", Selection(systems=(system,), **chosen), folder)[0]


def test_backward_transfer_is_the_end_minus_the_diagonal_but_for_the_last_task(tmp_path: Path) -> None:
    write_result(tmp_path, NCL, [(0.9, 0.7), (0.5, 0.6), (0.8, 0.8)])
    found = transfer.backward_transfer(only_row(tmp_path), "accuracy")
    assert found == pytest.approx({"camera": -0.2, "phone": 0.1})
    # The mean is ResultMatrix's, which is Avalanche's.
    assert sum(found.values()) / 2 == pytest.approx(only_row(tmp_path).runs[0].matrix.backward_transfer)


def test_means_are_over_the_runs_in_which_a_task_was_not_last(tmp_path: Path) -> None:
    write_result(tmp_path, NCL, [(0.9, 0.7), (0.5, 0.5)], tasks=["camera", "phone"])
    write_result(tmp_path, NCL, [(0.4, 0.7), (0.5, 0.5)], order=1, tasks=["phone", "camera"])
    found = transfer.backward_transfer(only_row(tmp_path, orders=(0, 1)), "accuracy")
    assert found == pytest.approx({"camera": -0.2, "phone": 0.3})


def test_forgetting_and_curves_need_every_row(tmp_path: Path) -> None:
    write_result(tmp_path, NCL, [(0.9, 0.7), (0.5, 0.6), (0.8, 0.8)])
    assert transfer.forgetting(only_row(tmp_path), "accuracy") == {}
    assert transfer.learning_curve(only_row(tmp_path), "accuracy") == []
    rows = [[0.8, None, None], [0.9, 0.5, None], [0.7, 0.6, 0.8]]
    matrix = {"tasks": ["a", "b", "c"], "accuracy": rows, "macro_f1": rows, "own_f1": rows}
    write_result(tmp_path, NCL, [(0.0, 0.0)] * 3, finished="2026-03-01T00:00:00Z", matrix=matrix)
    # The best before the end is 0.9, which came after b was learned; the diagonal says 0.8.
    assert transfer.forgetting(only_row(tmp_path), "accuracy") == pytest.approx({"a": 0.2, "b": -0.1})
    assert transfer.backward_transfer(only_row(tmp_path), "accuracy") == pytest.approx({"a": -0.1, "b": 0.1})
    assert transfer.learning_curve(only_row(tmp_path), "accuracy") == pytest.approx([0.8, 0.7, 0.7])


def test_forward_transfer_is_the_diagonal_minus_one(tmp_path: Path) -> None:
    write_result(tmp_path, NCL, [(0.9, 0.1), (0.5, 0.1), (0.8, 0.8)])
    write_result(tmp_path, "one@bert_adapter/til", [(0.7, 0.7), (0.6, 0.6)])
    alone = only_row(tmp_path, "one@bert_adapter/til")
    assert transfer.forward_transfer(only_row(tmp_path), alone, "accuracy") == pytest.approx(
        {"camera": 0.2, "phone": -0.1}
    )
