"""The help of every command, in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from classic.cli.main import app


def paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from paths(each, (*path, name))


@pytest.mark.parametrize("path", list(paths(get_command(app))), ids=" ".join)
def test_nothing_is_cut_off_and_examples_have_lines_of_their_own(path: tuple[str, ...]) -> None:
    found = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).output
    assert "Usage:" in found
    assert "…" not in found
    for line in found.splitlines():
        assert len(line) <= 80
        assert "Example: " not in line
