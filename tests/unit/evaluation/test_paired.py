"""Intervals for two models on the same rows, against slow counting and against simulation."""

from __future__ import annotations

import math
import random

import pytest

from classic.evaluation.paired import (
    compare_answers,
    compare_with_teacher,
    fall_interval,
    judge,
    share_interval,
    worst,
)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-3, 1, "kept"), (1.1, 9, "fell"), (0.9, 1.1, "too few to tell"), (1, 2, "too few to tell"), (-9, -8, "kept")],
)
def test_an_interval_is_judged_by_the_side_of_the_margin_it_lies_on(low: float, high: float, verdict: str) -> None:
    assert judge(low, high, 1.0) == verdict


def test_the_worst_of_several_counts() -> None:
    assert worst([]) == worst(["kept"]) == "kept"
    assert worst(["kept", "too few to tell"]) == "too few to tell"
    assert worst(["too few to tell", "fell", "kept"]) == "fell"


def test_what_the_teacher_had_right_and_the_pupil_has_wrong_is_lost_and_nothing_else() -> None:
    #        kept  lost  gained  both wrong, alike and not
    true = [0, 0, 1, 2, 2]
    teacher = [0, 0, 2, 0, 0]
    pupil = [0, 1, 1, 0, 1]
    found = compare_with_teacher(true, teacher, pupil)
    assert found["fell"] == pytest.approx(20.0)  # one of five: not the three errors of the pupil, not the gained one
    assert found["disagreement"] == pytest.approx(3 / 5)
    assert compare_with_teacher(true, pupil, teacher)["fell"] == pytest.approx(20.0)  # the gained one, turned round
    assert compare_with_teacher([0] * 4, [0] * 4, [1, 1, 1, 0])["fell"] == pytest.approx(75.0)
    assert compare_with_teacher([0] * 4, [1, 1, 1, 0], [0] * 4)["fell"] == 0.0


def test_twelve_rows_cannot_tell_about_a_point() -> None:
    alike = compare_with_teacher([0] * 12, [0] * 12, [0] * 12)
    assert judge(*alike["interval"], 1.0) == "too few to tell"
    one = compare_with_teacher([0] * 12, [0] * 12, [1] + [0] * 11)
    assert one["fell"] > 8 and judge(*one["interval"], 1.0) == "too few to tell"
    many = compare_with_teacher([0] * 300, [0] * 300, [0] * 300)
    assert judge(*many["interval"], 1.0) == "kept"
    assert judge(*compare_with_teacher([0] * 12, [0] * 12, [1] * 12)["interval"], 1.0) == "fell"


def test_a_fall_of_own_rows_has_its_sign_and_its_interval_around_it() -> None:
    true = [0, 1] * 50
    worse = [1 - label if place < 30 else label for place, label in enumerate(true)]
    found = compare_answers(true, true, worse, [0, 1])
    assert found["fell"] == pytest.approx(30.0) and (found["lost"], found["gained"]) == (30, 0)
    assert found["interval"][0] < 30 < found["interval"][1] and judge(*found["interval"], 1.0) == "fell"
    turned = compare_answers(true, worse, true, [0, 1])
    assert turned["fell"] == pytest.approx(-30.0) and judge(*turned["interval"], 1.0) == "kept"
    alike = compare_answers(true, worse, worse, [0, 1])
    assert alike["fell"] == 0 and judge(*alike["interval"], 1.0) == "too few to tell"
    assert judge(*alike["interval"], 2.0) == "kept"
    assert compare_answers(true, true, worse, [0, 1]) == found  # the same rows, the same verdict


def test_a_class_that_is_lost_is_not_hidden_by_the_others() -> None:
    true = [0] * 95 + [1] * 5
    found = compare_answers(true, true, [0] * 100, [0, 1])
    assert found["fell"] > 45 and judge(*found["interval"], 1.0) != "kept"


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 0.5])
@pytest.mark.parametrize("rows", [12, 40, 200])
def test_intervals_hold_what_they_promise(share: float, rows: int) -> None:
    """Each side is missed in at most about 5 % of draws; a little more is allowed for small numbers."""
    draw, missed, missed_fall = random.Random(5), 0, 0
    upper = {lost: share_interval(lost, rows)[1] for lost in range(0, rows + 1) if abs(lost - share * rows) < 60}
    for _ in range(500):
        lost = sum(draw.random() < share for _ in range(rows))
        missed += share > upper[lost] + 1e-12
        gained = sum(draw.random() < share for _ in range(rows - lost))
        missed_fall += share - share * (1 - share) > fall_interval(lost, gained, rows)[1] + 1e-12
    assert missed / 500 <= 0.09 and missed_fall / 500 <= 0.09
    assert math.isclose(share_interval(0, rows)[0], 0.0)


@pytest.mark.parametrize(("lost", "gained", "rows"), [(3, 1, 18), (0, 0, 12), (1, 6, 40), (9, 2, 11)])
def test_the_interval_of_a_fall_is_that_of_the_formula(lost: int, gained: int, rows: int) -> None:
    """Agresti and Min: half a row more in each of four cells, then the plain interval of p12 - p21."""
    down, up, number = (lost + 0.5) / (rows + 2), (gained + 0.5) / (rows + 2), rows + 2
    half = 1.645 * math.sqrt((down + up - (down - up) ** 2) / number)
    wanted = max(-1.0, down - up - half), min(1.0, down - up + half)
    assert fall_interval(lost, gained, rows) == pytest.approx(wanted)


def test_shares_of_nothing_and_of_all_reach_the_end() -> None:
    assert share_interval(0, 7)[0] == 0.0 and share_interval(7, 7)[1] == 1.0
    assert share_interval(0, 7)[1] == pytest.approx(1 - 0.05 ** (1 / 7))  # (1 - p)^7 = 5 %
    assert share_interval(7, 7)[0] == pytest.approx(0.05 ** (1 / 7))
