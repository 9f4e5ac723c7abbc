"""EWC: weights that mattered to earlier tasks are pulled back to where the last task left them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from classic.errors import IncompatibleError
from classic.methods.base import Method
from classic.methods.one import shared_weights
from classic.model import Model
from classic.seeding import Seeds
from classic.types import Batch, Step, Task


@dataclass(frozen=True)
class EwcConfig:
    """Elastic weight consolidation.

    Attributes:
        strength: lambda; 5000 is Serrà et al.'s, and the released code's everywhere. 0 is NCL.
        fisher_batch: Examples whose mean gradient is squared together. 20 as in Serrà et al., for which the strength
            was found; 1 is the textbook's Fisher, some 20 times as large.
        fisher_mode: ``eval`` measures the Fisher of the network that answers, the posterior's mode in Kirkpatrick et
            al.; ``train`` leaves dropout on, as the released code does.
    """

    strength: float = 5000.0
    fisher_batch: int = 20
    fisher_mode: Literal["eval", "train"] = "eval"


class Ewc(Method):
    """A quadratic pull towards the previous solution, weighted by a diagonal Fisher estimate.

    Source: Kirkpatrick et al. (2017), in the running-average form of Serrà et al. (2018, their code's EWC baseline)

        L = CE + lambda / 2  sum_k F_k (theta_k - theta*_k)^2               from the second task on
        F_new,k = 1/n  sum_batches m (d CE_batch / d theta_k)^2
        F <- (F_new + (t - 1) F) / t                                        after task t = 1, 2, ...

    with m examples in a batch, taken in file order, and their true labels. A last batch that is smaller counts by its
    own size. Keeps one anchor theta* and one F, whatever the number of tasks, and no data.

    The head is pulled in DIL. In TIL a head is a task's own: no other task's loss depends on it, so its Fisher is zero
    while it trains, and it does not train later.
    """

    version: ClassVar[int] = 1
    source: ClassVar[str] = "Kirkpatrick et al. (2017), Overcoming catastrophic forgetting in neural networks"
    equation: ClassVar[str] = "L = CE + lambda/2 sum_k F_k (theta_k - theta*_k)^2"

    anchor: Tensor
    fisher: Tensor

    def __init__(self, model: Model, config: EwcConfig) -> None:
        super().__init__(model)
        self.config = config
        self.pulled = tuple(shared_weights(model))  # a plain tuple: they belong to the model
        if not self.pulled:
            raise IncompatibleError("this system trains nothing that tasks share", fix="choose another backbone")
        self.sizes = [parameter.numel() for parameter in self.pulled]
        self.register_buffer("anchor", torch.zeros(0))
        self.register_buffer("fisher", torch.zeros(0))
        self._seeds: Seeds | None = None

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        self._seeds = seeds

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        terms = super().loss(batch, step)
        if self.learned and self.config.strength:
            terms["ewc"] = self.config.strength / 2 * self.distance()
        return terms

    def distance(self) -> Tensor:
        """sum_k F_k (theta_k - theta*_k)^2."""
        fishers, anchors = torch.split(self.fisher, self.sizes), torch.split(self.anchor, self.sizes)
        parts = zip(self.pulled, fishers, anchors, strict=True)
        return torch.stack([(f * (p.reshape(-1) - a).square()).sum() for p, f, a in parts]).sum()

    def finish_task(self, task: Task) -> None:
        new, before = self.measure(task), self.learned
        self.fisher = (new + before * self.fisher) / (before + 1) if before else new
        self.anchor = parameters_to_vector(self.pulled).detach().clone()
        super().finish_task(task)

    def measure(self, task: Task) -> Tensor:
        """F_new of the task in training, flat."""
        assert self._seeds is not None
        self._seeds.seed_dropout("fisher", self.learned)  # the same numbers, whether a run was killed before or not
        self.train(self.config.fisher_mode == "train")
        total = torch.zeros(sum(self.sizes), device=self.present.device)
        for start in range(0, len(task.train), self.config.fisher_batch):
            examples = task.train[start : start + self.config.fisher_batch]
            batch = self.model.backbone.collate(examples).to(self.present.device)
            loss = self.classify(self.model(batch).logits, batch.labels)
            gradients = torch.autograd.grad(loss, self.pulled, allow_unused=True, materialize_grads=True)
            total += len(examples) * torch.cat([g.reshape(-1) for g in gradients]).square()
        return total / len(task.train)
