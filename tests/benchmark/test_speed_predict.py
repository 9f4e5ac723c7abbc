"""The benchmark of prediction goes on without an export that its gate refuses."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "speed" / "predict.py"


def test_a_refused_export_is_told_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("speed_predict", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def refuse(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "Error: 5 of 306 answers changed\n")

    monkeypatch.setattr(module.subprocess, "run", refuse)
    assert module.export(Path("some.store"), Path("int8"), "demo") == {"refused": "5 of 306 answers changed"}
    assert "int8 is left out: 5 of 306" in capsys.readouterr().err
