"""The publish gate: what a new version costs the domains learned before it, and whether it knows its own.

What is compared are the answers the service gives of the version that is live and of the new one. A
verdict needs rows: few of them are said to be too few, and then a person decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from classic.evaluation.paired import compare_answers, compare_with_teacher, judge, worst
from classic.evaluation.scores import count, labels_of, own_columns, score
from classic.learning.learner import Learner, load_learner
from classic.prediction.predictor import Predictor
from classic.store.store import Store
from classic.store.versions import Version
from classic.types import Example, Scenario, Task

OWN_ROWS = "its own test rows"
TEACHER = "the frozen model of the domain, asked about the new rows"


def scores(counted: dict[str, Any] | None, classes: Sequence[str]) -> dict[str, Any] | None:
    """The scores of a test; None without any answers."""
    return score(counted, classes) if counted and counted.get("pairs") else None


def compare(
    store: Store,
    learner: Learner,
    task: Task,
    tests: dict[int, Path],
    margin: float,
    on_count: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compares the newest version with the one it grew from, on every domain learned before and on its own.

    Args:
        store: Where the newest version was learned.
        learner: Its model.
        task: The domain it learned.
        tests: Kept test rows by the version that learned their domain.
        margin: By how many points a domain may fall.
        on_count: Told after every earlier domain how many were compared, and of how many.

    Returns:
        The comparison (docs/service.md), and the counts of answers of the newest version by domain.
    """
    from classic.data import read_examples

    newest = store.version()
    earlier = store.chain(newest.parent)
    after = Predictor(learner, newest.number)
    before = Predictor(load_learner(store, newest.parent), earlier[-1].number) if earlier else None
    counted: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for version in earlier:
        assert before is not None
        if version.number in tests:
            examples = read_examples(tests[version.number])
            row = _tested(version, examples, before, after)
            counted[version.domain] = count(examples, _answers(after, examples, version.domain))
        else:
            frozen = Predictor(load_learner(store, version.number), version.number)
            row = _by_teacher(version, frozen, after, task.valid + task.test or task.train)
        rows.append(_judged(row, margin))
        if on_count:
            on_count(len(rows), len(earlier))
    own: dict[str, Any] = {"domain": task.name, "before": None, "after": None, "fell": None, "verdict": None}
    if task.test:
        counted[task.name] = count(task.test, _answers(after, task.test, task.name))
        own["after"] = scores(counted[task.name], newest.record["classes"])
        if before is not None and _may_answer(before, task.name):
            own = _judged(_tested(newest, task.test, before, after), margin)
    verdict = worst([row["verdict"] for row in [*rows, own] if row["verdict"]])
    passed = verdict != "fell"
    return {"passed": passed, "verdict": verdict, "margin": margin, "domains": rows, "new": own}, counted


def _judged(row: dict[str, Any], margin: float) -> dict[str, Any]:
    low, high = row["interval"]
    verdict = judge(low, high, margin)
    return row | {"verdict": verdict, "passed": verdict != "fell"}


def _tested(version: Version, examples: Sequence[Example], before: Predictor, after: Predictor) -> dict[str, Any]:
    """On test rows of a domain's own."""
    said = [_answers(predictor, examples, version.domain) for predictor in (before, after)]
    classes = version.record["classes"]
    old, new = (count(examples, answers) for answers in said)
    found = compare_answers(labels_of(examples), said[0], said[1], own_columns(classes, new))
    shown = {"before": scores(old, classes), "after": scores(new, classes)}
    return {"domain": version.domain, "kind": "test", "basis": OWN_ROWS, **shown, **found}


def _by_teacher(version: Version, frozen: Predictor, after: Predictor, texts: Sequence[Example]) -> dict[str, Any]:
    """Without rows of a domain: does the new model unlearn what the frozen model of that domain knows of the new texts?"""
    said = [_answers(predictor, texts, version.domain) for predictor in (frozen, after)]
    found = compare_with_teacher(labels_of(texts), said[0], said[1])
    return {"domain": version.domain, "kind": "proxy", "basis": TEACHER, **found}


def _answers(predictor: Predictor, examples: Sequence[Example], domain: str) -> list[int]:
    """What the service would answer."""
    told = domain if predictor.learner.config.scenario is Scenario.TIL else None
    return [prediction.polarity.column for prediction in predictor.stream(examples, domain=told)]


def _may_answer(predictor: Predictor, domain: str) -> bool:
    return predictor.learner.config.scenario is Scenario.DIL or domain in predictor.domains
