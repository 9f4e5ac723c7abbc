"""Trials of a search: how far each setting moved the score, and the pictures that show it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from result_files import write_result

from classic.benchmark.figures.page import render_page
from classic.benchmark.figures.plots import draw_all
from classic.benchmark.runs.suites import Selection
from classic.benchmark.runs.trials import searches_of, settings_of, trials_of

CLASSIC = "classic@bert_adapter/dil"
TRIED = [(1.0, 32, "features"), (1.0, 32, "logits"), (1.0, 64, "features")]
TRIED += [(0.5, 64, "logits"), (0.5, 128, "features"), (0.5, 128, "logits")]


def write_trial(folder: Path, score: float, changes: dict[str, Any], order: int = 0) -> None:
    spec = {"valid": True, "first": 1, "changes": changes}
    name = f"{len(list(folder.glob('*.json')))}.json"
    write_result(folder, CLASSIC, [(score, score)], order=order, spec=spec, name=name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Only the temperature is worth anything: 0.1. The high one was tried with the smaller batches."""
    path = tmp_path_factory.mktemp("trials")
    for temperature, size, contrast in TRIED:
        changes = {"method.temperature": temperature, "train.batch_size": size, "method.contrast": contrast}
        write_trial(path, 0.8 if temperature == 1.0 else 0.7, changes)
    write_result(path, CLASSIC, [(0.9, 0.9)])  # no trial
    return path


def test_no_setting_gets_the_merit_of_another(folder: Path) -> None:
    found = settings_of(trials_of(Selection(), folder))
    assert found[0].name == "temperature"
    reaches = {setting.name: setting.reach for setting in found}
    assert reaches == pytest.approx({"temperature": 0.1, "batch_size": 0.0, "contrast": 0.0}, abs=1e-9)
    assert found[0].levels == pytest.approx({"0.5": 0.7, "1": 0.8})


def test_values_stand_in_their_natural_order_and_what_was_not_changed_last(tmp_path: Path) -> None:
    for score, value in enumerate((128, 8, 16)):
        write_trial(tmp_path, score / 10, {"train.batch_size": value})
    write_trial(tmp_path, 0.5, {"train.epochs": 3})
    settings = {setting.name: setting for setting in settings_of(trials_of(Selection(), tmp_path))}
    assert list(settings["batch_size"].levels) == ["8", "16", "128", "—"]


def test_only_trials_on_the_same_tasks_are_compared(tmp_path: Path) -> None:
    for order, score in ((0, 0.5), (1, 0.9), (0, 0.6)):
        write_trial(tmp_path, score, {"train.epochs": order + int(10 * score)}, order)
    found = searches_of(trials_of(Selection(), tmp_path))
    assert {name: len(trials) for name, trials in found.items()} == {
        "classic@bert_adapter-dil-order1-seed0-quick-first1-valid": 1,
        "classic@bert_adapter-dil-order0-seed0-quick-first1-valid": 2,
    }
    drawn = [path.stem for path in draw_all("search", Selection(orders=(0,)), tmp_path, tmp_path / "out")]
    assert drawn == ["search-classic@bert_adapter-dil-order0-seed0-quick-first1-valid"]


def test_the_picture_says_what_moved_the_score_how_far(folder: Path, tmp_path: Path) -> None:
    (path,) = draw_all("search", Selection(), folder, tmp_path, "svg")
    text = path.read_text(encoding="utf-8")
    said = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    panels = [word for word in said if word in ("temperature", "batch_size", "contrast")]
    assert panels[0] == "temperature"
    assert "moves 10.0 points" in said
    assert said.count("moves 0.0 points") == 2
    assert "6 trials of CLASSIC, bert_adapter, order 0, seed 0, 1 task, validation sets" in text
    (again,) = draw_all("search", Selection(), folder, tmp_path / "again", "svg")
    assert again.read_text(encoding="utf-8") == text


def test_the_page_has_every_trial_as_a_point_in_every_panel_and_to_choose(folder: Path) -> None:
    page = render_page("search", Selection(), folder)
    numbers = json.loads(re.findall(r'id="numbers">(.*?)</script>', page, re.DOTALL)[0])
    (chart,) = numbers["charts"]
    points = [trace for trace in chart["data"] if trace["mode"] == "markers"]
    assert len(points) == 3
    assert all(trace["y"] == [0.8] * 3 + [0.7] * 3 for trace in points)
    assert chart["layout"]["annotations"][0]["text"] == "<b>temperature</b><br>moves 10.0 points"
    names = [run["name"] for run in numbers["runs"]]
    assert len(names) == 6
    assert names[0].startswith("0.8000: contrast ")
    assert "One trial" in page


def test_one_trial_alone_moves_nothing(tmp_path: Path) -> None:
    write_trial(tmp_path, 0.5, {"train.epochs": 3})
    (path,) = draw_all("search", Selection(), tmp_path, tmp_path / "out", "svg")
    assert "one value only" in path.read_text(encoding="utf-8")
