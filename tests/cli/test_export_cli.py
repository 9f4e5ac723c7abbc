"""`classic export`, and `classic predict` from what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from classic.cli.main import app
from classic.data import write_examples
from classic.errors import InputError
from classic.export.parity import ParityError
from classic.types import Task

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def classic(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments), "--threads", "1"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def test_set(tmp_path_factory: pytest.TempPathFactory, toy_tasks: tuple[Task, ...]) -> Path:
    file = tmp_path_factory.mktemp("texts") / "screen.csv"
    write_examples(toy_tasks[0].test, file)
    return file


def test_export_says_what_it_compared_and_predict_takes_the_folder(
    taught_path: Path, tmp_path: Path, test_set: Path
) -> None:
    out = tmp_path / "toy.onnx"
    told = classic("export", taught_path, "-o", out, "--on", f"screen={test_set}")
    assert "answers that changed           0 of 12" in told
    assert "the test sets that were given" in told
    assert "own F1   " in told
    assert "macro-F1" not in classic("export", "--help")
    whole, answers = tmp_path / "store.csv", tmp_path / "export.csv"
    classic("predict", taught_path, test_set, "-o", whole)
    classic("predict", out, test_set, "-o", answers)
    rows = [[line.split(",")[:3] for line in file.read_text().splitlines()] for file in (whole, answers)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 13


def test_without_texts_the_demo_domains_are_asked_and_said_to_be(taught_path: Path, tmp_path: Path) -> None:
    told = json.loads(classic("export", taught_path, "-o", tmp_path / "out", "--json"))
    assert "demo domains" in told["parity"]["texts"]
    assert told["parity"]["flips"] == 0


def test_a_limit_that_cannot_be_met_leaves_nothing(taught_path: Path, tmp_path: Path, test_set: Path) -> None:
    with pytest.raises(ParityError, match="nothing was written"):
        classic("export", taught_path, "-o", tmp_path / "out", "--on", test_set, "--max-gap", "0")
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_told(taught_path: Path, tmp_path: Path, test_set: Path) -> None:
    classic("export", taught_path, "-o", tmp_path / "out", "--on", test_set)
    with pytest.raises(InputError, match="holds one version"):
        classic("predict", tmp_path / "out", "a soup", "--aspect", "soup", "--version", "1")
    with pytest.raises(InputError, match="engine 'spark'"):
        classic("predict", tmp_path / "out", test_set, "-o", tmp_path / "a.csv", "--engine", "spark")
    with pytest.raises(InputError, match="files into files"):
        classic("predict", tmp_path / "out", test_set, "--engine", "ray")
    with pytest.raises(InputError, match="none of the paper's domains"):
        classic("export", taught_path, "-o", tmp_path / "other", "--on", "asc19")
