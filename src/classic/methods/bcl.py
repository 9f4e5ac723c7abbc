"""B-CL: task masks like HAT's, and capsules through which tasks share knowledge forwards and backwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Need
from classic.errors import IncompatibleError
from classic.losses.classification import MissingClasses
from classic.methods.hat import Hat, HatConfig
from classic.model import Model
from classic.modules.capsules import SharingCapsules
from classic.modules.gates import GateConfig, TaskGates
from classic.modules.keeping import Protection
from classic.seeding import Seeds
from classic.types import Batch, Output, Scenario, Step, Task


@dataclass(frozen=True)
class BclConfig:
    """Capsules and masks.

    Attributes:
        capsules: Number of sharing capsules; 3 in the released code.
        size: Numbers per token in a task capsule; 3 in the released code.
        length: Longest text in tokens that is shared whole; 128 in the paper.
        rounds: Of agreement routing; 3 in the paper.
        gates: Task masks.
        missing: See `classic.losses.cross_entropy`.
    """

    capsules: int = 3
    size: int = 3
    length: int = 128
    rounds: int = 3
    gates: GateConfig = field(default_factory=GateConfig)
    missing: MissingClasses = "plain"


class Bcl(Hat):
    """BERT-based continual learning with capsules.

    Source: Ke, Xu, Liu (2021), "Adapting BERT for Continual Learning of a Sequence of Aspect Sentiment Classification
    Tasks", NAACL. In every adapter, before its first layer, stand the capsules of `SharingCapsules`:

        p_i = squash(F_i x) for the tasks i <= t,  v = 3 rounds of routing of W_ij p_i
        adapter(x) = x + up(down(x + mask (W v)))

    Adapters, and the layer that takes v back to the width of the hidden states, are masked and protected as in HAT. The
    capsules of all tasks so far go on learning: that is how an old task profits from a new one, and why earlier models
    are not kept to the bit. A task's model asks the capsules of the tasks up to it. Keeps what HAT keeps, and capsules
    for every task.
    """

    version: ClassVar[int] = 2
    source: ClassVar[str] = (
        "Ke et al. (2021), NAACL, "
        "Adapting BERT for Continual Learning of a Sequence of Aspect Sentiment Classification Tasks"
    )
    equation: ClassVar[str] = "x + up(down(x + m_t W route({W_ij squash(F_i x)}_{i <= t})))"
    grows: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED, Need.ADAPTERS})

    def __init__(self, model: Model, config: BclConfig) -> None:
        if model.head.scenario is not Scenario.TIL:
            raise IncompatibleError(
                "B-CL has a head for every task and is told the task: it learns in the scenario 'til' only",
                fix="set the scenario to 'til', or choose the method 'classic'",
            )
        super().__init__(model, HatConfig(gates=config.gates, missing=config.missing))
        self.config = config
        plastics = model.backbone.plastic()
        entries = [plastic for plastic in plastics.values() if not plastic.upstream]
        capsules = []
        for plastic in entries:
            assert isinstance(plastic.layer, nn.Linear)
            sharing = SharingCapsules(
                plastic.layer.in_features, config.capsules, config.size, config.length, config.rounds
            )
            plastic.before = sharing
            capsules.append(sharing)
        self.capsules = tuple(capsules)  # a plain tuple: they belong to the adapters now
        self.gates = TaskGates(
            plastics | {f"capsules{number}": sharing.widen for number, sharing in enumerate(capsules)}, config.gates
        )
        self.keeping = Protection(self.gates)

    def start_task(self, task: Task, seeds: Seeds) -> None:
        generator = seeds.generator("capsules", self.learned)
        for sharing in self.capsules:
            sharing.grow(self.learned + 1, generator)
            if not self.learned:
                weight = sharing.widen.layer.weight
                with torch.no_grad():
                    weight.copy_(torch.empty(weight.shape).normal_(0.0, 0.02, generator=generator))
        super().start_task(task, seeds)

    def _train_forward(self, batch: Batch, step: Step) -> Output:
        self._show(batch)
        self._reach(self.learned + 1)
        return super()._train_forward(batch, step)

    @contextmanager
    def acting_as(self, task: int | None) -> Iterator[None]:
        """The model of a learned task; see `Hat.acting_as`."""
        newest = self.learned + 1 if self.in_task else self.learned
        self._reach(newest if task is None else task + 1)
        with super().acting_as(task):
            yield

    def output(self, batch: Batch, task: int | None = None) -> Output:
        self._show(batch)
        return super().output(batch, task)

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        return self.output(batch, task).logits

    def _show(self, batch: Batch) -> None:
        for sharing in self.capsules:
            sharing.real = batch.inputs["attention_mask"]

    def _reach(self, tasks: int) -> None:
        for sharing in self.capsules:
            sharing.reach = tasks

    def restore(self, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        for sharing in self.capsules:
            sharing.grow(int(facts["learned"]))
        super().restore(facts, tensors)

    def bytes_kept(self) -> int:
        grown = [p for sharing in self.capsules for p in (*sharing.views.parameters(), *sharing.routes)]
        own: int = sum(p.numel() * p.element_size() for p in grown)
        return super().bytes_kept() + own
