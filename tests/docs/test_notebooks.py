"""The notebooks run, and what they show on the page is what a run showed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.timeout(1800)  # about a minute of processor time each; a busy machine gives it slowly
@pytest.mark.parametrize("name", ["engineer", "researcher"])
def test_a_notebook_runs(name: str) -> None:
    spec = importlib.util.spec_from_file_location("run", EXAMPLES / "run.py")
    assert spec and spec.loader
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    file = EXAMPLES / f"{name}.ipynb"
    kept = [bool(cell["outputs"]) for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
    found = [bool(cell["outputs"]) for cell in runner.run(file)["cells"] if cell["cell_type"] == "code"]
    assert found == kept, "run `python examples/run.py` and commit what it writes"
    assert any(found)
