"""The loop: what it does, and that a killed run ends with the same bytes as one left alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from classic.config import TrainConfig
from classic.evaluation import macro_f1
from classic.evaluation.answers import answer
from classic.methods.base import Method
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task, validate
from classic.types import Scenario, Step, Task, TaskId

MakeSystem = Callable[..., SystemConfig]
EPOCHS, BATCHES = 3, 3


class Killed(Exception):
    """Stands for a kill."""


class Killer(NoWatcher):
    """Ends a run at one place."""

    def __init__(self, place: tuple[Any, ...]) -> None:
        self.place = place

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        self._meet("start")

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        self._meet("step", step.epoch, step.batch)

    def on_epoch(self, record: dict[str, Any]) -> None:
        self._meet("epoch", record["epoch"])

    def _meet(self, *place: Any) -> None:
        if place == self.place:
            raise Killed


class KilledAfterSaving(Checkpoint):
    """Ends a run when an epoch's state has just been saved."""

    def __init__(self, path: Path, job: str, epoch: int) -> None:
        super().__init__(path, job)
        self.epoch = epoch

    def save(self, tensors: dict[str, Tensor], counters: dict[str, Any]) -> None:
        super().save(tensors, counters)
        if counters["epoch"] == self.epoch:
            raise Killed


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def kept(method: Method) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def teach(config: SystemConfig, tasks: tuple[Task, ...], seed: int = 0, train: TrainConfig | None = None) -> Method:
    method = build(config, seed)
    for task in tasks:
        learn_task(method, task, train or config.train, Seeds(seed))
    return method


def contrary(task: Task) -> Task:
    """A task whose validation examples contradict its training examples: the more is learned, the worse they score."""
    swapped = dict(zip(task.classes, (*task.classes[1:], task.classes[0]), strict=True))
    return replace(task, valid=tuple(replace(each, polarity=swapped[each.polarity]) for each in task.train))


class Base:
    """A system that has learned one task; gives fresh copies of itself, as a store would."""

    def __init__(self, config: SystemConfig, task: Task) -> None:
        self.config = config
        method = teach(config, (task,))
        self.facts, self.tensors = copy.deepcopy(method.facts()), kept(method)

    def fresh(self) -> Method:
        method = build(self.config, 0)
        method.restore(self.facts, self.tensors)
        return method


# --- resuming ---

