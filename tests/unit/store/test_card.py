"""The card of a version: what was measured is in it, what was not is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from classic.evaluation.details import by_class, intervals
from classic.store.card import write_card
from classic.store.store import Store


@pytest.fixture
def record(taught_store: Path) -> dict[str, Any]:
    return Store.open(taught_store).version().record


def card(record: dict[str, Any]) -> str:
    system = {
        "method": "classic",
        "backbone": "bert_adapter",
        "backbone_config": {},
        "scenario": "dil",
        "task_id": "last",
    }
    return write_card(record, system, ["screen", record["domain"]])


def test_scores_have_their_interval_and_every_class_its_line(record: dict[str, Any]) -> None:
    text, test = card(record), record["scores"]["test"]
    low, high = intervals(test, record["classes"])["accuracy"]
    assert f"| test accuracy | {test['accuracy']:.4f} |" in text
    assert f"| test accuracy, 95 % interval | {low:.3f} to {high:.3f} |" in text
    lines = [line for line in text.splitlines() if line.startswith(tuple(f"| {name} |" for name in by_class(test)))]
    assert [line.split(" | ")[1] for line in lines] == [str(own["examples"]) for own in by_class(test).values()]


def test_a_domain_without_test_rows_says_validation_and_one_without_either_nothing(record: dict[str, Any]) -> None:
    valid = card(record | {"scores": {"valid": record["scores"]["test"]}})
    assert "| validation accuracy, 95 % interval |" in valid and "## Classes (validation examples)" in valid
    nothing = card(record | {"scores": {}})
    assert "accuracy" not in nothing and "## Classes" not in nothing
