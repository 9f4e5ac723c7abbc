"""From answers to scores: the one path. Everything that shows a score has it from here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from classic.evaluation.metrics import accuracy, macro_f1
from classic.types import POLARITIES, Example


def labels_of(examples: Sequence[Example]) -> list[int]:
    """True classes, one number per example; -1 where there is none."""
    return [-1 if example.polarity is None else example.polarity.column for example in examples]


def count(examples: Sequence[Example], answered: Sequence[int]) -> dict[str, Any]:
    """Counts of (true, answered) pairs: all that is kept of a test, and enough for every score."""
    counted = Counter(zip(labels_of(examples), answered, strict=True))
    return {"pairs": [[true, said, number] for (true, said), number in sorted(counted.items())]}


def in_order(examples: Sequence[Example], answered: Sequence[int]) -> dict[str, Any]:
    """Truth and answers one by one, as digits, and how many answers about mixed sentences are right.

    A sentence is mixed if it says different things about its aspects: there only the aspect tells the answer.
    """
    said_of: dict[str, set[object]] = {}
    for example in examples:
        said_of.setdefault(example.sentence, set()).add(example.polarity)
    true = labels_of(examples)
    mixed = [len(said_of[example.sentence]) > 1 for example in examples]
    right = sum(t == a for t, a, m in zip(true, answered, mixed, strict=True) if m)
    return {"true": "".join(map(str, true)), "said": "".join(map(str, answered)), "mixed": [right, sum(mixed)]}


def expand(counted: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Truth and answers, one entry per example, from counts."""
    pairs = counted["pairs"]
    return [t for t, _, number in pairs for _ in range(number)], [s for _, s, number in pairs for _ in range(number)]


def own_columns(classes: Collection[object], counted: dict[str, Any]) -> list[int]:
    """The numbers of a domain's own classes, as far as they occur in the truth: a class of no example cannot be answered
    rightly. Where nobody knows the domain's classes, or none of them occurs, all those of the truth.

    >>> own_columns(["positive", "negative", "neutral"], {"pairs": [[0, 0, 2], [1, 2, 2]]})
    [0, 1]
    """
    named = {str(each) for each in classes}
    there = sorted({true for true, _, _ in counted["pairs"]})
    return [column for column in there if column >= 0 and str(POLARITIES[column]) in named] or there


def score(counted: dict[str, Any], classes: Collection[object] = ()) -> dict[str, Any]:
    """Accuracy, macro-F1 (the paper's convention), own F1 and the number of examples.

    Args:
        counted: What `count` gave.
        classes: The domain's own classes, as polarities or their names; those of the truth if none are given.
    """
    true, said = expand(counted)
    return {
        "accuracy": accuracy(true, said),
        "macro_f1": macro_f1(true, said),
        "own_f1": macro_f1(true, said, labels=own_columns(classes, counted)),
        "examples": len(true),
    }
