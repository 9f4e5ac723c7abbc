"""How well aspects are found, against counting by hand."""

from __future__ import annotations

import pytest

from classic.evaluation.aspects import exact_match


def test_precision_recall_and_f1_are_those_of_the_counts() -> None:
    true = [[(0, 4)], [(2, 5), (7, 9)], [(1, 3)]]
    said = [[(0, 4)], [(2, 5), (6, 9), (0, 1)], [(1, 3), (4, 6)]]
    found = exact_match(true, said)
    assert (found["right"], found["true"], found["found"]) == (3, 4, 6)
    assert found["precision"] == pytest.approx(3 / 6) and found["recall"] == pytest.approx(3 / 4)
    assert found["f1"] == pytest.approx(2 * (3 / 6) * (3 / 4) / (3 / 6 + 3 / 4))


def test_one_place_found_twice_counts_once_and_another_text_is_another_place() -> None:
    assert exact_match([[(0, 4)], []], [[(0, 4), (0, 4)], [(0, 4)]])["found"] == 2
    assert exact_match([[(0, 4)], []], [[], [(0, 4)]])["right"] == 0


def test_nothing_to_find_or_nothing_found_is_no_score_and_no_error() -> None:
    for true, said in (([[]], [[]]), ([[(0, 4)]], [[]]), ([[]], [[(0, 4)]])):
        found = exact_match(true, said)
        assert found["precision"] == found["recall"] == found["f1"] == 0.0
