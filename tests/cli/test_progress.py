"""What a person sees while a domain is learned."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from classic.cli.progress import RowProgress, TrainingProgress
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
