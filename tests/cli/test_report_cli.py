from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from classic.cli.main import app
from classic.errors import InputError, StoreError
from classic.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two domains, tested on both after the second."""
    made = Store.create(tmp_path / "my.store", {"system": {"method": "ncl"}, "seed": 0}, {"whole/w": torch.zeros(1)})
    for number, name in enumerate(("camera", "phone"), start=1):
        record: dict[str, Any] = {
            "domain": name,
            "domains": ["camera", "phone"][:number],
            "classes": ["positive", "negative"],
            "scores": {"test": {"accuracy": 0.75, "macro_f1": 0.7, "own_f1": 0.7, "examples": 4}},
        }
        with made.lock():
            version = made.publish({"w": torch.full((1,), float(number))}, record, {"seconds": 2.0}, f"# {name}\n")
    pairs = [[0, 0, 1], [0, 1, 1], [1, 1, 2]]
    made.write_scores(version.number, {"camera": {"pairs": pairs}, "phone": {"pairs": pairs}})
    return made.path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_writes_the_page_and_says_where(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    result = run(store, "-o", target, "--title", "May & June")
    assert result.exit_code == 0
    assert str(target) in result.stdout.replace("\n", "")
    page = target.read_text(encoding="utf-8")
    assert "May &amp; June" in page
    assert "camera" in page
    assert "phone" in page


def test_default_name(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(store).exit_code == 0
    assert (tmp_path / "report.html").is_file()


def test_open_shows_the_written_file(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: shown.append(address) or True)
    assert run(store, "-o", tmp_path / "out.html", "--open").exit_code == 0
    assert shown == [(tmp_path / "out.html").resolve().as_uri()]


def test_json_prints_numbers_and_writes_nothing(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(store, "--json")
    numbers = json.loads(result.stdout)
    assert numbers["domains"] == ["camera", "phone"]
    assert numbers["final"]["accuracy"] == 0.75
    assert numbers["backward_transfer"] == 0.0
    assert numbers["free_units"] is None
    assert not (tmp_path / "report.html").exists()


def test_does_not_replace_what_is_no_page(store: Path, tmp_path: Path) -> None:
    data = tmp_path / "reviews.csv"
    data.write_text("precious")
    result = run(store, "-o", data)
    assert isinstance(result.exception, InputError)
    assert data.read_text() == "precious"


def test_says_what_is_wrong(tmp_path: Path) -> None:
    assert isinstance(run(tmp_path / "nothing").exception, StoreError)
    Store.create(tmp_path / "empty", {"system": {}}, {"whole/w": torch.zeros(1)})
    for form in ((), ("--json",)):
        result = run(tmp_path / "empty", "-o", tmp_path / "r.html", *form)
        assert isinstance(result.exception, InputError)
        assert "classic learn" in str(result.exception)


def test_help_has_examples() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "--out" in result.stdout
    assert "classic report" in result.stdout
