"""ONE: a network of its own for every task. Nothing is shared, so nothing is transferred and nothing is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch

from classic.methods.ncl import Ncl, NclConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.modules.private import PrivateCopies
from classic.seeding import Seeds
from classic.types import POLARITIES, Scenario, Task


@dataclass(frozen=True)
class OneConfig(NclConfig):
    """The same choices as NCL's: ``csc`` 1 is the paper's ONE+csc."""


class One(Ncl):
    """Every task starts from one and the same untaught network and ends as a network of its own.

    Source: the paper's ONE baselines (Sec. 4.2). Loss: cross-entropy, with the supervised contrast as an option. Keeps
    the untaught weights and every task's weights, all that trains. The paper runs it with a head per task (TIL) and
    repeats the numbers under DIL; here the shared head of DIL is one of the weights a task owns, so both scenarios
    work, but an answer always needs to know its task.
    """

    version: ClassVar[int] = 1
    adopts: ClassVar[frozenset[str]] = frozenset({"reader"})
    needs_task_id: ClassVar[bool] = True
    source: ClassVar[str] = "Ke et al. (2021), CLASSIC, Sec. 4.2"
    equation: ClassVar[str] = "L_t = CE (+ csc L_CSC), theta_t started from theta_0"
    grows: ClassVar[bool] = True

    def __init__(self, model: Model, config: OneConfig) -> None:
        super().__init__(model, config)
        self.networks = PrivateCopies(shared_weights(model))
        self.networks.keep()  # row 0 is the untaught network, row t + 1 the one of task t

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        self.networks.write(self.networks.copies[0])
        if self.model.head.scenario is Scenario.TIL:
            restart_head(self.model.head, self.learned, seeds.generator("head", 0))

    def finish_task(self, task: Task) -> None:
        self.networks.keep()
        super().finish_task(task)

    @contextmanager
    def acting_as(self, task: int | None) -> Iterator[None]:
        """The network of a learned task; None is the newest or the one in training."""
        if task is None:
            yield
            return
        live = self.networks.read()
        self.networks.write(self.networks.copies[task + 1])
        try:
            yield
        finally:
            self.networks.write(live)

    def foldable(self) -> bool:
        return False  # a folded network shares weights with the method, and here every task has its own


def shared_weights(model: Model) -> list[torch.nn.Parameter]:
    """Everything that trains in every task: the backbone's weights and, in DIL, the head."""
    backbone = [p for p in model.backbone.parameters() if p.requires_grad]
    return backbone + (list(model.head.current.parameters()) if model.head.scenario is Scenario.DIL else [])


def restart_head(head: Head, number: int, generator: torch.Generator) -> None:
    """Puts a task's own head back to what a new head is."""
    classes = tuple(POLARITIES[column] for column in head.columns[number])
    fresh = Head(head.features, Scenario.TIL, 0.0, generator)
    fresh.start_task(classes, generator)
    head.linears[number].load_state_dict(fresh.current.state_dict())
