"""What stands behind a score: every class by itself, the confusion matrix, and how far chance may have moved the score."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from classic.evaluation.scores import expand, score
from classic.types import POLARITIES

METRICS = ("accuracy", "macro_f1", "own_f1")
Z = 1.96
"""Standard errors on either side of a 95 % interval."""

_NO_WIDTH = 1e-9  # less is rounding


def detail(counted: dict[str, Any], classes: Collection[object] = ()) -> dict[str, Any]:
    """All scores of a test with what stands behind them, as plain JSON values.

    Args:
        counted: What `classic.evaluation.scores.count` gave.
        classes: The domain's own classes, as in `score`.

    Returns:
        The scores of `score`; ``classes``, each with precision, recall, F1 and examples; ``confusion``, rows of counts, true
        polarities down and answered ones across; ``intervals``, 95 % of each score.
    """
    return score(counted, classes) | {
        "classes": by_class(counted),
        "confusion": confusion_matrix(counted),
        "intervals": intervals(counted, classes),
    }


def confusion_matrix(counted: dict[str, Any]) -> list[list[int]]:
    """Counts: row the true polarity, column the answered one, in logit order.

    >>> confusion_matrix({"pairs": [[0, 0, 7], [0, 1, 2], [1, 1, 5]]})
    [[7, 2, 0], [0, 5, 0], [0, 0, 0]]
    """
    matrix = [[0] * len(POLARITIES) for _ in POLARITIES]
    for true, said, number in counted["pairs"]:
        if true >= 0:
            matrix[true][said] += number
    return matrix


def by_class(counted: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and the number of examples of every class that occurs in truth or answers."""
    matrix = confusion_matrix(counted)
    found: dict[str, dict[str, float]] = {}
    for polarity in POLARITIES:
        right = matrix[polarity.column][polarity.column]
        true = sum(matrix[polarity.column])
        said = sum(row[polarity.column] for row in matrix)
        if true or said:
            found[str(polarity)] = {
                "precision": right / said if said else 0.0,
                "recall": right / true if true else 0.0,
                "f1": 2 * right / (true + said),
                "examples": true,
            }
    return found


def intervals(counted: dict[str, Any], classes: Collection[object] = ()) -> dict[str, tuple[float, float]]:
    """95 % intervals of the scores, for another test set of the same size from the same source.

    Wilson's for the accuracy; for the macro-F1 the score plus and minus 1.96 of its jackknife standard error. Where every
    example says the same, as if all answers are right, that error is 0 however few there are: then Wilson's, too.

    >>> [round(end, 2) for end in intervals({"pairs": [[0, 0, 2], [1, 1, 2]]})["macro_f1"]]
    [0.51, 1.0]
    """
    true, said = expand(counted)
    right = sum(t == s for t, s in zip(true, said, strict=True))
    found = {"accuracy": wilson(right, len(true))}
    for metric in METRICS[1:]:

        def value(of: dict[str, Any], metric: str = metric) -> float:
            return float(score(of, classes)[metric])

        low, high = _jackknife(counted, value)
        if high - low < _NO_WIDTH:
            low, high = min(low, found["accuracy"][0]), max(high, found["accuracy"][1])
        found[metric] = low, high
    return found


def wilson(right: int, total: int, z: float = Z) -> tuple[float, float]:
    """Wilson's interval of a share; of 95 %, unless another z is given.

    Formula: (p + z²/2n ± z sqrt(p (1 - p) / n + z²/4n²)) / (1 + z²/n)

    >>> [round(end, 3) for end in wilson(10, 10)]
    [0.722, 1.0]
    """
    share, square = right / total, z * z / total
    middle, half = share + square / 2, z * math.sqrt(share * (1 - share) / total + square / (4 * total))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


def _jackknife(counted: dict[str, Any], value: Callable[[dict[str, Any]], float]) -> tuple[float, float]:
    """The score without each example; equal examples give equal scores, so each kind of pair is left out once.

    Formula: SE² = (n - 1)/n Σ_i (s_(-i) - mean s_(-i))²
    """
    pairs = counted["pairs"]
    total = sum(number for _, _, number in pairs)
    if total < 2:
        return 0.0, 1.0
    without = []
    for left_out, (_, _, number) in enumerate(pairs):
        rest = [[t, s, n - (place == left_out)] for place, (t, s, n) in enumerate(pairs)]
        without.append((value({"pairs": [pair for pair in rest if pair[2]]}), number))
    mean = sum(each * number for each, number in without) / total
    error = math.sqrt((total - 1) / total * sum(number * (each - mean) ** 2 for each, number in without))
    middle = value(counted)
    return max(0.0, middle - Z * error), min(1.0, middle + Z * error)
