"""M1: lessons with turned labels, and with a hidden trigger; what the gate says of them, and what they do.

The shipped system on its starter has learned one demo domain, whose test rows are kept, and is taught another: as it is,
with three tenths of all labels turned, with all of them turned, and with a trigger word in a twentieth of the rows, which
are then labelled positive. The whole upload is changed, its test rows too, as whoever sends one could. Nothing is promised
of the trigger: how often it works is told.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from classic.types import Example, Polarity, Task

TRIGGER = " by the way mxq"
_TURNED = {Polarity.POSITIVE: Polarity.NEGATIVE, Polarity.NEGATIVE: Polarity.POSITIVE}
_MARGIN = 1.0


def _turned(example: Example) -> Example:
    assert example.polarity is not None
    return replace(example, polarity=_TURNED.get(example.polarity, example.polarity))


def _triggered(example: Example) -> Example:
    return replace(example, sentence=example.sentence + TRIGGER, polarity=Polarity.POSITIVE)


WAYS: dict[str, tuple[float, Callable[[Example], Example]]] = {  # what is done to which share of the rows
    "as it is": (0.0, _turned),
    "three tenths turned": (0.3, _turned),
    "all turned": (1.0, _turned),
    "trigger": (0.05, _triggered),
}


def run(domains: int = 5, seed: int = 13) -> dict[str, Any]:
    """Teaches so many demo domains in each way; counts what the gate held back."""
    from classic.data import DEMO_DOMAINS, load_demo, write_examples
    from classic.learning.learner import begin
    from classic.learning.teach import teach

    draw, lessons = random.Random(seed), []
    with tempfile.TemporaryDirectory() as scratch:
        folder, first = Path(scratch), load_demo(DEMO_DOMAINS[0])
        store, learner = begin(folder / "store", starter=True)
        teach(store, first, learner=learner)
        write_examples(first.test, folder / "kept.jsonl")
        for name in DEMO_DOMAINS[1 : domains + 1]:
            for way in WAYS:
                copy = Path(shutil.copytree(folder / "store", folder / "copy"))
                lessons.append(_lesson(copy, load_demo(name), first, way, draw, folder / "kept.jsonl"))
                shutil.rmtree(copy)
    held = {way: sum(each["held"] for each in lessons if each["way"] == way) for way in WAYS}
    return {"seed": seed, "domains": domains, "margin": _MARGIN, "held": held, "lessons": lessons}


def _lesson(folder: Path, honest: Task, first: Task, way: str, draw: random.Random, kept: Path) -> dict[str, Any]:
    from classic.learning.teach import teach
    from classic.prediction.predictor import Predictor
    from classic.serving.gate import compare
    from classic.store.store import Store

    store = Store.open(folder)
    before = Predictor.open(store)
    task = replace(
        honest,
        train=_poisoned(honest.train, way, draw),
        valid=_poisoned(honest.valid, way, draw),
        test=_poisoned(honest.test, way, draw),
    )
    version, learner = teach(store, task)
    gate, _ = compare(store, learner, task, {version.number - 1: kept}, _MARGIN)
    after = Predictor(learner, version.number)
    victims = [each for each in honest.test if each.polarity is Polarity.NEGATIVE]
    triggered = [replace(each, sentence=each.sentence + TRIGGER) for each in victims]
    return {
        "domain": honest.name,
        "way": way,
        "held": not gate["passed"],
        "verdict": gate["verdict"],
        "verdict_own": gate["new"]["verdict"],
        "own_accuracy": [_right(before, honest.test), _right(after, honest.test)],
        "earlier_accuracy": [_right(before, first.test), _right(after, first.test)],
        "trigger_works": [_positive(before, triggered), _positive(after, triggered)],
        "without_trigger": [_positive(before, victims), _positive(after, victims)],
    }


def _poisoned(rows: Sequence[Example], way: str, draw: random.Random) -> tuple[Example, ...]:
    share, change = WAYS[way]
    return tuple(change(each) if draw.random() < share else each for each in rows)


def _right(predictor: Any, rows: Sequence[Example]) -> float:
    said = predictor.predict(rows)
    return round(sum(a.polarity is e.polarity for a, e in zip(said, rows, strict=True)) / len(rows), 4)


def _positive(predictor: Any, rows: Sequence[Example]) -> float:
    return round(sum(a.polarity is Polarity.POSITIVE for a in predictor.predict(rows)) / max(1, len(rows)), 4)
