"""Answers compared in pairs: exact against scipy and against cases one can count."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.runs.results import read_results
from classic.benchmark.runs.spec import Spec
from classic.benchmark.tables.paired import compare, mcnemar, sentences_of, turned_round
from classic.benchmark.tables.rows import Run
from classic.errors import InputError
from classic.types import POLARITIES


def a_run(folder: Path, system: str, true: str, said: str, mixed: tuple[int, int] = (1, 2)) -> Run:
    final = {"accuracy": 0.0, "macro_f1": 0.0, "own_f1": 0.0, "true": true, "said": said, "mixed": list(mixed)}
    write_result(folder, system, [(0.0, 0.0)], tasks=["camera"], of_tasks={"final": [final]})
    facts = next(result for result in read_results(folder) if result["spec"]["system"] == system)
    return Run(Spec(**facts["spec"]), facts)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    for ours, theirs in ((0, 0), (3, 9), (40, 61), (900, 1200)):
        wanted = stats.binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
        assert mcnemar(ours, theirs) == pytest.approx(wanted, abs=2e-3)


def test_answers_that_belong_together_are_turned_round_together() -> None:
    assert turned_round([1] * 3 + [-1] * 9) == mcnemar(3, 9)
    for leads in ([3, -1, 1, 0], [2, 2, -2, 1], [5, -4], [0, 0], []):
        sums = [
            abs(sum(w * s for w, s in zip(leads, signs, strict=True))) for signs in product((1, -1), repeat=len(leads))
        ]
        assert turned_round(leads) == pytest.approx(sum(each >= abs(sum(leads)) for each in sums) / len(sums))
    assert turned_round([1] * 1500 + [-1] * 1300) == pytest.approx(mcnemar(1500, 1300), abs=1e-5)


def test_the_same_answers_in_more_orders_are_no_more_evidence(tmp_path: Path) -> None:
    draw = random.Random(1)
    true = "".join(draw.choice("012") for _ in range(60))
    ours, theirs = ("".join(t if draw.random() < share else "0" for t in true) for share in (0.8, 0.6))
    one = a_run(tmp_path / "a", "classic@bert_adapter/dil", true, ours)
    other = a_run(tmp_path / "b", "ncl@bert_adapter/dil", true, theirs)
    once = compare([one], [other])
    again = compare(*([replace(each, spec=replace(each.spec, order=n)) for n in range(5)] for each in (one, other)))
    assert again.examples == 5 * once.examples
    assert 0 < once.mcnemar < 1
    assert again.mcnemar == pytest.approx(once.mcnemar)
    assert again.permutation == pytest.approx(once.permutation)
    assert again.own_f1 == pytest.approx(once.own_f1)
    assert again.accuracy == pytest.approx(once.accuracy)


def test_the_sentences_of_the_papers_test_sets_are_known_by_their_rows(asc19: Path) -> None:
    for order in (0, 1):
        for task in Spec("ncl@bert_adapter/dil", order).tasks():
            true = "".join(str(example.polarity.column) for example in task.test if example.polarity)
            numbers: dict[str, int] = {}
            wanted = [numbers.setdefault(example.sentence, len(numbers)) for example in task.test]
            assert sentences_of(task.name, true) == wanted
    assert sentences_of("Laptop", "0120") == [0, 1, 2, 3]
    assert sentences_of("camera", "00") == [0, 1]


def test_a_clear_lead_is_seen_and_a_tie_is_not(tmp_path: Path) -> None:
    draw = random.Random(0)
    true = "".join(draw.choice("01") for _ in range(200))
    noisy = "".join(t if draw.random() < 0.7 else str(1 - int(t)) for t in true)
    better = a_run(tmp_path / "a", "classic@bert_adapter/dil", true, true, (2, 2))
    worse = a_run(tmp_path / "b", "ncl@bert_adapter/dil", true, noisy)
    found = compare([better], [worse])
    assert found.examples == 200
    assert found.accuracy[0] == 1.0 and found.accuracy[1] < 0.8
    assert found.own_f1[2] > 0.1
    assert found.mcnemar < 1e-6 and found.permutation < 0.01
    assert found.parts["all sentences"] == (200, sum(a == b for a, b in zip(true, noisy, strict=True)), 200)
    assert found.parts["mixed"] == (2, 1, 2)
    assert found.parts["of one mind"] == (198, found.parts["all sentences"][1] - 1, 198)
    assert [sum(counts) for counts in zip(*(found.parts[p.value] for p in POLARITIES), strict=True)] == list(
        found.parts["all sentences"]
    )
    same = compare([better], [better])
    assert same.mcnemar == same.permutation == 1.0
    assert same.own_f1[2] == same.own_f1[3] == 0.0


def test_answers_that_cannot_be_paired_are_refused(tmp_path: Path) -> None:
    one = a_run(tmp_path / "a", "classic@bert_adapter/dil", "01", "01")
    other = a_run(tmp_path / "b", "ncl@bert_adapter/dil", "10", "01")
    with pytest.raises(InputError, match="one by one"):
        compare([one], [other])
    with pytest.raises(InputError, match="in common"):
        compare([one], [])
