"""The finder that comes with the package."""

from __future__ import annotations

import pytest

from classic.errors import StoreError
from classic.finding.finder import FinderConfig
from classic.learning import starter
from classic.learning.starter import starter_finder, starter_learner
from classic.prediction.predictor import Predictor


def test_it_finds_at_once() -> None:
    predictor = Predictor(starter_learner(), 1)
    (found,) = predictor.find(["The zoom is superb but the menu is a maze."])
    assert [(each.aspect, str(each.prediction.polarity)) for each in found] == [
        ("zoom", "positive"),
        ("menu", "negative"),
    ]


def test_its_record_is_of_domains_it_was_not_shown() -> None:
    kept, record = starter_finder("minilm", FinderConfig(), 0)
    assert kept.tensors
    assert record["finder"]["f1"] > 0.8


def test_a_store_of_another_shape_does_without() -> None:
    kept, record = starter_finder("minilm", FinderConfig(width=8), 0)
    assert kept.tensors is None
    assert record == {}


def test_damage_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starter, "FINDER_SHA256", "0" * 64)
    starter._shipped_finder.cache_clear()
    try:
        with pytest.raises(StoreError, match="damaged"):
            starter_finder("minilm", FinderConfig(), 0)
    finally:
        starter._shipped_finder.cache_clear()
