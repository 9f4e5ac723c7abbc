"""How well aspects are found: exact match, as in the literature. A pair counts if its polarity is right, too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any


def exact_match(true: Sequence[Iterable[Hashable]], said: Sequence[Iterable[Hashable]]) -> dict[str, Any]:
    """Precision, recall and F1 over all texts, and the three counts they come from.

    >>> exact_match([{(0, 4)}, {(2, 5), (7, 9)}], [{(0, 4)}, {(2, 5), (6, 9)}])["f1"]
    0.6666666666666666

    Args:
        true: What is in each text: spans, or spans with their polarities.
        said: What was found in it.
    """
    pairs = [(set(there), set(found)) for there, found in zip(true, said, strict=True)]
    right = sum(len(there & found) for there, found in pairs)
    wanted, named = sum(len(there) for there, _ in pairs), sum(len(found) for _, found in pairs)
    return {
        "precision": right / named if named else 0.0,
        "recall": right / wanted if wanted else 0.0,
        "f1": 2 * right / (wanted + named) if wanted + named else 0.0,
        "right": right,
        "true": wanted,
        "found": named,
    }


def count_aspects(true: Sequence[Iterable[tuple[int, int]]], marks: Sequence[Iterable[Any]]) -> dict[str, Any]:
    """The same for marks: their places count, their confidence does not."""
    return exact_match(true, [[(mark.start, mark.end) for mark in each] for each in marks])
