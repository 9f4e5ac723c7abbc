"""What the teaching process says while it works, line by line."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from classic.learning.learner import open_or_create
from classic.serving import worker
from classic.serving.jobs import Job, JobBook
from classic.store.store import Store
from classic.systems.system import SystemConfig


def run(store: Path, upload: bytes, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Does a job's work in this process; all it said."""
    book = JobBook(store / "service")
    identity = book.prepare()
    book.save(Job(identity, "router", "ask", False, {}, 1, Store.open(store).current, 1.0))
    (book.path(identity) / "data" / "upload").write_bytes(upload)
    Store.open(store).branch(book.path(identity) / "branch")
    capsys.readouterr()
    worker.teach_job(book.path(identity))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def stages(said: list[dict[str, Any]]) -> list[str]:
    return [stage for stage, _ in groupby(each["stage"] for each in said if each["event"] == "progress")]


def test_every_stage_is_told_as_it_begins(
    taught_store: Path, upload: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_EVERY", 0.0)  # every step is told
    said = run(taught_store, upload, capsys)
    told = ["encoding texts", "asking earlier models", "learning", "testing", "testing it on all domains"]
    assert stages(said) == told
    for each in said:
        if each["event"] == "progress":
            assert (each["terms"] is None) == (each["stage"] != "learning")
    compared = [each["done"] for each in said if each.get("stage") == told[-1]]
    assert compared == [None, pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]  # three domains were learned before


def test_the_finder_tells_its_steps_and_the_time_they_will_take(
    tmp_path: Path,
    tiny_system: Any,
    upload: bytes,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_EVERY", 0.0)
    system: SystemConfig = tiny_system(changes={"train.epochs": 1})
    open_or_create(tmp_path / "store", system, finder=True)
    said = run(tmp_path / "store", upload, capsys)
    assert stages(said)[1:4] == ["getting ready", "learning", "learning to find aspects"]
    found = [each for each in said if each.get("stage") == "learning to find aspects"]
    assert found[0]["done"] is None and found[0]["seconds_left"] is None
    assert [each["done"] for each in found[1:]] == sorted({each["done"] for each in found[1:]}) and found[-1][
        "done"
    ] == 1
    assert found[1]["seconds_left"] > 0 and found[-1]["seconds_left"] == 0


def test_time_left_is_that_of_the_pace_since_the_stage_began(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 106.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    reporter = worker.Reporter(None)  # type: ignore[arg-type]  # asked only when an epoch ends
    reporter.on_stage("router", "learning to find aspects")
    reporter.on_count(3, 10)
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["done"] == 0.3 and last["seconds_left"] == 14.0  # 2 s for each of the 7 that remain
