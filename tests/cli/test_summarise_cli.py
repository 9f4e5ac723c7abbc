from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from classic.cli.answerers import opener
from classic.cli.main import app
from classic.errors import ClassicError, InputError
from classic.runtime.answering import Answering
from fake_finder import FakeFinder


@pytest.fixture(autouse=True)
def finder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finder by word lists instead of a model, and spellings only."""
    monkeypatch.setattr("classic.cli.summarise.opener", lambda *_, **__: (FakeFinder, {}))
    monkeypatch.setattr("classic.summary.nearness.nearness", lambda: None)


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "cameras.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["id", "review", "date", "product"])
        for number in range(40):
            text = "The lens is superb. The menu is confusing." if number % 4 else ""
            table.writerow([number, text, f"2024-{1 + number % 12:02}-01", "AB"[number % 2]])
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["summarise", *map(str, arguments)])


def test_writes_the_page_and_says_what_it_took_for_what(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(reviews)
    assert result.exit_code == 0, result.exception
    assert "30 reviews from column 'review', dates from 'date', products from 'product'" in result.stderr
    assert "10 rows without a text are left out" in result.stderr
    assert "wrote summary.html: 2 aspects in 60 mentions of 30 reviews" in result.stdout
    page = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert "<title>cameras</title>" in page and "How it changed" in page and "By product" in page


def test_several_forms_at_once(reviews: Path, tmp_path: Path) -> None:
    result = run(reviews, "-o", tmp_path / "s.json", "-o", tmp_path / "s.csv", "--title", "May", "--least", 1)
    assert result.exit_code == 0, result.exception
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["title"] == "May" and told["reviews"] == 30
    assert {each["aspect"]: each["counts"]["positive"] for each in told["aspects"]} == {"lens": 30, "menu": 0}
    assert (tmp_path / "s.csv").read_text().startswith("aspect,")


def test_few_reviews_are_not_an_empty_page_without_a_word(tmp_path: Path) -> None:
    reviews, page = tmp_path / "few.txt", tmp_path / "few.html"
    reviews.write_text("The lens is superb.\nA sharp lens.\nThe menu is confusing.\n")
    result = run(reviews, "-o", page)
    assert "no aspect is mentioned 5 times or more; --least 1 shows rarer ones" in result.stderr
    assert "3 mentions were found of rarer ones" in page.read_text()
    assert "--least" not in run(reviews, "-o", page, "--least", 2).stderr
    assert "1 name with fewer than 2 mentions (1 in all) is not shown" in page.read_text()


def test_a_sample_and_columns_that_are_named(reviews: Path, tmp_path: Path) -> None:
    options = ["--sample", 6, "--date", "", "--product", "id", "--text", "review"]
    result = run(tmp_path / "some.store", reviews, "-o", tmp_path / "s.json", *options)
    assert result.exit_code == 0, result.exception
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["reviews"] == 6
    assert told["columns"] == {"text": "review", "date": None, "product": "id"}


def test_what_is_wrong_is_said_before_any_work(reviews: Path, tmp_path: Path) -> None:
    for arguments in (
        [reviews, "-o", tmp_path / "s.pdf"],
        [reviews, "--text", "body"],
        [tmp_path],
        [tmp_path / "nowhere.csv"],
        [reviews, "-o", reviews],
    ):
        result = run(*arguments)
        assert isinstance(result.exception, InputError) and result.exception.fix, arguments


def test_a_missing_file_is_named_even_if_there_is_an_older_page(tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text("old")
    result = run(tmp_path / "nowhere.csv", "-o", tmp_path / "old.html")
    assert isinstance(result.exception, ClassicError), result.exception
    assert (tmp_path / "old.html").read_text() == "old"


def test_a_version_of_no_store_is_refused() -> None:
    with pytest.raises(InputError, match="no store whose version 7"):
        opener(None, 7, None, "cpu", told=False)


def test_a_store_that_cannot_find_says_so(reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind(FakeFinder):
        mark = Answering.mark

    monkeypatch.setattr("classic.cli.summarise.opener", lambda *_, **__: (Blind, {}))
    result = run(reviews, "-o", tmp_path / "s.html")
    assert isinstance(result.exception, InputError) and "no finder" in str(result.exception)
    assert not (tmp_path / "s.html").exists()
