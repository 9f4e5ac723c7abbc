"""The only training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Protocol

import torch
from torch import Tensor

from classic.batching import shuffled_rows, sorted_batches
from classic.config import TrainConfig
from classic.errors import TrainingError
from classic.evaluation.metrics import macro_f1
from classic.methods.base import Method, Phase
from classic.seeding import Seeds
from classic.training.checkpoint import Checkpoint
from classic.training.joining import join_sentences
from classic.training.optimiser import (
    RATE_CUT,
    build_optimiser,
    clip_gradients,
    load_optimiser,
    optimiser_tensors,
    set_rate,
)
from classic.training.workers import Workers
from classic.types import Example, Step, Task

VERSION = 2  # of what training comes to; raised when the same run ends with other tensors


class Watcher(Protocol):
    """Somebody who looks on: a progress bar, a log, a service. Numbers only, never a row of data."""

    def on_stage(self, task: str, what: str) -> None:
        """Something begins that takes a while, in a few words."""

    def on_count(self, done: int, total: int) -> None:
        """So many parts of the stage are done; not every stage has parts to count."""

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        """A phase begins, or goes on after ``done`` epochs."""

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        """A step was made; the terms of its loss."""

    def on_epoch(self, record: dict[str, Any]) -> None:
        """An epoch ended; its record."""


class NoWatcher:
    """Nobody looks on."""

    def on_stage(self, task: str, what: str) -> None:
        """Nothing."""

    def on_count(self, done: int, total: int) -> None:
        """Nothing."""

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        """Nothing."""

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        """Nothing."""

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Nothing."""


@dataclass
class TaskLog:
    """What happened while a task was learned.

    Attributes:
        epochs: One record per epoch: terms of the loss, validation, whether it is the best so far.
        seconds: Wall time, over all processes that worked on the task.
        cpu_seconds: CPU time, likewise; other programs do not count.
    """

    epochs: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def learn_task(
    method: Method,
    task: Task,
    config: TrainConfig,
    seeds: Seeds,
    checkpoint: Checkpoint | None = None,
    watcher: Watcher | None = None,
    workers: Workers | None = None,
) -> TaskLog:
    """Teaches a method one task. Kill it anywhere: the next call goes on and ends with the same bytes.

    Args:
        method: What learns; changed in place.
        task: What is learned.
        config: How.
        seeds: Randomness.
        checkpoint: Where the state is kept after every epoch.
        watcher: Who looks on.
        workers: The processes that learn together.
    """
    watcher, workers = watcher or NoWatcher(), workers or Workers()
    if method.in_task:
        raise RuntimeError("this method was left in the middle of a task: build it anew, the checkpoint has its state")
    index, log = method.learned, TaskLog()
    clock, cpu_clock = time.perf_counter(), time.process_time()
    watcher.on_stage(task.name, "encoding texts")
    method.model.backbone.prepare(task.train + task.valid, dataset=True)
    watcher.on_stage(task.name, "asking earlier models" if index else "getting ready")
    method.start_task(task, seeds)
    method.keeping.start_task()
    saved = checkpoint.load() if checkpoint else None
    resumed = (0.0, 0.0)
    if saved:
        log.epochs = saved[1]["epochs"]
        resumed = (saved[1]["seconds"], saved[1]["cpu_seconds"])
    for number, phase in enumerate(method.plan(task)):
        if saved and saved[1]["phase"] > number:
            continue
        method.start_phase(phase)
        run = _PhaseRun(method, task, phase, config, seeds, index, workers)
        if saved and saved[1]["phase"] == number:
            run.take_up(*saved)
        watcher.on_start(task.name, phase.name, run.epochs, run.batches, run.epoch)
        while not run.finished:
            record = run.train_epoch(watcher)
            log.epochs.append(record)
            log.seconds = resumed[0] + time.perf_counter() - clock
            log.cpu_seconds = resumed[1] + time.process_time() - cpu_clock
            watcher.on_epoch(record)
            if checkpoint and workers.main and checkpoint.due:
                counters = {
                    "phase": number,
                    "epochs": log.epochs,
                    "seconds": log.seconds,
                    "cpu_seconds": log.cpu_seconds,
                }
                checkpoint.save(*run.state(counters))
        run.restore_best()
    method.keeping.finish_task()
    method.finish_task(task)
    log.seconds = resumed[0] + time.perf_counter() - clock
    log.cpu_seconds = resumed[1] + time.process_time() - cpu_clock
    return log


