"""Patience: rate cuts, the floor, the best epoch, and resuming in the midst of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from classic.config import PRESETS, TrainConfig, from_dict, to_dict
from classic.errors import InputError
from classic.methods.base import Group, Method
from classic.modules.heads import HeadConfig
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training import loop
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, TaskLog, learn_task
from classic.training.optimiser import build_optimiser, load_optimiser, optimiser_tensors, set_rate
from classic.types import Example, Scenario, Task

MakeSystem = Callable[..., SystemConfig]
SGD = TrainConfig(
    learning_rate=0.05,
    optimiser="sgd",
    epochs=40,
    batch_size=12,
    clip_norm=10_000.0,
    warmup=0.0,
    schedule="constant",
    patience=2,
    rate_floor=0.05 / 3**2,  # three cuts
)


class Script:
    """Stands for the validation: losses by epoch, the last one for ever."""

    def __init__(self, losses: list[float]) -> None:
        self.losses, self.seen = losses, 0

    def __call__(self, method: Method, examples: tuple[Example, ...], batch_size: int) -> tuple[float, float]:
        loss = self.losses[min(self.seen, len(self.losses) - 1)]
        self.seen += 1
        return loss, 0.5


class Memory(NoWatcher):
    """Remembers rates and weights after every epoch."""

    def __init__(self, method: Method) -> None:
        self.method, self.epochs = method, []

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.epochs.append({name: tensor.clone() for name, tensor in self.method.tensors().items()})


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def scripted(
    losses: list[float], train: TrainConfig, config: SystemConfig, task: Task, monkeypatch: pytest.MonkeyPatch
) -> tuple[TaskLog, Memory]:
    monkeypatch.setattr(loop, "validate", Script(losses))
    method = build(config, 0)
    memory = Memory(method)
    return learn_task(method, task, train, Seeds(0), watcher=memory), memory


# --- cuts, floor, best -----------------------------------------------------------------------------------------------


def test_the_rate_is_cut_when_patience_ends(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = [5.0, 4.0, 4.5, 4.5, 3.0, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5]
    log, memory = scripted(losses, SGD, tiny_system(method="ncl"), toy_tasks[0], monkeypatch)
    assert [record["best"] for record in log.epochs] == [True, True, False, False, True, False, False, False, False]
    # After two epochs without gain; a gain resets the waiting; the third cut falls below the floor and ends the task.
    assert [record["cuts"] for record in log.epochs] == [0, 0, 0, 0, 1, 1, 1, 2, 2]
    assert equal(memory.method.tensors(), memory.epochs[4])


def test_the_papers_early_stop_has_no_cuts(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    train = replace(SGD, patience=5, rate_floor=SGD.learning_rate)
    log, memory = scripted([3.0, 2.0, 2.5], train, tiny_system(method="ncl"), toy_tasks[0], monkeypatch)
    assert len(log.epochs) == 2 + 5
    assert {record["cuts"] for record in log.epochs} == {0}
    assert equal(memory.method.tensors(), memory.epochs[1])


def test_the_number_of_epochs_is_a_limit(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_system(method="ncl")
    log, _ = scripted([1.0], replace(SGD, epochs=3), config, toy_tasks[0], monkeypatch)
    assert len(log.epochs) == 3
    log, _ = scripted([9 - n / 10 for n in range(60)], replace(SGD, epochs=6), config, toy_tasks[0], monkeypatch)
    assert [record["best"] for record in log.epochs] == [True] * 6


def test_without_patience_nothing_is_cut(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    train = replace(SGD, patience=None, epochs=7)
    log, _ = scripted([1.0], train, tiny_system(method="ncl"), toy_tasks[0], monkeypatch)
    assert len(log.epochs) == 7
    assert "cuts" not in log.epochs[-1]


def test_without_validation_examples_there_is_no_early_stop(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    method = build(tiny_system(method="ncl"), 0)
    log = learn_task(method, replace(toy_tasks[0], valid=()), replace(SGD, epochs=5, patience=1), Seeds(0))
    assert len(log.epochs) == 5


def test_training_goes_on_from_the_current_weights_with_a_new_optimiser(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One epoch of one batch after a cut, done by hand: w - (lr / 3) g, no momentum left over."""
    config = tiny_system(method="ncl")
    config = replace(config, head=HeadConfig(dropout=0.0))
    train = replace(SGD, epochs=4, patience=1, momentum=0.9, batch_size=24)
    made: list[dict[str, Any]] = []
    built = build_optimiser

    def watch(*given: Any) -> torch.optim.Optimizer:
        made.append({})
        return built(*given)

    monkeypatch.setattr(loop, "build_optimiser", watch)
    log, memory = scripted([1.0, 2.0], train, config, toy_tasks[0], monkeypatch)
    assert [record["cuts"] for record in log.epochs] == [0, 0, 1, 2]
    assert len(made) == 1 + 3  # one at the start, one at each cut
    assert not equal(memory.epochs[1], memory.epochs[0])
    # From the weights after epoch 1, not from the best ones after epoch 0.
    method = build(config, 0)
    method.start_task(toy_tasks[0], Seeds(0))
    method.load_tensors(memory.epochs[1])
    Seeds(0).seed_dropout(0, "train", 2)
    rows = torch.randperm(24, generator=Seeds(0).generator("shuffle", 0, "train", 2)).tolist()
    backbone = method.model.backbone
    lengths = backbone.lengths(toy_tasks[0].train)
    rows = sorted(rows, key=lambda row: lengths[row])
    method.train()
    batch = backbone.collate([toy_tasks[0].train[row] for row in rows], rows)
    sum(method.loss(batch, None).values()).backward()  # type: ignore[arg-type]
    for name, parameter in method.named_parameters():
        if parameter.grad is not None:
            wanted = memory.epochs[1][name] - 0.05 / 3 * parameter.grad
            assert torch.allclose(memory.epochs[2][name], wanted, atol=1e-7), name


