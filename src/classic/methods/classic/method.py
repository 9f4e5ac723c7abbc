"""CLASSIC: task masks, and three contrastive losses that distil, share and sharpen."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, ClassVar

import torch
from torch import Tensor

from classic.batching import sorted_batches
from classic.losses import absent_odds, ced, cks, csc, lost_odds
from classic.methods.additions import Additions
from classic.methods.base import Group, Phase
from classic.methods.classic.config import ClassicConfig
from classic.methods.classic.questions import other_words
from classic.methods.classic.teachers import Teachers
from classic.methods.hat import Hat, HatConfig
from classic.model import Model
from classic.modules.balance import Balance
from classic.modules.projection_head import ProjectionHead
from classic.modules.task_attention import TaskAttention, TaskAxisAttention
from classic.seeding import Seeds
from classic.types import Batch, Example, Scenario, Step, Task

_BATCH = 64
_QUESTIONS = 2  # about other words, for every training example
_GIVEN_BACK = 0.5  # a lesson moves its own sentences about twice as far as those of earlier domains


class Classic(Hat):
    """Continual and contrastive learning of aspect sentiment.

    Paper: Eq. (14), Sec. 3.5

        L = L_CE + lambda_1 L_CSC + lambda_2 L_CED + lambda_3 L_CKS   (+ c R, the masks' sparsity, from HAT)

    and, not in the paper, what keeps classes that a new domain lacks (`classic.losses.absent`): a term while it learns, and
    their odds set right when it has learned.

    The preset ``default`` uses all additions (`classic.methods.additions`), which are not in the paper.
    """

    version: ClassVar[int] = 5
    needs_task_id: ClassVar[bool] = False
    source: ClassVar[str] = "Ke et al. (2021), CLASSIC: Continual and Contrastive Learning of Aspect Sentiment"
    equation: ClassVar[str] = "L = CE + lambda_1 L_CSC + lambda_2 L_CED + lambda_3 L_CKS + c R, under HAT's masks"

    def __init__(self, model: Model, config: ClassicConfig) -> None:
        super().__init__(model, HatConfig(gates=config.gates, missing=config.missing))
        self.config = config
        self.teachers = self._new_teachers(newest_only=False)
        self.attention: TaskAttention | TaskAxisAttention | None = None
        self.projection: ProjectionHead | None = None
        self.balance: Balance | None = None
        self.questions: tuple[tuple[Example, ...], Tensor] | None = None  # and what the model before answers
        self.transfer: list[float] = []

    def adopt(self, additions: Additions) -> None:
        super().adopt(additions)
        self.teachers = self._new_teachers(newest_only=additions.average)

    def _new_teachers(self, *, newest_only: bool) -> Teachers:
        by_class = bool(self.config.absent) or (bool(self.config.ced) and self.config.pull.ced_reading == "classes")
        most = self.config.most_teachers
        return Teachers(most, self.model.backbone, newest_only=newest_only, by_class=by_class)

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        config, features, device = self.config, self.model.backbone.features, self.present.device
        self._forget_task()
        if config.csc or config.ced or config.cks or config.absent:
            self.balance = Balance(("ce", "csc", "ced", "cks", "absent")).to(device)
        if config.pull.projection and config.contrast == "features" and (config.csc or (config.cks and self.learned)):
            drawn = seeds.generator("projection", self.learned)
            self.projection = ProjectionHead(features, config.pull.projection, drawn).to(device)
        if not self.learned:
            return
        self.teachers.ask(self, task)
        if self._absent().any():
            asked = other_words(task, _QUESTIONS, Random(seeds.number("questions", self.learned))) or task.train
            self.questions = asked, self.teachers.say(self, asked, [self.learned - 1])[1][:, 0]
        if config.cks:
            drawn = seeds.generator("attention", self.learned)
            if config.attention == "tasks":
                self.attention = TaskAxisAttention(len(self.teachers.consulted) + 1, drawn).to(device)
            else:
                self.attention = TaskAttention(features, drawn).to(device)

    def plan(self, task: Task) -> list[Phase]:
        (phase,) = super().plan(task)
        helpers = [module for module in (self.attention, self.projection) if module is not None]
        if not helpers:
            return [phase]
        parameters = tuple(parameter for module in helpers for parameter in module.parameters())
        return [replace(phase, groups=(*phase.groups, Group(parameters, self.config.pull.helper_rate)))]

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        config = self.config
        output = self._train_forward(batch, step)
        terms = self._base_terms(output, batch)
        if self.balance is None:
            return terms
        losses = {"ce": terms["ce"]}
        if config.csc:
            own = self._contrasted(output.features)
            losses["csc"] = csc(own, batch.labels, config.temperature, config.reading, normalised=config.normalised)
        if self.learned:
            # Earlier models were asked about the texts as they were read: what they would say of joined ones is not known.
            known = batch.as_read
            features, labels, rows = output.features[known], batch.labels[known], batch.rows[known]
            if config.ced and self.model.head.scenario is Scenario.DIL:
                losses["ced"] = self._distillation(output.logits[known], labels, rows)
            absent = self._absent()
            if absent.any() and len(rows):
                losses["absent"] = absent_odds(self.teachers.logits[rows, -1], output.logits[known], absent)
            if self.attention is not None:
                view, _ = self.attention(self._states(features, rows))
                views = self._contrasted(view), self._contrasted(features)
                losses["cks"] = cks(*views, labels, config.temperature, config.reading, normalised=config.normalised)
                if config.view_ce and len(rows):
                    said = torch.nn.functional.cross_entropy(self.model.head(view), labels)
                    terms["view_ce"] = config.view_ce * said
                    if "sparsity" in terms:
                        terms["view_sparsity"] = config.view_ce * terms["sparsity"]
        wished = {name: getattr(config, name) for name in self.balance.names[1:]}
        fixed = config.pull.weighing == "fixed"
        weights = self.balance.weights(losses, output.features, wished, fixed=fixed)
        return terms | {name: weight * losses[name] for name, weight in weights.items()}

    def _contrasted(self, features: Tensor) -> Tensor:
        """What CSC and CKS contrast: the features themselves, a projection of them, or the logits."""
        if self.config.contrast == "logits":
            logits: Tensor = self.model.head(features)
            return logits
        projected: Tensor = features if self.projection is None else self.projection(features)
        return projected

    def _states(self, features: Tensor, rows: Tensor) -> Tensor:
        """What every teacher and, last, the model in training make of the examples, (B, T + 1, D)."""
        return torch.cat([self.teachers.features[rows], features.unsqueeze(1)], dim=1)

    def _distillation(self, student: Tensor, labels: Tensor, rows: Tensor) -> Tensor:
        config = self.config
        if config.teacher_head == "own":
            said = self.teachers.logits[rows]
        else:
            with torch.no_grad():
                said = self.model.head.current(self.teachers.features[rows])
        first = len(self.teachers.consulted) - 1 if config.teachers == "last" else 0
        said = said.transpose(0, 1)[first:]  # (T, B, C)
        tau = config.temperature if config.pull.ced_temperature is None else config.pull.ced_temperature
        if config.pull.ced_reading == "classes":
            total = ced(said, student, tau, labels, self.teachers.seen()[first:])
        else:
            total = ced(said, student, tau)
        return total / len(said) if config.teachers == "mean" else total

    def _absent(self) -> Tensor:
        """(C,) bool; the classes that the newest teacher was taught and the task in training does not have."""
        if not self.config.absent or self.model.head.scenario is not Scenario.DIL:
            return torch.zeros_like(self.present, dtype=torch.bool)
        return self.teachers.seen()[-1] & ~self.present.bool()

    def shares(self) -> dict[str, float]:
        return {} if self.balance is None else self.balance.shares

    def agreed(self) -> tuple[Tensor, ...]:
        return () if self.balance is None else (self.balance.pulls,)

    def finish_task(self, task: Task) -> None:
        self.transfer = self._transfer(task) if self.attention is not None else []
        self._give_back_odds()
        self._forget_task()
        self.teachers.forget()
        self.teachers.keep(self, task)
        super().finish_task(task)

    def _forget_task(self) -> None:
        """What lives for one task only."""
        self.attention = self.projection = self.balance = self.questions = None

    def _give_back_odds(self) -> None:
        """Classes that the task lacks are as likely as before, on the mean of all questions about other words."""
        if self.questions is None:
            return
        asked, before = self.questions
        after = self.teachers.say(self, asked, [None])[1][:, 0]
        with torch.no_grad():
            lost = lost_odds(before, after, self._absent())
            self.model.head.current.bias[self._absent()] += _GIVEN_BACK * lost

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
