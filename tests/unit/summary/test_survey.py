"""A file before the model is opened: columns, dates, products."""

from __future__ import annotations

import csv
import json
from datetime import date, datetime
from pathlib import Path

import pytest

from classic.errors import DataError, InputError
from classic.summary.dates import Periods, parse_date
from classic.summary.survey import PRODUCTS, iter_reviews, survey


def write(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2024-05-31", date(2024, 5, 31)),
        ("2024/5/31 12:00", date(2024, 5, 31)),
        ("2024-05-31T09:30:00+02:00", date(2024, 5, 31)),
        ("2024-05", date(2024, 5, 1)),
        ("31.05.2024", date(2024, 5, 31)),
        ("31.05.24", date(2024, 5, 31)),
        ("5/31/24", date(2024, 5, 31)),
        ("1.2.99 10:30", date(1999, 2, 1)),
        ("5/31/2024", date(2024, 5, 31)),
        ("05 31, 2024", date(2024, 5, 31)),
        ("31 May 2024", date(2024, 5, 31)),
        ("May 31, 2024", date(2024, 5, 31)),
        ("September 1st, 2024", date(2024, 9, 1)),
        (1717150000, date(2024, 5, 31)),
        ("1717150000000", date(2024, 5, 31)),
        (datetime(2024, 5, 31, 12), date(2024, 5, 31)),
        ("31/5/2024", None),
        ("1834-01-01", None),
        ("9999-12-31", None),
        ("2024-13-01", None),
        ("five stars", None),
        ("5", None),
        (None, None),
        (True, None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_dates_as_people_write_them(cell: object, day: date | None) -> None:
    assert parse_date(cell) == day


@pytest.mark.parametrize(
    ("first", "last", "unit", "count", "label"),
    [
        (date(2024, 5, 1), date(2024, 5, 31), "day", 31, "2024-05-01"),
        (date(2024, 1, 1), date(2024, 5, 31), "week", 22, "2024-01-01"),
        (date(2023, 1, 20), date(2024, 5, 31), "month", 17, "2023-01"),
        (date(2018, 2, 1), date(2024, 5, 31), "quarter", 26, "2018 Q1"),
        (date(2004, 2, 1), date(2024, 5, 31), "year", 21, "2004"),
    ],
)
def test_periods_are_few_and_hold_every_day(first: date, last: date, unit: str, count: int, label: str) -> None:
    periods = Periods.over(first, last)
    assert (periods.unit, len(periods.labels()), periods.labels()[0]) == (unit, count, label)
    assert periods.index(first) == 0 and periods.index(last) == count - 1


@pytest.mark.parametrize(
    ("name", "cell", "found"),
    [
        ("Datum", "31.05.2024", True),
        ("Datum", "31.05.24", False),  # a version, perhaps
        ("Date", "31.05.24", True),
        ("price", "1500000000.5", False),
    ],
)
def test_a_date_is_told_from_a_number(tmp_path: Path, name: str, cell: str, found: bool) -> None:
    rows = [[cell, "The lens is good, and sharp."] for _ in range(8)]
    assert (survey(write(tmp_path / "r.csv", [name, "review"], rows)).columns.date == name) is found


def test_columns_are_found_by_name_and_by_what_is_in_them(tmp_path: Path) -> None:
    rows = [[n, "The lens is good, and sharp.", f"2024-0{1 + n % 3}-01", "AB"[n % 2], f"t{n}"] for n in range(8)]
    found = survey(write(tmp_path / "r.csv", ["id", "reviewText", "when", "asin", "title"], rows))
    assert (found.columns.text, found.columns.date, found.columns.product) == ("reviewText", "when", "asin")
    assert found.products == ("A", "B") and found.periods is not None
    assert [review.period for review in iter_reviews(found)][:3] == [0, 4, 8]  # weeks
    nothing = survey(found.path, date_column="", product="")
    assert nothing.periods is None and nothing.products == ()


@pytest.mark.parametrize("name", ["reviewText", "review_text", "reviewtext", "REVIEW TEXT"])
def test_the_words_of_a_name_may_be_written_in_any_way(tmp_path: Path, name: str) -> None:
    found = survey(write(tmp_path / "r.csv", ["note", name], [["The lens is good, and very sharp indeed.", "Good."]]))
    assert found.columns.text == name


def test_a_text_column_without_a_known_name_is_the_longest(tmp_path: Path) -> None:
    found = survey(write(tmp_path / "r.csv", ["a", "b"], [["x", "The lens is good, and very sharp indeed."]] * 3))
    assert found.columns.text == "b"
    with pytest.raises(InputError, match="no column has reviews"):
        survey(write(tmp_path / "n.csv", ["a", "b"], [["1", "2"]] * 3))


def test_day_and_month_are_told_apart_by_all_rows(tmp_path: Path) -> None:
    rows = [["The lens is good.", "03/04/2024"], ["The lens is bad.", "25/04/2024"]]
    found = survey(write(tmp_path / "r.csv", ["review", "date"], rows))
    assert found.day_first and found.periods is not None
    assert (found.periods.first, found.periods.last, found.undated) == (date(2024, 4, 3), date(2024, 4, 25), 0)


def test_a_date_that_nobody_entered_does_not_stretch_the_time(tmp_path: Path) -> None:
    days: list[list[object]] = [["Good.", f"2024-05-{day:02}"] for day in range(1, 31)] * 4
    strays: list[list[object]] = [["Good.", "1970-01-01"], ["Good.", "2999-12-31"]]
    found = survey(write(tmp_path / "r.csv", ["review", "date"], [*strays, *days]))
    assert found.periods is not None and found.undated == 2
    assert (found.periods.unit, len(found.periods.labels())) == ("day", 30)
    assert [review.period for review in iter_reviews(found)][:3] == [None, None, 0]
    years: list[list[object]] = [["Good.", f"{year}-05-01"] for year in (1990, 2000, 2010, 2024)] * 3
    kept = survey(write(tmp_path / "y.csv", ["review", "date"], years))
    assert kept.undated == 0 and kept.periods is not None and kept.periods.first.year == 1990


def test_rows_without_a_text_are_counted_and_left_out(tmp_path: Path) -> None:
    rows: list[list[object]] = [["", "A"], ["Good lens.", "B"], ["   ", "B"]]
    found = survey(write(tmp_path / "r.csv", ["text", "product"], rows))
    assert (found.reviews, found.empty) == (1, 2)
    assert [(review.line, review.text) for review in iter_reviews(found)] == [(3, "Good lens.")]


def test_the_rarest_products_are_not_shown(tmp_path: Path) -> None:
    rows: list[list[object]] = [["Good.", f"p{n}"] for n in range(2 * PRODUCTS) for _ in range(2 + (n < PRODUCTS))]
    found = survey(write(tmp_path / "r.csv", ["text", "product"], rows))
    assert set(found.products) == {f"p{n}" for n in range(PRODUCTS)}
    assert {review.product for review in iter_reviews(found)} == {*found.products, None}


def test_other_formats(tmp_path: Path) -> None:
    lines = tmp_path / "r.jsonl"
    lines.write_text("".join(json.dumps({"body": f"Good lens {n}.", "stars": n}) + "\n\n" for n in range(3)))
    assert [review.text for review in iter_reviews(survey(lines))] == [f"Good lens {n}." for n in range(3)]
    plain = tmp_path / "r.txt"
    plain.write_text("Good lens, really.\n\nBad menu.\n")
    assert [review.line for review in iter_reviews(survey(plain))] == [1, 3]
    lines.write_text('{"body": "Good \\ud83d lens."}\n')
    assert [review.text for review in iter_reviews(survey(lines))] == ["Good ? lens."]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.csv", "review,date\nGood.,x\n", "has no dates"),
        ("r.csv", "review\n\n", "the file has no rows"),
        ("r.csv", "id,stars\n1,5\n", "--text with one of id, stars"),
        ("r.csv", "review,product\n,\n", "has no review"),
        ("r.csv", "review,date\nGood, really,2024\n", "a row with 3 cells"),
        ("r.jsonl", '{"review": "Good."}\n[1]\n', "no JSON object"),
        ("r.xml", "<reviews/>", "no table of reviews"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        survey(tmp_path / name, date_column="date" if "no dates" in said else None)


def test_a_file_without_rows_is_not_asked_for_a_column(tmp_path: Path) -> None:
    (tmp_path / "headonly.csv").write_text("id,review\n")
    for text in (None, "review"):
        with pytest.raises(InputError, match="the file has no rows") as caught:
            survey(tmp_path / "headonly.csv", text)
        assert "--text" not in caught.value.fix
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError, match="the file is empty") as caught:
        survey(tmp_path / "empty.csv")
    assert "aspect" not in str(caught.value)


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", ["review", "created"], [["Good.", "2024-01-01"]])
    with pytest.raises(InputError, match="'creatd'"):
        survey(path, date_column="creatd")
    with pytest.raises(DataError, match="no such file"):
        survey(tmp_path / "nowhere.csv")
