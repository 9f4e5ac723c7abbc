"""The one picture for a page: who ended where, what is missing, small, the same every time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.figures.picture import Picture, draw_picture
from classic.benchmark.runs.suites import Selection
from classic.errors import InputError

CLASSIC, NCL, OWM, ONE = (f"{method}@bert_adapter" for method in ("classic", "ncl", "owm", "one"))
CHOSEN = Selection(systems=(ONE, NCL, OWM, CLASSIC), orders=(0, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CLASSIC on both orders, NCL on one, ONE on one, OWM not at all."""
    path = tmp_path_factory.mktemp("results")
    for order, score in enumerate((0.8, 0.9)):
        write_result(
            path, f"{CLASSIC}/dil", [(score, score)], order=order, macro_f1=[(0.5, 0.5)], own_f1=[(score, score)]
        )
    write_result(path, f"{NCL}/dil", [(0.9, 0.9)], own_f1=[(0.6, 0.6)])
    write_result(path, f"{ONE}/til", [(0.7, 0.7)])
    return path


def words(picture: Picture) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.data.decode())


def test_learners_stand_by_own_classes_then_the_others_and_what_is_missing_says_so(folder: Path) -> None:
    said = words(draw_picture("main", CHOSEN, folder, form="svg"))
    rows = [word for word in said if word.partition(" (1 of")[0].endswith(", bert_adapter")]
    assert rows == [
        "CLASSIC, bert_adapter",
        "NCL, bert_adapter (1 of 2)",
        "OWM, bert_adapter",
        "CLASSIC (forward), bert_adapter",
        "ONE, bert_adapter (1 of 2)",
    ]
    assert said.count("not run") == 2  # OWM, in both panels
    assert {"accuracy", "macro-F1", "own F1", "macro-F1 as in the paper", "single orders"} <= set(said)
    assert any(word.startswith("4 of 8 runs; budget quick (few passes; ") and "; order 0–1" in word for word in said)


def test_it_tells_those_who_do_not_see_it(folder: Path) -> None:
    assert draw_picture("main", CHOSEN, folder, form="svg").says == (
        "Final accuracy and macro-F1 of 2 continual learners. Best accuracy: NCL on bert_adapter, 0.9000. "
        "Best own F1: CLASSIC on bert_adapter, 0.8500. "
        "CLASSIC: accuracy 0.8500, own F1 0.8500. 1 not run."
    )


def test_a_classic_that_is_best_by_both_is_told_once(tmp_path: Path) -> None:
    for system, score in (("classic@bert/dil", 0.9), ("ncl@bert/dil", 0.8)):
        write_result(tmp_path, system, [(score, score)])
    chosen = Selection(systems=("classic@bert", "ncl@bert"))
    assert draw_picture("main", chosen, tmp_path, form="svg").says == (
        "Final accuracy and macro-F1 of 2 continual learners. Best accuracy: CLASSIC on bert, 0.9000. "
        "Best own F1: CLASSIC on bert, 0.9000."
    )


def test_the_whole_table_is_a_small_file_and_the_same_every_time(folder: Path) -> None:
    picture = draw_picture("main", Selection(orders=(0, 1)), folder)
    assert picture.data.startswith(b"\x89PNG")
    assert len(picture.data) < 150_000
    assert draw_picture("main", Selection(orders=(0, 1)), folder) == picture


def test_short_is_short(folder: Path) -> None:
    long, short = (draw_picture("main", Selection(), folder, short=short, form="svg") for short in (False, True))
    assert any(word.startswith("LAMOL") for word in words(long))
    assert not any(word.startswith(("LAMOL", "NCL, w2v")) for word in words(short))
    assert short.command == "classic bench picture main --short"


def test_a_page_shows_it_from_where_it_is(folder: Path, tmp_path: Path) -> None:
    picture = draw_picture("main", CHOSEN, folder, form="svg")
    text = picture.markdown(tmp_path / "docs" / "images" / "main.svg", tmp_path / "README.md")
    assert text.startswith("![Final accuracy")
    assert "](docs/images/main.svg)" in text
    assert text.endswith("--orders 0-1 -o docs/images/main.svg`.")
    inside = picture.markdown(tmp_path / "docs" / "images" / "main.svg", tmp_path / "docs" / "benchmark.md")
    assert "](images/main.svg)" in inside


@pytest.mark.parametrize(
    ("table", "form", "orders", "says"),
    [("cost", "png", (0,), "no final scores"), ("main", "jpg", (0,), "jpg"), ("main", "png", (4,), "no finished run")],
)
def test_what_cannot_be_drawn_is_refused(
    table: str, form: str, orders: tuple[int, ...], says: str, folder: Path
) -> None:
    with pytest.raises(InputError, match=says):
        draw_picture(table, Selection(orders=orders), folder, form=form)
