"""Which behaviour made a result: the version numbers written beside the loop, the scoring, the method and the backbone.

A number is raised when what it stands beside comes to other tensors or other answers, and only then: renaming and moving
code leaves every result as it is. `tests/contract/test_behaviour.py` trains every pair and fails when behaviour changed
and no number did.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from classic.evaluation.answers import VERSION as ANSWERS
from classic.training.loop import VERSION as LOOP


def versions_of(classes: Iterable[type]) -> dict[str, Any]:
    """Everything that can make a run come out differently, besides settings, data and libraries.

    Args:
        classes: The method and the backbone. Every class they are made of counts by its own number; a user's own class,
            which need not have one, by the contents of its file.
    """
    found: dict[str, Any] = {"loop": LOOP, "answers": ANSWERS}
    for each in classes:
        for part in each.__mro__:
            if part.__module__.partition(".")[0] == "classic" and "version" in vars(part):
                found[part.__name__] = vars(part)["version"]
            elif part.__module__.startswith("classic_outside_"):
                found[part.__name__] = _contents(Path(str(sys.modules[part.__module__].__file__)))
    return dict(sorted(found.items()))


def _contents(file: Path) -> str:
    """A hash of a module that comments and line breaks do not change."""
    return hashlib.sha256(ast.dump(ast.parse(file.read_text("utf-8"))).encode()).hexdigest()[:16]
