"""Makes docs/index.md from README.md: the same page, with links as the documentation has them.

python docs/make_index.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY_FILES = ("REPRODUCIBILITY.md", "CONTRIBUTING.md")  # outside of docs/: named, not linked


def index_of(readme: str) -> str:
    """The first page of the documentation."""
    page = readme.replace("](docs/", "](")
    for name in REPOSITORY_FILES:
        page = page.replace(f"[{name}]({name})", f"`{name}`")
    return re.sub(r"<!-- \w+:(begin|end) -->\n", "", page)


if __name__ == "__main__":
    (HERE / "index.md").write_text(index_of((HERE.parent / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
