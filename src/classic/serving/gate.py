"""The publish gate: what a new version costs the domains learned before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from classic.evaluation.answers import answer
from classic.evaluation.scores import labels_of, score
from classic.learning.learner import Learner, load_learner
from classic.learning.testing import confusion
from classic.store.store import Store, Version
from classic.types import Example, Task


def scores(counted: dict[str, Any] | None, classes: Sequence[str]) -> dict[str, Any] | None:
    """The scores of a test; None without any answers."""
    return score(counted, classes) if counted and counted.get("pairs") else None


def compare(
    store: Store, learner: Learner, task: Task, tests: dict[int, Path], margin: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compares the newest version with the one it grew from, on every domain learned before.

    Args:
        store: Where the newest version was learned.
        learner: Its model.
        task: The domain it learned.
        tests: Kept test rows by the version that learned their domain.
        margin: By how many points a domain may fall.

    Returns:
        The comparison (docs/service.md), and the counts of answers of the newest version by domain.
    """
    from classic.data import read_examples

    newest = store.version()
    earlier = store.chain(newest.parent)
    before = load_learner(store, newest.parent) if earlier else None
    counted: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for version in earlier:
        assert before is not None
        if version.number in tests:
            examples = read_examples(tests[version.number])
            counted[version.domain] = confusion(learner, version.domain, examples)
            old = scores(confusion(before, version.domain, examples), version.record["classes"])
            new = scores(counted[version.domain], version.record["classes"])
            assert old and new
            fell = 100 * (old["own_f1"] - new["own_f1"])
            row = {"domain": version.domain, "kind": "test", "before": old, "after": new, "fell": fell}
        else:
            row = _proxy(store, learner, version, task.valid + task.test or task.train)
        rows.append(row | {"passed": row["fell"] <= margin})
    own: dict[str, Any] = {"domain": task.name, "before": None, "after": None}
    if task.test:
        counted[task.name] = confusion(learner, task.name, task.test)
        own["after"] = scores(counted[task.name], newest.record["classes"])
        if before is not None:
            own["before"] = scores(confusion(before, task.name, task.test), newest.record["classes"])
    return {"passed": all(row["passed"] for row in rows), "margin": margin, "domains": rows, "new": own}, counted


def _proxy(store: Store, learner: Learner, version: Version, texts: Sequence[Example]) -> dict[str, Any]:
    """Without rows of a domain: does the new model unlearn what the frozen model of that domain knows of the new texts?"""
    frozen = load_learner(store, version.number)
    index = len(frozen.domains) - 1
    said = [answer(model.method, texts, model.config.task_id, index).argmax(dim=1) for model in (frozen, learner)]
    right = torch.tensor(labels_of(texts))
    lost = (said[0] == right) & (said[1] != right)
    return {
        "domain": version.domain,
        "kind": "proxy",
        "examples": len(texts),
        "disagreement": float((said[0] != said[1]).float().mean()),
        "fell": 100 * float(lost.float().mean()),
    }
