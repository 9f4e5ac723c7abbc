"""Six real domains over the embedded encoder: earlier models are kept to the last bit, and decay would break them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from classic.data.tasks import load_domain
from classic.evaluation import accuracy
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Task

SIX = ("CanonD500", "Ipod", "Nikon4300", "Canon100", "Linksys", "Diaper")  # the six smallest
QUICK = {"train.epochs": 1, "backbone.width": 24, "train.learning_rate": 3e-3, "method.gates.fresh": 0.1}


@pytest.fixture
def six_domains(asc19: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    monkeypatch.setenv("CLASSIC_DATA", str(asc19))
    return [load_domain(name) for name in SIX]


def said_about(method, tasks: list[Task], of_task: int) -> list[torch.Tensor]:
    method.eval()
    with torch.no_grad():
        outputs = [method.output(method.model.backbone.collate(task.test), of_task) for task in tasks]
    return [tensor for output in outputs for tensor in (output.features, output.logits)]


def test_six_real_domains_stay_to_the_last_bit(six_domains: list[Task]) -> None:
    config = SystemConfig.preset(scenario=Scenario.TIL, changes=QUICK)
    method = build(config, 0)
    then, scores = [], []
    for number, task in enumerate(six_domains):
        learn_task(method, task, config.train, Seeds(0))
        then.append(said_about(method, six_domains[: number + 1], number))
        scores.append(_accuracy(then[-1][-1], task))
    for number, task in enumerate(six_domains):
        now = said_about(method, six_domains[: number + 1], number)
        assert all(torch.equal(new, old) for new, old in zip(now, then[number], strict=True))
        assert _accuracy(now[-1], task) == scores[number]  # with the task given, nothing can be forgotten


def test_decay_breaks_a_real_domain(six_domains: list[Task]) -> None:
    """The control: the same comparison fails when protected weights may shrink."""
    config = SystemConfig.preset(changes=QUICK | {"train.weight_decay": 0.01})
    method = build(config, 0)
    learn_task(method, six_domains[0], config.train, Seeds(0))
    then = said_about(method, six_domains[:1], 0)
    learn_task(method, six_domains[1], config.train, Seeds(0))
    now = said_about(method, six_domains[:1], 0)
    assert not torch.equal(now[0], then[0])


def _accuracy(logits: torch.Tensor, task: Task) -> float:
    return accuracy([e.polarity.column for e in task.test if e.polarity], logits.argmax(dim=1).tolist())
