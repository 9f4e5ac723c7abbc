"""Means, deviations and the paired test of the tables. No torch; scipy only for the test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from classic.errors import InputError

_DIGITS = 12  # of a difference of two scores


def mean(values: Sequence[float]) -> float:
    """The plain mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample, √(Σ (x - mean)² / (n - 1)); NaN of fewer than two values."""
    if len(values) < 2:
        return math.nan
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def wilcoxon(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """p-value of Wilcoxon's signed-rank test on pairs, two-sided; NaN of no pairs.

    Pairs without a difference are left out, as Wilcoxon did. Where none is left there is no evidence at all: 1. Differences
    that only rounding tells apart are ties.
    """
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} values cannot be paired with {len(theirs)}")
    if not ours:
        return math.nan
    different = [gap for a, b in zip(ours, theirs, strict=True) if (gap := round(a - b, _DIGITS))]
    if not different:
        return 1.0
    try:
        from scipy.stats import wilcoxon as test
    except ImportError:
        raise InputError("the paired test needs SciPy", fix="pip install 'classic-asc[bench]'") from None
    return float(test(different, alternative="two-sided").pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's correction for many tests: of m sorted p-values, p_(i) becomes max_{j ≤ i} min(1, (m - j + 1) p_(j)).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    corrected: dict[str, float] = {}
    largest = 0.0
    ascending = sorted(p_values, key=lambda name: (p_values[name], name))
    for rank, name in enumerate(ascending):
        largest = max(largest, min(1.0, (len(ascending) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}
