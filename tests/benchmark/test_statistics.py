"""Means, deviations, Wilcoxon's test and Holm's correction."""

from __future__ import annotations

import math
import random

import pytest
import scipy.stats

from classic.benchmark.tables.statistics import deviation, holm, mean, wilcoxon


def test_mean_and_deviation_of_a_sample() -> None:
    assert mean([0.9, 0.8, 0.4]) == pytest.approx(0.7)
    assert deviation([0.9, 0.8, 0.4]) == pytest.approx(math.sqrt((0.04 + 0.01 + 0.09) / 2))
    assert math.isnan(mean([]))
    assert math.isnan(deviation([0.9]))


def test_a_missing_value_makes_the_mean_missing() -> None:
    assert math.isnan(mean([0.5, math.nan]))


def test_wilcoxon_is_exact_for_few_pairs() -> None:
    # Four differences of one sign: of 2^4 signs two are as extreme.
    assert wilcoxon([0.7, 0.65, 0.69, 0.5], [0.9, 0.8, 0.8, 0.6]) == pytest.approx(2 / 16)


@pytest.mark.parametrize("size", [5, 19, 95])
def test_wilcoxon_is_scipys_on_the_pairs_that_differ(size: int) -> None:
    draw = random.Random(size)
    ours = [draw.random() for _ in range(size)]
    theirs = [value + draw.gauss(0.05, 0.2) for value in ours]
    expected = scipy.stats.wilcoxon(ours, theirs).pvalue
    assert wilcoxon(ours, theirs) == pytest.approx(expected)
    assert wilcoxon([*ours, 0.5, 0.25], [*theirs, 0.5, 0.25]) == pytest.approx(expected)
    assert wilcoxon(theirs, ours) == pytest.approx(expected)


def test_differences_that_only_rounding_tells_apart_are_ties() -> None:
    thirds = [1 / 3, 2 / 3, 1.0, 4 / 3, 5 / 3, 2.0, 7 / 3]
    ours, theirs = [each + 1 / 3 for each in thirds], [*thirds[:4], *(each + 2 / 3 for each in thirds[4:])]
    assert len({a - b for a, b in zip(ours, theirs, strict=True)}) > 2
    wanted = scipy.stats.wilcoxon([1, 1, 1, 1, -1, -1, -1]).pvalue
    assert wilcoxon(ours, theirs) == pytest.approx(wanted)
    assert wilcoxon([0.1 + 0.2, 0.5], [0.3, 0.5]) == 1.0


def test_wilcoxon_without_differences_or_pairs() -> None:
    assert wilcoxon([0.5, 0.7], [0.5, 0.7]) == 1.0
    assert math.isnan(wilcoxon([], []))
    with pytest.raises(ValueError, match="paired"):
        wilcoxon([0.5], [])


def test_holm_by_hand() -> None:
    # Sorted: 0.005 × 4 = 0.02; 0.01 × 3 = 0.03; 0.03 × 2 = 0.06; 0.04 × 1 = 0.04, but never below the one before.
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(found) == ["a", "b", "c", "d"]


def test_holm_never_exceeds_one() -> None:
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}
