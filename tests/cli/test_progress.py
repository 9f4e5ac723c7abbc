"""What a person sees while a domain is learned."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from classic.cli.evaluate import show_scores
from classic.cli.progress import RowProgress, TrainingProgress, describe_version
from classic.store.versions import Version
from classic.types import Step


def shown(verbose: bool = False, width: int = 80) -> tuple[Console, TrainingProgress]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, _environ={})
    return console, TrainingProgress(verbose=verbose, console=console)


def line(console: Console, progress: TrainingProgress) -> str:
    with console.capture() as captured:
        console.print(progress._progress.get_renderable())
    (text,) = captured.get().rstrip("\n").split("\n")
    return text


def test_a_line_of_80_columns_tells_domain_epoch_step_and_time_left() -> None:
    console, progress = shown()
    progress.on_start("a very long name of a domain indeed", "train", 100, 1000, 0)
    progress.on_step(Step(0, 41, 100, 998, 1000), {"classification": 0.123, "csc": 1.5, "ced": 2.5, "cks": 3.5})
    text = line(console, progress)
    assert len(text.rstrip()) <= 80
    assert "a very long name of…  epoch 42/100  step 999/1000  left" in text
    assert "0:00" in text or "-:--:--" in text
    assert "classification" not in text


def test_terms_of_the_loss_are_for_those_who_ask() -> None:
    record = {"epoch": 0, "terms": {"csc": 1.5}}
    for verbose in (False, True):
        console, progress = shown(verbose)
        with console.capture() as captured:
            progress.on_epoch(record)
        assert ("csc 1.500" in captured.get()) is verbose


@pytest.mark.parametrize("stage", ["encoding texts", "asking earlier models", "testing"])
def test_what_has_no_steps_is_said_in_words(stage: str) -> None:
    console, progress = shown()
    progress.on_stage("camera", stage)
    assert f"camera: {stage}" in line(console, progress)


def test_a_stage_whose_parts_are_counted_moves_the_bar() -> None:
    console, progress = shown()
    progress.on_stage("a very long name of a domain indeed", "learning to find aspects")
    progress.on_count(30, 40)
    text = line(console, progress)
    assert len(text.rstrip()) <= 80 and "learning to find aspects" in text
    assert progress._progress.tasks[0].percentage == 75


def test_the_pace_of_rows_is_that_of_all_of_them_though_they_come_a_window_at_a_time() -> None:
    console, _ = shown()
    progress, now = RowProgress(console), [0.0]
    progress._progress.get_time = lambda: now[0]
    progress.begin("predicting", 20_000, 1_000)  # went on where it was
    for window in range(2):
        now[0] += 5.0
        for row in range(1024):
            now[0] += 1e-5
            progress.at(1_000 + 1024 * window + row + 1)
    with console.capture() as captured:
        console.print(progress._progress.get_renderable())
    assert "3048/20000" in captured.get()
    assert "204 rows/s 0:01:23" in captured.get()


def test_what_was_learned_has_a_line_for_each_fact_in_80_columns() -> None:
    score = {"examples": 1234, "accuracy": 0.9, "macro_f1": 0.8, "own_f1": 0.8}
    record = {
        "scores": {"test": score, "valid": score},
        "finder": {"true": 1234, "precision": 0.7, "recall": 0.7, "f1": 0.7},
        "capacity": {"new": 0.123, "shared": 0.456, "free": 0.421},
        "masks": {"opened": 1234, "closed": 1234, "reused": 1234},
        "transfer": [0.001, 0.25, 0.749],
        "domains": ["starter", "camera", "phone"],
    }
    run = {"seconds": 1234.0, "peak_memory_bytes": 2**32}
    console, _ = shown()
    with console.capture() as captured:
        describe_version(cast("Version", SimpleNamespace(number=3, domain="phone", record=record, run=run)), console)
    facts = [line for line in captured.get().splitlines() if line.startswith("│")]
    assert [line.split("│")[1].strip() for line in facts] == [
        "test (1234 examples)",
        "valid (1234 examples)",
        "aspects found (1234 in test)",
        "units",
        "masks",
        "looked most at",
        "time",
        "domains so far",
    ]
    assert "camera (25%)" in captured.get()
    assert "starter (0%)" not in captured.get()


def test_aspects_of_a_domain_without_test_rows_were_found_in_the_validation_rows() -> None:
    record = {
        "scores": {"valid": {"examples": 9, "accuracy": 0.9, "macro_f1": 0.8, "own_f1": 0.8}},
        "finder": {"true": 8, "precision": 0.7, "recall": 0.7, "f1": 0.7},
        "domains": ["camera"],
    }
    console, _ = shown()
    with console.capture() as captured:
        describe_version(cast("Version", SimpleNamespace(number=1, domain="camera", record=record, run={})), console)
    assert "aspects found (8 in valid)" in captured.get()


def test_aspects_that_nobody_looked_for_have_no_line() -> None:
    record = {
        "scores": {},
        "finder": {"true": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0},
        "domains": ["camera"],
    }
    console, _ = shown()
    with console.capture() as captured:
        describe_version(cast("Version", SimpleNamespace(number=1, domain="camera", record=record, run={})), console)
    assert "aspects found" not in captured.get()


def test_scores_have_a_line_for_each_set_in_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    metrics = ("accuracy", "macro_f1", "own_f1")
    score = {"examples": 1234, "classes": {}, "confusion": []} | dict.fromkeys(metrics, 1.0)
    score["intervals"] = dict.fromkeys(metrics, (0.89, 1.0))
    show_scores({3: {"camera": score, "phone": score}})
    told = capsys.readouterr().out
    assert told.count("1.000 (0.89-1.00)") == 6
