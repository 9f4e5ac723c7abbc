"""Runs the notebooks of this folder, cell by cell, and keeps what they print. Needs no Jupyter: `python examples/run.py`."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run in order in an empty folder; an error in a cell is raised."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            for number, cell in enumerate(cells, start=1):
                cell["execution_count"] = number
                cell["outputs"] = _run_cell("".join(cell["source"]), names, number)
        finally:
            os.chdir(before)
    return notebook


def _run_cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Runs a cell; as in a notebook, the value of its last line is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for file in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        file.write_text(json.dumps(run(file), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"ran {file.name}")
