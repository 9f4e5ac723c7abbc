"""CLASSIC: task masks, and three contrastive losses that distil, share and sharpen."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from classic.batching import sorted_batches
from classic.losses import ced, cks, csc
from classic.methods.base import Group, Phase
from classic.methods.classic.config import ClassicConfig
from classic.methods.classic.teachers import Teachers
from classic.methods.hat import Hat, HatConfig
from classic.model import Model
from classic.modules.task_attention import TaskAttention, TaskAxisAttention
from classic.seeding import Seeds
from classic.types import Batch, Output, Scenario, Step, Task

_BATCH = 64


class Classic(Hat):
    """Continual and contrastive learning of aspect sentiment.

    Paper: Eq. (14), Sec. 3.5

        L = L_CE + lambda_1 L_CSC + lambda_2 L_CED + lambda_3 L_CKS   (+ c R, the masks' sparsity, from HAT)

    The preset ``default`` uses all additions (`classic.methods.additions`), which are not in the paper.
    """

    version: ClassVar[int] = 1
    needs_task_id: ClassVar[bool] = False
    source: ClassVar[str] = "Ke et al. (2021), CLASSIC: Continual and Contrastive Learning of Aspect Sentiment"
    equation: ClassVar[str] = "L = CE + lambda_1 L_CSC + lambda_2 L_CED + lambda_3 L_CKS + c R, under HAT's masks"

    def __init__(self, model: Model, config: ClassicConfig) -> None:
        super().__init__(model, HatConfig(gates=config.gates, missing=config.missing))
        self.config = config
        self.teachers = Teachers(config.most_teachers, model.backbone)
        self.attention: TaskAttention | TaskAxisAttention | None = None
        self.transfer: list[float] = []

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        self.attention = None
        if self.learned:
            self.teachers.ask(self, task)
            if self.config.cks:
                self.attention = self._new_attention(seeds.generator("attention", self.learned))

    def _new_attention(self, generator: torch.Generator) -> TaskAttention | TaskAxisAttention:
        if self.config.attention == "tasks":
            return TaskAxisAttention(len(self.teachers.consulted) + 1, generator).to(self.present.device)
        return TaskAttention(self.model.backbone.features, generator).to(self.present.device)

    def plan(self, task: Task) -> list[Phase]:
        (phase,) = super().plan(task)
        if self.attention is None:
            return [phase]
        return [Phase(phase.name, (*phase.groups, Group(tuple(self.attention.parameters()))), phase.examples)]

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        config, tau = self.config, self.config.temperature
        output = self._train_forward(batch, step)
        terms = self._base_terms(output, batch)
        own = output.features if config.contrast == "features" else output.logits
        if config.csc:
            terms["csc"] = config.csc * csc(own, batch.labels, tau, config.reading, normalised=config.normalised)
        if not self.learned:
            return terms
        # Earlier models were asked about the texts as they were read: what they would say of joined ones is not known.
        known = batch.as_read
        output, own, labels = Output(output.features[known], output.logits[known]), own[known], batch.labels[known]
        rows = batch.rows[known]
        if config.ced and self.model.head.scenario is Scenario.DIL:
            terms["ced"] = config.ced * self._distillation(output.logits, rows)
        if self.attention is not None:
            view, _ = self.attention(self._states(output.features, rows))
            other = view if config.contrast == "features" else self.model.head(view)
            shared = cks(other, own, labels, tau, config.reading, normalised=config.normalised)
            terms["cks"] = config.cks * shared
            if config.view_ce and len(rows):
                view_logits = self.model.head(view)
                terms["view_ce"] = config.view_ce * torch.nn.functional.cross_entropy(view_logits, labels)
                terms["view_sparsity"] = config.view_ce * terms["sparsity"]
        return terms

    def _states(self, features: Tensor, rows: Tensor) -> Tensor:
        """What every teacher and, last, the model in training make of the examples, (B, T + 1, D)."""
        return torch.cat([self.teachers.features[rows], features.unsqueeze(1)], dim=1)

    def _distillation(self, student: Tensor, rows: Tensor) -> Tensor:
        if self.config.teacher_head == "own":
            said = self.teachers.logits[rows]
        else:
            with torch.no_grad():
                said = self.model.head.current(self.teachers.features[rows])
        said = said.transpose(0, 1)  # (T, B, C)
        if self.config.teachers == "last":
            said = said[-1:]
        total = ced(said, student, self.config.temperature)
        return total / len(said) if self.config.teachers == "mean" else total

    def finish_task(self, task: Task) -> None:
        self.transfer = self._transfer(task) if self.attention is not None else []
        self.attention = None
        self.teachers.forget()
        self.teachers.keep_place(self, task)
        super().finish_task(task)

    def _transfer(self, task: Task) -> list[float]:
        """How much the new task attends to each task so far, itself last: the mean of alpha_{t,i} over its examples.

        A task that was not consulted gets 0.
        """
        assert self.attention is not None
        asked = [*self.teachers.consulted, self.learned]
        total = torch.zeros(len(asked), device=self.present.device)
        self.eval()
        with torch.no_grad(), self.acting_as(None):
            for on_cpu in sorted_batches(self.model.backbone, task.train, _BATCH):
                batch = on_cpu.to(self.present.device)
                states = self._states(self.model.features(batch), batch.rows)
                total += self.attention(states)[1][:, -1].sum(dim=0)
        shares = dict(zip(asked, (total / len(task.train)).tolist(), strict=True))
        return [shares.get(earlier, 0.0) for earlier in range(self.learned + 1)]

    def report(self) -> dict[str, Any]:
        return super().report() | {"transfer": self.transfer}
