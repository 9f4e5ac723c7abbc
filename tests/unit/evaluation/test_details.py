"""What stands behind a score, against scikit-learn and against chance itself."""

from __future__ import annotations

import random

import pytest
from sklearn.metrics import confusion_matrix as judge_matrix
from sklearn.metrics import precision_recall_fscore_support

from classic.evaluation.details import by_class, confusion_matrix, detail, intervals, wilson
from classic.evaluation.scores import own_columns, score
from classic.types import POLARITIES


def draw(size: int, seed: int) -> dict[str, list[list[int]]]:
    """Answers that are right seven times in ten."""
    chance = random.Random(seed)
    counts: dict[tuple[int, int], int] = {}
    for _ in range(size):
        true = chance.choices(range(3), (5, 3, 2))[0]
        said = true if chance.random() < 0.7 else chance.randrange(3)
        counts[true, said] = counts.get((true, said), 0) + 1
    return {"pairs": [[true, said, number] for (true, said), number in sorted(counts.items())]}


def test_classes_and_matrix_are_those_of_scikit_learn() -> None:
    counted = draw(200, 1)
    true = [t for t, _, n in counted["pairs"] for _ in range(n)]
    said = [s for _, s, n in counted["pairs"] for _ in range(n)]
    assert confusion_matrix(counted) == judge_matrix(true, said).tolist()
    judged = precision_recall_fscore_support(true, said)
    found = by_class(counted)
    for column, polarity in enumerate(POLARITIES):
        wanted = [part[column] for part in judged]
        values = found[str(polarity)]
        assert [values[key] for key in ("precision", "recall", "f1", "examples")] == pytest.approx(wanted)


def test_intervals_hold_what_they_promise() -> None:
    """Of 400 test sets, about 95 in 100 have an interval around the score of a very large one."""
    truth = score(draw(200_000, 0))
    inside = dict.fromkeys(("accuracy", "macro_f1", "own_f1"), 0)
    for seed in range(1, 401):
        for metric, (low, high) in intervals(draw(120, seed)).items():
            inside[metric] += low <= truth[metric] <= high
    assert all(360 <= count <= 396 for count in inside.values()), inside


def test_no_class_and_no_interval_goes_wrong_on_little_data() -> None:
    alone = detail({"pairs": [[0, 0, 1]]})
    assert list(alone["classes"]) == ["positive"]
    assert alone["intervals"]["own_f1"] == (0.0, 1.0)
    right = detail({"pairs": [[0, 0, 2], [1, 1, 2]]})["intervals"]
    assert right["macro_f1"] == right["own_f1"] == right["accuracy"] == wilson(4, 4)  # four are no proof
    missed = detail({"pairs": [[0, 1, 3]]})
    assert missed["classes"]["positive"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "examples": 3}
    assert wilson(0, 5)[0] == 0.0


def test_own_f1_leaves_out_classes_that_the_data_lack() -> None:
    right = {"pairs": [[0, 0, 2], [1, 1, 2]]}
    assert score(right, POLARITIES)["own_f1"] == score(right)["own_f1"] == 1.0  # a small part has no neutral
    stray = {"pairs": [[0, 0, 2], [1, 1, 1], [1, 2, 1]]}
    assert score(stray, POLARITIES)["own_f1"] == score(stray, POLARITIES[:2])["own_f1"] < 1.0


def test_wilsons_interval_is_that_of_the_tables() -> None:
    assert wilson(3, 10) == pytest.approx((0.1078, 0.6032), abs=1e-4)


def test_a_share_is_never_below_nothing_or_above_all() -> None:
    assert all(wilson(0, total)[0] >= 0.0 and wilson(total, total)[1] <= 1.0 for total in range(1, 60))


def test_a_class_that_was_only_answered_has_no_recall() -> None:
    found = by_class({"pairs": [[0, 0, 2], [0, 1, 1]]})
    assert found["negative"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "examples": 0}


def test_own_classes_are_those_of_the_domain_that_occur() -> None:
    pairs = [[-1, 0, 4], [0, 0, 2], [1, 2, 2]]
    assert own_columns(["positive", "neutral"], {"pairs": pairs[1:]}) == [0]
    assert own_columns(["positive", "negative", "neutral"], {"pairs": pairs}) == [0, 1]  # -1 is no class
    assert own_columns(["neutral"], {"pairs": pairs[1:]}) == own_columns([], {"pairs": pairs[1:]}) == [0, 1]
