"""HAT: a learned binary mask over the network's units for every task; what a mask uses is never changed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor, nn

from classic.backbones.base import Need
from classic.losses.classification import MissingClasses
from classic.methods.additions import Additions
from classic.methods.base import Group, Method, Phase
from classic.model import Model
from classic.modules.gates import GateConfig, TaskGates
from classic.modules.keeping import Protection
from classic.modules.private import PrivateCopies
from classic.seeding import Seeds
from classic.types import Batch, Output, Scenario, Step, Task


@dataclass(frozen=True)
class HatConfig:
    """Masks, and what the cross-entropy does about classes a domain does not have."""

    gates: GateConfig = field(default_factory=GateConfig)
    missing: MissingClasses = "plain"


class Hat(Method):
    """Hard attention to the task.

    Source: Serrà et al. (2018); CLASSIC's masks (Paper: Sec. 3.2.1-3.2.2). Keeps a mask as bits, the LayerNorms and, in
    DIL, the head of every task, so that every earlier model is there to the last bit.
    """

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED})
    needs_task_id: ClassVar[bool] = True
    source: ClassVar[str] = "Serrà et al. (2018), Overcoming catastrophic forgetting with hard attention to the task"
    equation: ClassVar[str] = "L = CE + c R;  h' = h * sigmoid(s e_t);  g' = g (1 - m_ac)"
    grows: ClassVar[bool] = True

    def __init__(self, model: Model, config: HatConfig) -> None:
        super().__init__(model)
        self.gate_config, self.missing = config.gates, config.missing
        self.gates = TaskGates(model.backbone.plastic(), config.gates)
        self.keeping = Protection(self.gates)
        self.private = PrivateCopies(self._private_parameters())

    @classmethod
    def needs_with(cls, additions: Additions) -> frozenset[Need]:
        # Averaged weights are protected by no mask, so it does not matter where they lie.
        return cls.needs - {Need.CONTAINED} if additions.average else cls.needs

    def _private_parameters(self) -> list[nn.Parameter]:
        norms = [p for norm in self.model.backbone.norms() for p in norm.parameters()]
        shared_head = self.model.head.scenario is Scenario.DIL
        return norms + (list(self.model.head.current.parameters()) if shared_head else [])

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        self.gates.start_task(seeds.generator("gates", self.learned))

    def plan(self, task: Task) -> list[Phase]:
        masks = Group((self.gates.embedding,), self.gate_config.learning_rate, self.gate_config.travel)
        return [Phase("train", (Group(self.weights()), masks), task.train)]

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        return self._base_terms(self._train_forward(batch, step), batch)

    def _train_forward(self, batch: Batch, step: Step) -> Output:
        self.gates.open(step)
        output: Output = self.model(batch)
        return output

    def _base_terms(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        terms = {"ce": self.classify(output.logits, batch.labels, self.missing)}
        if self.gate_config.sparsity:
            terms["sparsity"] = self.gate_config.sparsity * self.gates.sparsity()
        return terms

    def edit_gradients(self, step: Step) -> None:
        self.gates.compensate()
        self.gates.press()

    def after_update(self, step: Step) -> None:
        self.gates.clamp()

    def finish_task(self, task: Task) -> None:
        self.gates.finish_task()
        self.private.keep()
        super().finish_task(task)

    def published_parameters(self, tasks: int) -> int:
        return (tasks - 1) * self.gates.units  # an embedding per task; here one, and bits for the others

    def report(self) -> dict[str, Any]:
        return {"capacity": self.gates.capacity(), "overlap": self.gates.overlap(), "masks": self.gates.moves}

    @contextmanager
    def acting_as(self, task: int | None) -> Iterator[None]:
        """The model as a learned task left it, masks, LayerNorms and head; None is the newest or the one in training."""
        if task is None:
            self.gates.show((self.gates.rounded() if self.in_task else self.gates.mask(self.learned - 1)).float())
            yield
            return
        live = self.private.read()
        self.gates.show(self.gates.mask(task).float())
        self.private.write(self.private.copies[task])
        try:
            yield
        finally:
            self.private.write(live)

    def output(self, batch: Batch, task: int | None = None) -> Output:
        """Features and logits under a task's model."""
        with self.acting_as(task):
            output: Output = self.model(batch, task)
            return output

    def averaged(self) -> tuple[nn.Parameter, ...]:
        return (*self.weights(), self.gates.embedding)  # the masks, too, are what many steps agree on

    def usage(self) -> float | None:
        return self.gates.usage()
