"""EWC: its Fisher against a slow loop, its running average, its pull."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.errors import IncompatibleError
from classic.methods.ewc import Ewc, EwcConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Step, Task

MakeSystem = Callable[..., SystemConfig]
STEP = Step(1, 0, 1, 0, 1)


def make(config: SystemConfig) -> Ewc:
    method = build(config, 0)
    assert isinstance(method, Ewc)
    return method


def slow_fisher(method: Ewc, task: Task, size: int) -> Tensor:
    """Parameter by parameter, batch by batch."""
    method.eval()
    found = []
    for parameter in method.pulled:
        total = torch.zeros_like(parameter)
        for start in range(0, len(task.train), size):
            examples = task.train[start : start + size]
            batch = method.model.backbone.collate(examples)
            method.zero_grad()
            cross_entropy(method.model(batch).logits, batch.labels).backward()
            if parameter.grad is not None:
                total += len(examples) * parameter.grad**2
        found.append((total / len(task.train)).reshape(-1))
    method.zero_grad()
    return torch.cat(found).detach()


@pytest.mark.parametrize("scenario", list(Scenario))
def test_the_fisher_is_the_slow_loops(scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="ewc", scenario=scenario, changes={"train.epochs": 1, "method.fisher_batch": 10})
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    first = slow_fisher(method, toy_tasks[0], 10)  # batches of 10, 10 and 4
    torch.testing.assert_close(method.fisher, first, rtol=1e-4, atol=1e-9)
    assert torch.equal(method.anchor, torch.cat([p.detach().reshape(-1) for p in method.pulled]))
    learn_task(method, toy_tasks[1], config.train, Seeds(0))
    second = slow_fisher(method, toy_tasks[1], 10)
    torch.testing.assert_close(method.fisher, (second + first) / 2, rtol=1e-4, atol=1e-9)
    learn_task(method, toy_tasks[2], config.train, Seeds(0))
    third = slow_fisher(method, toy_tasks[2], 10)
    torch.testing.assert_close(method.fisher, (third + first + second) / 3, rtol=1e-4, atol=1e-9)
    assert float(first.sum()) > 0
    assert method.bytes_kept() == 2 * 4 * sum(method.sizes)


def test_the_head_is_pulled_in_dil_and_no_business_of_other_tasks_in_til(tiny_system: MakeSystem) -> None:
    shared = make(tiny_system(method="ewc"))
    assert any(p is shared.model.head.current.weight for p in shared.pulled)
    alone = make(tiny_system(method="ewc", scenario=Scenario.TIL))
    assert len(alone.pulled) == len(shared.pulled) - 2


def test_the_penalty_is_the_formula(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="ewc", changes={"train.epochs": 1})
    method = make(config)
    batch = method.model.backbone.collate(toy_tasks[0].train[:4])
    assert list(method.loss(batch, STEP)) == ["ce"]  # nothing to be pulled to yet
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    assert float(method.loss(batch, STEP)["ewc"].detach()) == 0.0
    with torch.no_grad():
        for parameter in method.pulled:
            parameter.add_(0.01)
    expected = 5000 / 2 * float((method.fisher.double() * 0.01**2).sum())
    assert float(method.loss(batch, STEP)["ewc"].detach()) == pytest.approx(expected, rel=1e-3)


def test_it_stays_nearer_to_what_mattered_than_ncl(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    moved = {}
    for strength in (0.0, 1e6):
        changes = {"train.epochs": 4, "train.learning_rate": 5e-3, "method.strength": strength}
        config = tiny_system(method="ewc", changes=changes)
        method = make(config)
        learn_task(method, toy_tasks[0], config.train, Seeds(0))
        fisher, anchor = method.fisher, method.anchor
        learn_task(method, toy_tasks[1], config.train, Seeds(0))
        moved[strength] = float((fisher * (method.anchor - anchor).square()).sum())
    assert moved[1e6] < 0.2 * moved[0.0]


def test_dropout_is_on_only_in_the_authors_way(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    found = {}
    for mode in ("eval", "train"):
        method = make(tiny_system(method="ewc", changes={"method.fisher_mode": mode}))
        method.start_task(toy_tasks[0], Seeds(0))
        found[mode] = method.measure(toy_tasks[0])
        torch.rand(3)  # whatever was drawn in between
        assert torch.equal(found[mode], method.measure(toy_tasks[0]))
    assert not torch.equal(found["eval"], found["train"])
    assert SystemConfig.preset("authors", method="ewc").method_config["fisher_mode"] == "train"


def test_it_keeps_no_data(tiny_system: MakeSystem) -> None:
    assert not Ewc.keeps_data
    assert set(make(tiny_system(method="ewc")).facts()) == {"learned", "heads"}


def test_a_network_without_shared_weights_is_refused(tiny_encoder: Path) -> None:
    backbone = BertFrozen(BertFrozenConfig(encoder=str(tiny_encoder), trunk="mean"), torch.Generator())
    with pytest.raises(IncompatibleError, match="trains nothing that tasks share"):
        Ewc(Model(backbone, Head(64, Scenario.TIL, 0.0, torch.Generator())), EwcConfig())