def test_every_group_is_cut() -> None:
    groups = [Group((nn.Parameter(torch.ones(2)),)), Group((nn.Parameter(torch.ones(2)),), 0.9)]
    optimiser = build_optimiser(groups, SGD)
    set_rate(optimiser, SGD, 0, 10, cuts=2)
    assert [group["lr"] for group in optimiser.param_groups] == pytest.approx([0.05 / 9, 0.1])
    set_rate(optimiser, SGD, 0, 10)
    assert [group["lr"] for group in optimiser.param_groups] == [0.05, 0.9]


# --- resuming --------------------------------------------------------------------------------------------------------


class Killed(Exception):
    """Stands for a kill."""


class KilledAfterSaving(Checkpoint):
    """Ends a run when an epoch's state has just been saved."""

    def __init__(self, path: Path, epoch: int) -> None:
        super().__init__(path, "job")
        self.epoch = epoch

    def save(self, tensors: dict[str, Tensor], counters: dict[str, Any]) -> None:
        super().save(tensors, counters)
        if counters["epoch"] == self.epoch:
            raise Killed


@pytest.mark.parametrize("how", [("ncl", 0.9, 0.6), ("hat", 0.0, 3.0)], ids=lambda how: how[0])
def test_a_run_resumed_at_every_epoch_ends_with_the_same_bytes(
    how: tuple[str, float, float], tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    method, momentum, rate = how
    config = tiny_system(method=method)
    # A rate far too large, so that epochs get worse and the rate is cut soon.
    train = replace(SGD, learning_rate=rate, momentum=momentum, patience=1, rate_floor=rate / 3**2, epochs=12)
    whole = build(config, 0)
    log = learn_task(whole, toy_tasks[0], train, Seeds(0))
    assert log.epochs[-1]["cuts"] == 2
    assert 4 <= len(log.epochs) < 12
    for epoch in range(1, len(log.epochs) + 1):
        path = tmp_path / f"{epoch}.safetensors"
        with pytest.raises(Killed):
            learn_task(build(config, 0), toy_tasks[0], train, Seeds(0), KilledAfterSaving(path, epoch))
        again = build(config, 0)
        resumed = learn_task(again, toy_tasks[0], train, Seeds(0), Checkpoint(path, "job"))
        assert equal(again.tensors(), whole.tensors()), epoch
        assert resumed.epochs == log.epochs


# --- sgd and its recipe ----------------------------------------------------------------------------------------------


def test_momentum_is_saved_and_goes_on() -> None:
    config = replace(SGD, momentum=0.9)
    whole, parted = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    one, two = build_optimiser([Group((whole,))], config), build_optimiser([Group((parted,))], config)
    for step in range(5):
        if step == 2:
            saved = {name: value.clone() for name, value in optimiser_tensors(two).items()}
            assert list(saved) == ["0.momentum_buffer"]
            two = build_optimiser([Group((parted,))], config)
            load_optimiser(two, saved)
        for parameter, optimiser in ((whole, one), (parted, two)):
            parameter.grad = torch.tensor([1.0, -2.0, step])
            optimiser.step()
    assert torch.equal(whole, parted)


def frozen(
    preset: Any,
    method: str = "ewc",
    backbone: str = "bert_frozen",
    scenario: Scenario = Scenario.DIL,
    *,
    quick: bool = False,
) -> TrainConfig:
    return SystemConfig.preset(preset, method=method, backbone=backbone, scenario=scenario, quick=quick).train


def test_the_recipe_of_the_frozen_systems() -> None:
    paper, authors, default = (frozen(name) for name in ("paper", "authors", "default"))
    for config in (paper, authors):
        assert (config.optimiser, config.learning_rate, config.momentum) == ("sgd", 0.05, 0.0)
        assert (config.epochs_for(50), config.epochs_for(5000)) == (100, 100)
        assert (config.clip_norm, config.weight_decay, config.selection) == (10_000.0, 0.0, "loss")
    assert (paper.batch_size, paper.patience, authors.patience, default.patience) == (64, 5, 3, None)
    # Six cuts lead from 0.05 below 1e-4; the paper stops at the first.
    assert next(cuts for cuts in range(9) if authors.learning_rate / 3**cuts < authors.rate_floor) == 6
    assert paper.rate_floor > paper.learning_rate / 3
    quick = frozen("paper", quick=True)
    assert quick.epochs_for(50) == 20
    assert replace(quick, epochs=100, large_epochs=100, patience=5) == paper
    assert (default.optimiser, default.epochs_for(50)) == ("adam", 16)
    assert frozen("paper", backbone="w2v") == paper
    words, few = frozen("default", backbone="w2v"), frozen("default", quick=True)
    assert words.epochs_for(50) > default.epochs_for(50) > few.epochs_for(50)


def test_some_methods_have_their_own_in_the_released_scripts() -> None:
    for backbone in ("bert_frozen", "w2v"):
        owm, ucl = (frozen("authors", method, backbone=backbone) for method in ("owm", "ucl"))
        assert (owm.momentum, owm.clip_norm, owm.patience) == (0.9, 100.0, 5)
        assert (ucl.momentum, ucl.clip_norm, ucl.patience) == (0.0, 100.0, 5)
        # UCL is cut five times, OWM ten; everybody else six times.
        cuts = [next(n for n in range(20) if c.learning_rate / 3**n < c.rate_floor) for c in (ucl, owm)]
        assert cuts == [6, 10]
    assert [frozen("authors", method).batch_size for method in ("ncl", "derpp", "ewc")] == [64, 64, 32]
    assert frozen("authors", "ncl", scenario=Scenario.TIL).batch_size == 256
    assert frozen("paper", "owm").momentum == 0.0


@pytest.mark.parametrize("name", PRESETS)
def test_the_recipe_survives_json(name: Any) -> None:
    config = frozen(name)
    assert from_dict(TrainConfig, to_dict(config)) == config


def test_lists_in_configurations() -> None:
    from classic.backbones.bert_frozen import BertFrozenConfig

    config = BertFrozenConfig(hidden=(768, 300))
    assert to_dict(config)["hidden"] == [768, 300]
    assert from_dict(BertFrozenConfig, to_dict(config)) == config
    for wrong in (5, ["wide"], [1.5], "34"):
        with pytest.raises(InputError, match=r"configuration\.hidden"):
            from_dict(BertFrozenConfig, {"hidden": wrong})


def test_no_patience_at_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"train\.patience is 0"):
        replace(SGD, patience=0)