class _PhaseRun:
    """One phase of one task on its way through the epochs."""

    def __init__(
        self,
        method: Method,
        task: Task,
        phase: Phase,
        config: TrainConfig,
        seeds: Seeds,
        index: int,
        workers: Workers,
    ) -> None:
        self.method, self.task, self.phase, self.config = method, task, phase, config
        self.seeds, self.index, self.workers = seeds, index, workers
        self.epochs = config.epochs_for(len(phase.examples))
        self.batches = math.ceil(len(phase.examples) / config.batch_size)
        self.parameters = [p for group in phase.groups for p in group.parameters]
        self.optimiser = build_optimiser(phase.groups, config, self.epochs * self.batches)
        self.epoch = 0
        self.best: dict[str, Tensor] = {}
        self.best_facts: dict[str, Any] = {}
        self.best_score = -math.inf
        self.waited = self.cuts = 0

    @property
    def finished(self) -> bool:
        """Whether all epochs are done or the rate has been cut below its floor."""
        too_slow = self.cuts > 0 and self.config.learning_rate / RATE_CUT**self.cuts < self.config.rate_floor
        return self.epoch >= self.epochs or too_slow

    def train_epoch(self, watcher: Watcher) -> dict[str, Any]:
        place = (self.index, self.phase.name, self.epoch)
        self.seeds.seed_dropout(*place, *([self.workers.rank] if self.workers.rank else []))
        examples, pairs = self._examples(Random(self.seeds.number("join", *place)))
        lengths = self.method.model.backbone.lengths(examples)
        generator = self.seeds.generator("shuffle", *place)
        rows_of_batches = shuffled_rows(lengths, self.config.batch_size, generator, pairs)
        sums: dict[str, float] = {}
        pulls: dict[str, float] = {}
        self.method.train()
        for number, rows in enumerate(rows_of_batches):
            step = Step(self.index, self.epoch, self.epochs, number, len(rows_of_batches))
            terms = self._train_step(examples, rows, step)
            for name, value in terms.items():
                sums[name] = sums.get(name, 0.0) + value
            for name, value in self.method.shares().items():
                pulls[name] = pulls.get(name, 0.0) + value
            watcher.on_step(step, terms)
        record: dict[str, Any] = {
            "phase": self.phase.name,
            "epoch": self.epoch,
            "terms": {name: value / len(rows_of_batches) for name, value in sums.items()},
        }
        if pulls:
            record["shares"] = {name: value / len(rows_of_batches) for name, value in pulls.items()}
        self.epoch += 1
        self._validate(record)
        if self.config.patience is not None:
            record["cuts"] = self.cuts  # of the rate, when the epoch began
            self._wait(self.config.patience, better=record["best"])
        return record

    def _examples(self, draw: Random) -> tuple[Sequence[Example], list[tuple[int, int]]]:
        """The phase's examples as this epoch reads them, and the rows that share a text; none is too long to be read."""
        given, backbone = self.phase.examples, self.method.model.backbone
        if not self.config.joined:
            return given, []
        examples, pairs = join_sentences(given, self.config.joined, draw)
        cut = backbone.truncated(examples)
        for row in (row for pair in pairs if any(cut[one] for one in pair) for row in pair):
            examples[row] = given[row]
        backbone.prepare(examples)
        return examples, [(row, mate) for row, mate in pairs if examples[row] is not given[row]]

    def _train_step(self, examples: Sequence[Example], rows: list[int], step: Step) -> dict[str, float]:
        rows = self.workers.share(rows)
        batch = self.method.model.backbone.collate([examples[row] for row in rows], rows)
        if self.config.joined:
            joined = torch.tensor([examples[row] is not self.phase.examples[row] for row in rows])
            batch = replace(batch, joined=joined)
        batch = batch.to(self.method.present.device)
        terms = self.method.loss(batch, step)
        total = torch.stack(list(terms.values())).sum()
        if not torch.isfinite(total):  # one such step would reach every weight, protected ones included
            bad = ", ".join(name for name, value in terms.items() if not torch.isfinite(value)) or "their sum"
            raise TrainingError(
                f"the loss of {self.task.name!r} is not finite ({bad}; epoch {step.epoch + 1}, batch {step.batch + 1})",
                fix="lower train.learning_rate; nothing of this domain was published",
            )
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        self.workers.average_gradients(self.parameters)
        self.workers.average(self.method.agreed())
        self.method.keeping.edit_gradients()
        self.method.edit_gradients(step)
        for group in self.phase.groups:  # each by itself: embeddings must not crowd out weights
            clip_gradients(group.parameters, self.config)
        done, steps = step.epoch * step.batches + step.batch, self.epochs * step.batches
        set_rate(self.optimiser, self.config, done, steps, self.cuts)
        self.optimiser.step()
        self.method.after_update(step)
        self.method.keeping.step()
        return {name: float(value.detach()) for name, value in terms.items()}

    def _validate(self, record: dict[str, Any]) -> None:
        """Scores the epoch on the validation examples and remembers the weights of the best one."""
        examples = self.phase.valid or self.task.valid
        if examples:
            loss, f1 = validate(self.method, examples, self.config.eval_batch_size)
            record |= {"valid_loss": loss, "valid_f1": f1}
            score = {"loss": -loss, "macro_f1": f1, "last": float(self.epoch)}[self.config.selection]
        else:
            score = float(self.epoch)
        record["best"] = score > self.best_score
        if record["best"]:
            self.best_score = score
            if self.config.selection != "last":  # otherwise it is what stands there when training ends
                self.best = {name: tensor.clone() for name, tensor in self._moving().items()}
                self.best_facts = self.method.facts()

    def _wait(self, patience: int, *, better: bool) -> None:
        """Cuts the rate when too many epochs brought nothing better; training goes on from where it stands."""
        self.waited = 0 if better else self.waited + 1
        if self.waited >= patience:
            self.waited, self.cuts = 0, self.cuts + 1
            self.optimiser = build_optimiser(self.phase.groups, self.config, self.epochs * self.batches)

    def restore_best(self) -> None:
        if self.best:
            self.method.restore(self.best_facts, self._settled() | self.best)

    def _moving(self) -> dict[str, Tensor]:
        """What training changes; the rest is as the last version has it, and is neither copied nor saved."""
        settled = self.method.settled()
        return {name: tensor for name, tensor in self.method.tensors().items() if name not in settled}

    def _settled(self) -> dict[str, Tensor]:
        settled = self.method.settled()
        return {name: tensor for name, tensor in self.method.tensors().items() if name in settled}

    def state(self, counters: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {f"model/{name}": tensor for name, tensor in self._moving().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        tensors |= {f"optimiser/{name}": tensor for name, tensor in optimiser_tensors(self.optimiser).items()}
        own: dict[str, Any] = {"facts": self.method.facts(), "best_facts": self.best_facts}
        own |= {"epoch": self.epoch, "best_score": self.best_score, "waited": self.waited, "cuts": self.cuts}
        return tensors, counters | own

    def take_up(self, tensors: dict[str, Tensor], counters: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimiser": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = tensor
        self.method.restore(counters["facts"], self._settled() | parts["model"])
        if self.config.selection != "last":  # checkpoints of earlier releases have it for "last", too
            self.best, self.best_facts = parts["best"], counters["best_facts"]
        load_optimiser(self.optimiser, parts["optimiser"])
        self.epoch, self.best_score = counters["epoch"], counters["best_score"]
        self.waited, self.cuts = counters["waited"], counters["cuts"]


def validate(method: Method, examples: tuple[Example, ...], batch_size: int) -> tuple[float, float]:
    """Mean cross-entropy and macro-F1 of the model in training, as it would be kept (masks rounded)."""
    method.eval()
    total, truth, predicted = 0.0, [], []
    with torch.no_grad():
        for on_cpu in sorted_batches(method.model.backbone, examples, batch_size):
            batch = on_cpu.to(method.present.device)
            logits = method.answer(batch)
            total += float(torch.nn.functional.cross_entropy(logits, batch.labels, reduction="sum"))
            truth += batch.labels.tolist()
            predicted += logits.argmax(dim=1).tolist()
    return total / len(examples), macro_f1(truth, predicted)
