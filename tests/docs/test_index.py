"""The first page of the documentation is the README."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_index_is_made_from_the_readme() -> None:
    make = runpy.run_path(str(ROOT / "docs" / "make_index.py"))["index_of"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "index.md").read_text(encoding="utf-8") == make(readme), "run python docs/make_index.py"
    assert "](docs/" not in make(readme)
