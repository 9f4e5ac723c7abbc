"""Answers compared in pairs: exact against scipy and against cases one can count."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.runs.results import read_results
from classic.benchmark.runs.spec import Spec
from classic.benchmark.tables.paired import compare, mcnemar
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