PLACES: list[tuple[Any, ...]] = [
    ("start",),
    *(("step", epoch, batch) for epoch in range(EPOCHS) for batch in range(BATCHES)),
    *(("epoch", epoch) for epoch in range(EPOCHS)),
    *(("saved", epoch) for epoch in range(1, EPOCHS + 1)),
]
SYSTEMS = {
    "classic dil": ("default", "classic", Scenario.DIL),
    "classic til": ("default", "classic", Scenario.TIL),
    "paper": ("paper", "classic", Scenario.DIL),
    "authors": ("authors", "classic", Scenario.DIL),
    "hat": ("default", "hat", Scenario.DIL),
    "ncl til": ("default", "ncl", Scenario.TIL),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_run_killed_anywhere_ends_with_the_same_bytes(
    name: str, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    preset, kind, scenario = SYSTEMS[name]
    changes = {"train.learning_rate": 1e-3, "train.joined": 0.5}
    base = Base(tiny_system(preset, kind, scenario, changes), toy_tasks[0])
    train, task = base.config.train, toy_tasks[1]
    whole = base.fresh()
    log = learn_task(whole, task, train, Seeds(0))
    assert len(log.epochs) == EPOCHS
    # All places for the full method; for the others one of each sort.
    places = PLACES if name == "classic dil" else [("start",), ("step", 1, 1), ("epoch", 2), ("saved", 1), ("saved", 3)]
    for number, place in enumerate(places):
        path = tmp_path / f"{number}.safetensors"
        checkpoint = KilledAfterSaving(path, "job", place[1] if place[0] == "saved" else -1)
        with pytest.raises(Killed):
            learn_task(base.fresh(), task, train, Seeds(0), checkpoint, Killer(place))
        again = base.fresh()
        resumed = learn_task(again, task, train, Seeds(0), Checkpoint(path, "job"))
        assert equal(again.tensors(), whole.tensors()), place
        assert again.facts() == whole.facts()
        assert again.report() == whole.report()
        assert resumed.epochs == log.epochs


def test_a_run_killed_in_every_epoch_ends_with_the_same_bytes(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    base = Base(tiny_system(), toy_tasks[0])
    train, task = base.config.train, toy_tasks[1]
    whole = base.fresh()
    learn_task(whole, task, train, Seeds(0))
    checkpoint = Checkpoint(tmp_path / "c.safetensors", "job")
    done = []

    class Watch(Killer):
        def on_start(self, task: str, phase: str, epochs: int, batches: int, done_epochs: int) -> None:
            done.append(done_epochs)

    for epoch in range(EPOCHS):
        with pytest.raises(Killed):
            learn_task(base.fresh(), task, train, Seeds(0), checkpoint, Watch(("step", epoch, 1)))
    last = base.fresh()
    learn_task(last, task, train, Seeds(0), checkpoint, Watch(()))
    assert equal(last.tensors(), whole.tensors())
    assert done == [0, 0, 1, 2]  # at most one epoch is done twice


@pytest.mark.parametrize("patience", [None, 1])
def test_the_best_epoch_and_the_cuts_of_the_rate_survive_a_kill(
    patience: int | None, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    base = Base(tiny_system(), toy_tasks[0])
    train = replace(base.config.train, learning_rate=5e-3, epochs=5, patience=patience, rate_floor=1e-9)
    task, whole = contrary(toy_tasks[1]), base.fresh()
    log = learn_task(whole, task, train, Seeds(0))
    assert sum(record["best"] for record in log.epochs) < 5  # so that there is something to remember
    assert (log.epochs[-1].get("cuts", 0) > 0) == (patience is not None)
    for epoch in range(1, 6):
        path = tmp_path / f"{epoch}.safetensors"
        with pytest.raises(Killed):
            learn_task(base.fresh(), task, train, Seeds(0), KilledAfterSaving(path, "job", epoch))
        again = base.fresh()
        resumed = learn_task(again, task, train, Seeds(0), Checkpoint(path, "job"))
        assert equal(again.tensors(), whole.tensors()), epoch
        assert resumed.epochs == log.epochs


def test_where_the_last_epoch_counts_it_is_not_kept_twice_and_checkpoints_may_be_left_out(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Base(tiny_system(changes={"train.selection": "last"}), toy_tasks[0])
    train, task, whole = base.config.train, toy_tasks[1], base.fresh()
    log = learn_task(whole, task, train, Seeds(0))
    path = tmp_path / "c.safetensors"
    with pytest.raises(Killed):
        learn_task(base.fresh(), task, train, Seeds(0), KilledAfterSaving(path, "job", 2))
    saved = Checkpoint(path, "job").load()
    assert saved is not None and not [name for name in saved[0] if name.startswith("best/")]
    # One that an earlier release wrote has the best epoch in it, too; it must not come back at the end.
    stale = {name.replace("model/", "best/", 1): torch.zeros_like(tensor) for name, tensor in saved[0].items()}
    Checkpoint(path, "job").save(stale | saved[0], saved[1])
    again = base.fresh()
    assert learn_task(again, task, train, Seeds(0), Checkpoint(path, "job")).epochs == log.epochs
    assert equal(again.tensors(), whole.tensors())
    monkeypatch.setattr(Checkpoint, "due", False)
    seldom = base.fresh()
    learn_task(seldom, task, train, Seeds(0), Checkpoint(tmp_path / "never.safetensors", "job"))
    assert not (tmp_path / "never.safetensors").exists() and equal(seldom.tensors(), whole.tensors())


def test_patience_ends_a_task_at_the_floor(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="ncl")
    train = replace(config.train, learning_rate=5e-3, epochs=30, patience=2, rate_floor=5e-3)
    log = learn_task(build(config, 0), contrary(toy_tasks[0]), train, Seeds(0))
    best = max(epoch for epoch, record in enumerate(log.epochs) if record["best"])
    assert len(log.epochs) == best + 1 + 2 < 30


def test_a_checkpoint_of_another_job_is_not_taken_up(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    base = Base(tiny_system(), toy_tasks[0])
    path = tmp_path / "c.safetensors"
    with pytest.raises(Killed):
        learn_task(
            base.fresh(), toy_tasks[1], base.config.train, Seeds(5), Checkpoint(path, "seed 5"), Killer(("step", 2, 0))
        )
    whole, again = base.fresh(), base.fresh()
    learn_task(whole, toy_tasks[1], base.config.train, Seeds(0))
    learn_task(again, toy_tasks[1], base.config.train, Seeds(0), Checkpoint(path, "seed 0"))
    assert equal(again.tensors(), whole.tensors())


# --- seeds ---


@pytest.mark.parametrize("method", ["ncl", "hat", "classic"])
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(
    method: str, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method=method)
    first = teach(config, toy_tasks[:2], 1)
    torch.manual_seed(99)  # whatever was drawn before
    second, other = teach(config, toy_tasks[:2], 1), teach(config, toy_tasks[:2], 2)
    assert equal(first.tensors(), second.tensors())
    assert not equal(first.tensors(), other.tensors())
    assert first.tensors().keys() == other.tensors().keys()


def test_looking_on_changes_nothing(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    config = tiny_system()
    alone, watched = build(config, 0), build(config, 0)
    learn_task(alone, toy_tasks[0], config.train, Seeds(0))
    seen: list[str] = []

    class Watch(NoWatcher):
        def on_step(self, step: Step, terms: dict[str, float]) -> None:
            seen.append(",".join(sorted(terms)))
            torch.rand(0)

    learn_task(watched, toy_tasks[0], config.train, Seeds(0), Checkpoint(tmp_path / "c", "j"), Watch())
    assert equal(alone.tensors(), watched.tensors())
    assert seen == ["ce,csc"] * EPOCHS * BATCHES


# --- the best epoch ---


class Memory(NoWatcher):
    """Remembers the weights after every epoch."""

    def __init__(self, method: Method) -> None:
        self.method, self.epochs = method, []

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.epochs.append(kept(self.method))


@pytest.mark.parametrize("selection", ["loss", "macro_f1", "last"])
def test_the_best_epoch_is_kept(selection: str, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="ncl")
    train = replace(config.train, learning_rate=5e-3, epochs=6, selection=selection)
    method = build(config, 0)
    memory = Memory(method)
    log = learn_task(method, contrary(toy_tasks[0]), train, Seeds(0), watcher=memory)
    score = {
        "loss": lambda record: -record["valid_loss"],
        "macro_f1": lambda record: record["valid_f1"],
        "last": lambda record: record["epoch"],
    }[selection]
    scores = [score(record) for record in log.epochs]
    best = scores.index(max(scores))
    assert (best == 5) == (selection == "last")
    assert max(epoch for epoch, record in enumerate(log.epochs) if record["best"]) == best
    assert equal(method.tensors(), memory.epochs[best])
    assert sum(equal(method.tensors(), epoch) for epoch in memory.epochs) == 1


def test_without_validation_examples_the_last_epoch_is_kept(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="ncl")
    method = build(config, 0)
    memory = Memory(method)
    log = learn_task(method, replace(toy_tasks[0], valid=()), config.train, Seeds(0), watcher=memory)
    assert equal(method.tensors(), memory.epochs[-1])
    assert all(record["best"] and "valid_loss" not in record for record in log.epochs)


def test_validation_is_what_it_says(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    method = teach(tiny_system(), toy_tasks[:1])
    examples = toy_tasks[0].valid
    loss, f1 = validate(method, examples, 5)
    batch = method.model.backbone.collate(examples)
    with torch.no_grad():
        logits = method.answer(batch)
    assert loss == pytest.approx(float(torch.nn.functional.cross_entropy(logits, batch.labels)), rel=1e-4)
    assert f1 == pytest.approx(macro_f1(batch.labels.tolist(), logits.argmax(dim=1).tolist()))


# --- learning ---


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("method", ["ncl", "hat", "classic"])
def test_a_toy_task_is_learned(
    method: str, scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    changes = {"train.epochs": 10, "train.learning_rate": 5e-3}
    learned = teach(tiny_system(method=method, scenario=scenario, changes=changes), toy_tasks[:2])
    said = answer(learned, toy_tasks[1].test, TaskId.GIVEN, 1).argmax(dim=1).tolist()
    assert macro_f1([example.polarity.column for example in toy_tasks[1].test], said) > 0.9


@pytest.mark.parametrize("method", ["ncl", "hat", "classic"])
def test_only_what_may_train_is_trained(method: str, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    learned = build(tiny_system(method=method), 0)
    frozen = {name: p.clone() for name, p in learned.named_parameters() if not p.requires_grad}
    before = kept(learned)
    learn_task(learned, toy_tasks[0], tiny_system().train, Seeds(0))
    after = dict(learned.named_parameters())
    assert len(frozen) > 20
    assert all(torch.equal(after[name], value) for name, value in frozen.items())
    assert set(learned.tensors()).isdisjoint(frozen)
    assert any(not torch.equal(value, before[name]) for name, value in learned.tensors().items())


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("method", ["ncl", "hat", "classic"])
def test_a_saved_method_comes_back(
    method: str, scenario: Scenario, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method=method, scenario=scenario)
    learned = teach(config, toy_tasks[:3]).eval()
    again = build(config, 0).eval()
    again.restore(learned.facts(), kept(learned))
    batch = learned.model.backbone.collate(toy_tasks[1].test)
    for task in (None, 0, 1, 2):
        assert torch.equal(again.logits(batch, task), learned.logits(batch, task))
    with pytest.raises(KeyError, match="do not fit"):
        again.load_tensors(dict(list(kept(learned).items())[1:]))


def test_a_loss_that_is_not_finite_stops_before_any_weight_moves(tiny_system, toy_tasks, monkeypatch) -> None:
    from classic.errors import TrainingError

    config = tiny_system()
    method = build(config, 0)
    before = {name: tensor.clone() for name, tensor in method.tensors().items()}
    nothing = torch.tensor(float("nan"), requires_grad=True)
    monkeypatch.setattr("classic.methods.additions.adjusted_cross_entropy", lambda *_: nothing)
    with pytest.raises(TrainingError, match="not finite"):
        learn_task(method, toy_tasks[0], config.train, Seeds(0))
    after = method.tensors()
    trained = [name for name in before if "embedding" not in name and name not in ("keeping.average", "keeping.live")]
    assert all(torch.equal(after[name], before[name]) for name in trained)
    with pytest.raises(RuntimeError, match="build it anew"):
        learn_task(method, toy_tasks[0], config.train, Seeds(0))
