"""The benchmark of prediction goes on without an export that its gate refuses; scripts use what is there."""

from __future__ import annotations

import ast
import importlib
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


@pytest.mark.parametrize("script", sorted(SCRIPT.parents[1].rglob("*.py")), ids=lambda path: path.stem)
def test_what_a_script_imports_from_the_package_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "classic":
            module = importlib.import_module(str(node.module))
            for name in node.names:
                there = hasattr(module, name.name) or importlib.util.find_spec(f"{node.module}.{name.name}")
                assert there, f"line {node.lineno}: {node.module} has no {name.name}"
