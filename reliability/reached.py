"""Which tests run which lines: a mutant is tried first on those that run its line, the quick ones before the others."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_ENOUGH = 200_000  # calls in one test that are looked at: a loop of millions would take for ever


class Watcher:
    """A pytest plugin: notes the lines of some files that each test runs, in this process, in every thread it begins.

    What a fixture of many tests runs is noted for the first of them only; what a child process runs is not noted. So a
    mutant that the noted tests let pass is tried on all of them.
    """

    def __init__(self, files: set[str], notes: Path) -> None:
        self._files, self._notes, self._test = files, notes, ""
        self._lines: dict[str, set[str]] = {}
        self._seconds: dict[str, float] = {}
        self._calls = 0

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        self._calls += 1
        if self._calls > _ENOUGH:
            sys.settrace(None)
        return self._step if frame.f_code.co_filename in self._files else None

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self._lines.setdefault(f"{frame.f_code.co_filename}:{frame.f_lineno}", set()).add(self._test)
        return self._step

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._test, began = item.nodeid.partition("[")[0], time.monotonic()
        self._calls = 0
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        yield
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        self._seconds[self._test] = self._seconds.get(self._test, 0.0) + time.monotonic() - began

    def pytest_sessionfinish(self) -> None:
        lines = {place: sorted(tests) for place, tests in self._lines.items()}
        self._notes.write_text(json.dumps({"lines": lines, "seconds": self._seconds}))


class Notes:
    """What a watcher noted of some tests."""

    def __init__(self, file: Path) -> None:
        found = json.loads(file.read_text())
        self._lines: dict[str, list[str]] = found["lines"]
        self.seconds: dict[str, float] = found["seconds"]

    def tests(self, file: Path, first: int, last: int) -> list[str]:
        """Those that run one of the lines, quick ones first."""
        found = {test for line in range(first, last + 1) for test in self._lines.get(f"{file}:{line}", [])}
        return sorted(found, key=lambda test: (self.seconds[test], test))
