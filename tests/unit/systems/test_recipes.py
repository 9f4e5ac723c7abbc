"""One table of settings: every rule fits something, and the systems of the paper have the paper's networks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from classic.config import PRESETS
from classic.systems.recipes import RULES, Asked, recipe
from classic.systems.system import BACKBONES, METHODS, SystemConfig
from classic.types import Scenario

EVERYTHING = [
    Asked(*each)
    for each in itertools.product(
        PRESETS, ("quick", "full"), METHODS, BACKBONES, Scenario, (False, True), (None, "mpnet")
    )
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: next(iter(rule[0])))
def test_every_rule_is_of_use_and_names_fields_that_exist(rule: tuple[dict[str, Any], dict[str, Any]]) -> None:
    settings, where = rule
    fits = [asked for asked in EVERYTHING if all(getattr(asked, name) in values for name, values in where.items())]
    assert fits
    assert any(recipe(asked)[key] == value for key, value in settings.items() for asked in fits)


def test_every_system_can_be_made_of_its_recipe() -> None:
    for asked in EVERYTHING:
        SystemConfig.preset(
            asked.preset,
            method=asked.method,
            backbone=asked.backbone,
            scenario=asked.scenario,
            quick=asked.budget == "quick",
        )


@pytest.mark.parametrize("preset", PRESETS)
def test_over_word_vectors_every_method_has_the_papers_network(preset: Any) -> None:
    networks = {"one": "gated", "ncl": "gated", "hat": "kim_fc", "owm": "kim_fc", "kan": "mean", "srk": "mean"}
    for method in ("one", "ncl", "hat", "owm", "kan", "srk", "ewc", "ucl", "derpp"):
        config = SystemConfig.preset(preset, method=method, backbone="w2v")
        assert config.backbone_config["trunk"] == networks.get(method, "kim"), method
