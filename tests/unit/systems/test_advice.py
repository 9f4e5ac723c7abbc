"""Advice: every wish rules out just the methods that cannot meet it."""

from __future__ import annotations

import pytest

from classic.systems.advice import Requirements, against
from classic.systems.system import METHODS


def fitting(wishes: Requirements) -> set[str]:
    return {name for name in METHODS if not against(name, wishes)}


def test_texts_domains_and_growth() -> None:
    anything = Requirements(keep_data=True, task_id=True)
    assert fitting(anything) == set(METHODS)
    assert set(METHODS) - fitting(Requirements(task_id=True)) == {"derpp", "joint", "retrain"}
    assert set(METHODS) - fitting(Requirements(keep_data=True)) == {"one", "hat", "kan", "bcl"}
    assert fitting(Requirements(grow=False)).isdisjoint({"classic", "hat", "one"})
    assert "classic" in fitting(Requirements())


@pytest.mark.parametrize(("megabytes", "fits"), [(10, False), (30, True)])
def test_memory_is_measured(megabytes: float, fits: bool) -> None:
    """EWC keeps a copy of its weights and their importances, CLASSIC where training stood; NCL nothing."""
    assert against("ncl", Requirements(memory=0)) == []
    said = against("ewc", Requirements(memory=megabytes))
    assert (said == []) is fits
    if not fits:
        assert "MB after 19 domains (bert_adapter)" in said[0]


def test_memory_counts_domains() -> None:
    few, many = (against("one", Requirements(task_id=True, memory=100, domains=count)) for count in (1, 10))
    assert few == []
    assert "after 10 domains" in many[0]


def test_what_cannot_be_measured_is_said() -> None:
    (said,) = against("lamol", Requirements(memory=100))
    assert "could not be measured" in said
