"""Learning everything together: no continual learning, but what one would do if all data could be kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.files import json_bytes
from classic.methods.additions import label_shares
from classic.methods.base import Group, Method, Phase
from classic.methods.one import restart_head, shared_weights
from classic.model import Model
from classic.modules.private import PrivateCopies
from classic.modules.replay import example_facts, read_example, routed_logits
from classic.seeding import Seeds
from classic.types import Batch, Example, Scenario, Step, Task


@dataclass(frozen=True)
class RetrainConfig:
    """Learning from all data so far.

    Attributes:
        tasks: How many tasks are only collected and, with the last of them, learned together; every task after them is
            learned together with all before it. 1 retrains at every task.
    """

    tasks: int = 1


@dataclass(frozen=True)
class JointConfig(RetrainConfig):
    """As `RetrainConfig`, for a sequence whose length is known; the paper's has 19 tasks."""

    tasks: int = 19


class Retrain(Method):
    """At every task a new network from the same untaught weights, trained on all examples so far, shuffled together.

    No continual learning: the bound from above that continual methods are held against.

        L = CE over the union of all tasks so far

    In TIL every example goes through the head of its own task, and every head is trained anew. Keeps the untaught
    weights and all training and validation texts of all tasks, in the saved facts. The number of epochs is that of a
    domain as large as all of them together; the best epoch is chosen, in DIL, on the validation examples of all tasks, in
    TIL on those of the newest.
    """

    version: ClassVar[int] = 1
    adopts: ClassVar[frozenset[str]] = frozenset({"reader"})
    keeps_data: ClassVar[bool] = True
    source: ClassVar[str] = "the usual upper bound: multi-task training on all data"
    equation: ClassVar[str] = "L = CE on tasks 1..t together, theta_t started from theta_0"
    grows: ClassVar[bool] = True

    def __init__(self, model: Model, config: RetrainConfig) -> None:
        super().__init__(model)
        self.config = config
        self.untaught = PrivateCopies(shared_weights(model))
        self.untaught.keep()
        self.kept: list[Task] = []
        self._task_of: list[int] = []
        self._shares = torch.zeros(0)  # (T, C)

    @property
    def due(self) -> bool:
        """Whether the task in training is one at which the network is trained."""
        return self.learned + 1 >= self.config.tasks

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        if not self.due:
            return
        self.untaught.write(self.untaught.copies[0])
        if self.model.head.scenario is Scenario.TIL:
            for number in range(self.learned + 1):
                restart_head(self.model.head, number, seeds.generator("head", number))

    def plan(self, task: Task) -> list[Phase]:
        if not self.due:
            return []
        tasks = [*self.kept, task]
        self._shares = torch.stack([label_shares(one) for one in tasks]).to(self.present.device)
        self._task_of = [number for number, one in enumerate(tasks) for _ in one.train]
        backbone = [p for p in self.model.backbone.parameters() if p.requires_grad]
        groups = (Group((*backbone, *self.model.head.parameters())),)
        valid = sum((one.valid for one in tasks), ()) if self.model.head.scenario is Scenario.DIL else ()
        return [Phase("train", groups, sum((one.train for one in tasks), ()), valid)]

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        features = self.model.features(batch)
        if self.model.head.scenario is Scenario.DIL:
            logits = self.model.head(features)
        else:
            logits = routed_logits(self.model.head, features, self._of(batch))
        shares = self._shares[self._of(batch)] if len(self._shares) else None
        return {"ce": self.answers.cross_entropy(logits, batch.labels, self.present, shares=shares)}

    def _of(self, batch: Batch) -> list[int]:
        """The task of each example."""
        return [self._task_of[row] for row in batch.rows.tolist()]

    def finish_task(self, task: Task) -> None:
        self.kept.append(Task(task.name, task.train, task.valid))
        super().finish_task(task)

    def reader(self, task: int | None = None) -> nn.Module | None:
        return None if self.in_task else super().reader(task)  # it is validated on all domains, not on the last

    def bytes_kept(self) -> int:
        return super().bytes_kept() + len(json_bytes(self._texts()))

    def _texts(self) -> list[list[Any]]:
        return [
            [task.name, [example_facts(e) for e in task.train], [example_facts(e) for e in task.valid]]
            for task in self.kept
        ]

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"texts": self._texts()}

    def restore(self, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        def read(rows: list[Any]) -> tuple[Example, ...]:
            return tuple(read_example(values) for values in rows)

        self.kept = [Task(str(name), read(train), read(valid)) for name, train, valid in facts["texts"]]
        super().restore(facts, tensors)


class Joint(Retrain):
    """One training on all tasks together, when the last one has come.

    The same as `Retrain` at its last task, without the trainings before it, which nobody looks at. A method cannot know
    which task is the last, so it is told how many there are (``tasks``); until then it only collects, and answers like
    the untaught network. Only the last row of its result matrix means anything.
    """

    version: ClassVar[int] = 1
    equation: ClassVar[str] = "L = CE on tasks 1..T together, once"
