"""Pictures and the page: there, not empty, with the words on them that a reader needs, the same every time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.figures.page import render_page
from classic.benchmark.figures.plots import draw_all
from classic.benchmark.runs.suites import Selection
from classic.errors import InputError

CLASSIC, NCL, OWM, ONE = (f"{method}@bert_adapter" for method in ("classic", "ncl", "owm", "one"))
CHOSEN = Selection(systems=(NCL, OWM, CLASSIC))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CLASSIC with all it can tell, NCL, OWM tested after every task, and ONE, which nobody asked for."""
    path = tmp_path_factory.mktemp("results")
    news_and_free = ((0.5, 0.5), (0.1, 0.4), (0.0, 0.4))
    capacity = [{"used": 0.5, "new": new, "shared": 0.5 - new, "free": free} for new, free in news_and_free]
    write_result(
        path,
        f"{CLASSIC}/dil",
        [(0.9, 0.8), (0.7, 0.7), (0.6, 0.6)],
        of_tasks={
            "capacity": capacity,
            "overlap": [[1.0], [0.8, 1.0], [0.5, 0.5, 1.0]],
            "transfer": [[], [0.25, 0.75], [0.1, 0.2, 0.7]],
            "masks": [{"opened": 3, "closed": 5, "reused": count} for count in (0, 40, 50)],
            "pulls": [{"csc": 0.25}, {"csc": 0.25, "ced": 0.2, "cks": 0.3}, None],
        },
    )
    write_result(path, f"{NCL}/dil", [(0.9, 0.6), (0.8, 0.8), (0.7, 0.7)])
    rows = [[0.8, None], [0.9, 0.5]]
    matrix = {"tasks": ["camera", "phone"], "accuracy": rows, "macro_f1": rows, "own_f1": rows}
    write_result(path, f"{OWM}/dil", [(0.0, 0.0)] * 2, matrix=matrix, cpu_seconds=100.0)
    write_result(path, f"{ONE}/til", [(0.85, 0.85), (0.75, 0.75), (0.7, 0.7)])
    return path


@pytest.fixture(scope="module")
def pictures(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("pictures") / "new"
    return {path.stem: path.read_text(encoding="utf-8") for path in draw_all("main", CHOSEN, folder, out, "svg")}


def test_every_picture_there_are_numbers_for_is_drawn(pictures: dict[str, str]) -> None:
    of_runs = {f"matrix-{each}-dil-order0-seed0-quick" for each in (CLASSIC, NCL, OWM)}
    of_classic = {
        f"{kind}-{CLASSIC}-dil-order0-seed0-quick" for kind in ("attention", "overlap", "capacity", "masks", "pulls")
    }
    measures = ("backward-transfer", "forward-transfer", "forgetting", "curve")
    of_all = {f"{measure}-{metric}" for measure in measures for metric in ("accuracy", "own-classes")}
    assert set(pictures) == of_runs | of_classic | of_all | {"scores", "cost", "forward-and-final-bert_adapter"}


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        ("scores", ["CLASSIC, bert_adapter", "NCL, bert_adapter", "accuracy", "macro-F1", "the paper"]),
        ("cost", ["CLASSIC", "OWM", "CPU seconds of training per task", "own F1"]),
        ("forward-and-final-bert_adapter", ["CLASSIC, order 0", "right after learning", "at the end", "phone"]),
        ("backward-transfer-accuracy", ["NCL, bert_adapter", "camera", "−30.0", "mean"]),
        ("forward-transfer-accuracy", ["CLASSIC, bert_adapter", "+5.0", "−5.0", "phone"]),
        ("forgetting-accuracy", ["OWM, bert_adapter", "−10.0"]),
        ("curve-accuracy", ["OWM, bert_adapter", "tasks learned"]),
        (f"matrix-{CLASSIC}-dil-order0-seed0-quick", ["after learning", "tested on", "90", "80", "70"]),
        (f"attention-{CLASSIC}-dil-order0-seed0-quick", ["attention to", "while learning", "25", "75"]),
        (f"overlap-{CLASSIC}-dil-order0-seed0-quick", ["units of", "are used by", "80", "100"]),
        (f"masks-{CLASSIC}-dil-order0-seed0-quick", ["units", "opened", "closed", "reused", "phone"]),
        (f"pulls-{CLASSIC}-dil-order0-seed0-quick", ["share of the gradient", "csc", "ced", "cks", "phone"]),
        (f"capacity-{CLASSIC}-dil-order0-seed0-quick", ["share of units", "new", "shared with earlier tasks"]),
    ],
)
def test_pictures_say_what_they_show(picture: str, words: list[str], pictures: dict[str, str]) -> None:
    written = re.findall(r"<text[^>]*>([^<]*)</text>", pictures[picture])
    for word in words:
        assert word in written, f"{word!r} is not among {written}"


