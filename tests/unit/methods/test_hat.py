"""HAT's recipe: masks leave a network something to learn with."""

from __future__ import annotations

import pytest

from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.seeding import Seeds
from classic.systems.names import parse
from classic.systems.system import build
from classic.training.loop import learn_task

ADAPTERS_MASKS = {"method.gates.learning_rate": 0.005, "method.gates.sparsity": 0.75, "method.gates.fresh_first": 0.25}


@pytest.mark.parametrize(("changes", "kept"), [({}, True), (ADAPTERS_MASKS, False)])
def test_sparsity_does_not_shut_a_small_network(changes: dict[str, float], kept: bool) -> None:
    config = parse("hat+last@w2v/dil", changes=changes, quick=True)
    method = build(config, 0)
    learn_task(method, load_demo(DEMO_DOMAINS[0]), config.train, Seeds(0))
    assert (method.gates.capacity()["used"] > 0.25) is kept
