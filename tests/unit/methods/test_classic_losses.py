"""CLASSIC's losses pull, and its masks move."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from pathlib import Path
from random import Random

import pytest
import torch

from classic.config import from_dict
from classic.data.sequences import order
from classic.data.tasks import load_domain
from classic.losses import lost_odds
from classic.methods.base import Group
from classic.methods.classic import Classic
from classic.methods.classic import method as classic_method
from classic.methods.classic.config import ClassicConfig
from classic.methods.classic.questions import other_words
from classic.modules.gates import GateConfig
from classic.seeding import Seeds
from classic.systems.names import parse
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.training.optimiser import build_optimiser, rate_factor
from classic.types import Example, Polarity, Task

MakeSystem = Callable[..., SystemConfig]
MASKED = ["classic@bert_adapter", "classic-average@bert_adapter", "hat+last@bert_adapter", "hat+last@bert_frozen"]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", MASKED)
def test_units_can_cross_within_the_steps_of_the_smallest_real_domain(asc19: Path, name: str, quick: bool) -> None:
    config = parse(name, quick=quick)
    train, gates = config.train, from_dict(GateConfig, config.method_config["gates"])
    smallest = min(len(load_domain(domain).train) for domain in order(0))
    steps = train.epochs_for(smallest) * ceil(smallest / train.batch_size)
    embedding = torch.nn.Parameter(torch.zeros(1))
    optimiser = build_optimiser([Group((embedding,), gates.learning_rate, gates.travel)], train, steps)
    reach = sum(optimiser.param_groups[0]["base_lr"] * rate_factor(train, step, steps) for step in range(steps))
    assert reach > 2 * gates.init_size  # Adam goes at most about its rate in a step
    assert reach > 0.999 * gates.clamp  # and no unit is out of reach for ever


@pytest.mark.parametrize(("method", "average"), [("classic", True), ("classic", False), ("hat", False)])
def test_masks_open_and_close_units(
    method: str, average: bool, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method=method, changes={"additions.average": average, "method.gates.fresh": 0.1})
    made = build(config, 0)
    moves = []
    for task in toy_tasks[:3]:
        learn_task(made, task, config.train, Seeds(0))
        moves.append(made.report()["masks"])
    assert sum(each["opened"] for each in moves) > 0
    assert sum(each["closed"] for each in moves) > 0
    assert all(each["reused"] > 0 for each in moves[1:])


def shares(config: SystemConfig, tasks: tuple[Task, ...]) -> dict[str, float]:
    method = build(config, 0)
    for task in tasks:
        log = learn_task(method, task, config.train, Seeds(0))
    found: dict[str, float] = log.epochs[-1]["shares"]
    return found


def test_every_loss_pulls_with_its_share(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    wished = ClassicConfig()
    expected = {
        name: getattr(wished, name) for name in ("csc", "ced", "cks", "absent")
    }  # the second task has no neutral
    assert shares(tiny_system(), toy_tasks[:2]) == pytest.approx(expected, rel=0.4)
    fixed = {"method.pull.weighing": "fixed", "method.csc": 1e-3}
    assert shares(tiny_system(changes=fixed), toy_tasks[:2])["csc"] < 0.05


@pytest.mark.parametrize("given", [0.0, 0.5, 1.0])
def test_absent_classes_get_odds_back(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], given: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what "neutral" lost over other words of the second domain's sentences, the given part is lost no more."""

    def lost(part: float) -> float:
        monkeypatch.setattr(classic_method, "_GIVEN_BACK", part)
        config = tiny_system(changes={"train.learning_rate": 0.01})
        method = build(config, 0)
        assert isinstance(method, Classic)
        learn_task(method, toy_tasks[0], config.train, Seeds(0))
        asked = other_words(toy_tasks[1], 2, Random(Seeds(0).number("questions", 1)))
        before = method.teachers.say(method, asked, [0])[1][:, 0]
        learn_task(method, toy_tasks[1], config.train, Seeds(0))
        after = method.teachers.say(method, asked, [1])[1][:, 0]
        return lost_odds(before, after, torch.tensor([False, False, True]))

    assert abs(lost(0.0)) > 0.01
    assert lost(given) == pytest.approx((1 - given) * lost(0.0), abs=1e-3)


def test_other_words_are_no_aspects_and_stand_once() -> None:
    rows = [
        Example("Big screen, big price, and the stand wobbles.", "screen", Polarity.POSITIVE),
        Example("Big screen, big price, and the stand wobbles.", "price tag", Polarity.NEGATIVE),
        Example("No.", "No", Polarity.NEGATIVE),
    ]
    found = other_words(Task("toy", tuple(rows)), 9, Random(0))
    assert {question.aspect for question in found} == {"and", "the", "stand", "wobbles"}  # "big" stands twice
    assert all(q.span and q.sentence[slice(*q.span)] == q.aspect and q.polarity is None for q in found)


def test_a_projection_head_lives_for_one_task(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(changes={"method.pull.projection": 8, "train.epochs": 1})
    method = build(config, 0)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    assert not [name for name in method.tensors() if "projection" in name]
    method.start_task(toy_tasks[1], Seeds(0))
    groups = method.plan(toy_tasks[1])[0].groups
    helpers = {id(parameter) for parameter in groups[-1].parameters}
    assert groups[-1].learning_rate == 0.01
    assert {id(p) for name, p in method.named_parameters() if name.startswith(("projection.", "attention."))} == helpers