def test_only_runs_tested_throughout_have_curves(pictures: dict[str, str]) -> None:
    assert "NCL" not in pictures["curve-accuracy"]
    assert "NCL" not in pictures["forgetting-accuracy"]


def test_equal_files_give_equal_pictures(folder: Path, pictures: dict[str, str], tmp_path: Path) -> None:
    for path in draw_all("main", Selection(systems=(CLASSIC,)), folder, tmp_path, "svg"):
        if path.stem.startswith(("matrix", "capacity", "attention")):
            assert path.read_text(encoding="utf-8") == pictures[path.stem]


def test_png_is_the_default_and_separate_networks_have_nothing_to_transfer(tmp_path: Path) -> None:
    write_result(tmp_path / "results", "one@bert_adapter/til", [(0.5, 0.5)] * 3)
    drawn = list(draw_all("main", Selection(systems=(ONE,)), tmp_path / "results", tmp_path / "out"))
    assert {path.stem for path in drawn} == {"scores", "cost", f"matrix-{ONE}-til-order0-seed0-quick"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_what_cannot_be_drawn_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished run"):
        list(draw_all("main", Selection(orders=(3,)), folder, tmp_path))
    with pytest.raises(InputError, match="no finished trial"):
        list(draw_all("search", Selection(), folder, tmp_path))
    with pytest.raises(InputError, match="jpg"):
        list(draw_all("main", CHOSEN, folder, tmp_path, "jpg"))


def test_the_page_is_complete_in_itself_and_the_same_every_time(folder: Path) -> None:
    page = render_page("main", CHOSEN, folder)
    assert page == render_page("main", CHOSEN, folder)
    ours = page.replace(re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0], "")
    assert len(page) - len(ours) > 1_000_000  # the library is inside
    assert not re.search(r"(src|href)\s*=|url\(|@import|https?:", ours)
    assert "default-src 'none'" in ours
    assert "<th" in ours


def test_the_page_has_the_numbers_of_every_run(folder: Path) -> None:
    page = render_page("main", CHOSEN, folder)
    numbers = json.loads(re.findall(r'id="numbers">(.*?)</script>', page, re.DOTALL)[0])
    titles = [chart["title"] for chart in numbers["charts"]]
    assert {"Scores against cost", "Beside the paper", "Backward transfer, accuracy"} <= set(titles)
    assert {"Forward transfer, accuracy", "Forgetting, accuracy", "Learning curve, accuracy"} <= set(titles)
    runs = {run["name"]: [chart["title"] for chart in run["charts"]] for run in numbers["runs"]}
    assert set(runs) == {f"{each}, bert_adapter, order 0, seed 0" for each in ("CLASSIC", "NCL", "OWM")}
    assert "Units in use" in runs["CLASSIC, bert_adapter, order 0, seed 0"]
    assert "Units in use" not in runs["NCL, bert_adapter, order 0, seed 0"]
    matrix = numbers["runs"][2]["charts"][0]["data"][0]["z"]
    assert matrix == [[0.9, None, None], [None, 0.7, None], [0.8, 0.7, 0.6]]


def test_a_name_cannot_become_part_of_the_page(tmp_path: Path) -> None:
    write_result(tmp_path, f"{NCL}/dil", [(0.5, 0.5)], tasks=["</script><b>x"])
    page = render_page("main", Selection(systems=(NCL,)), tmp_path)
    assert "<b>x" not in page
