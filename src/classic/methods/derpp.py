"""DER++: a small memory of examples, replayed with their labels and with what the network once said about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy as plain_cross_entropy

from classic.files import json_bytes
from classic.methods.base import Method
from classic.model import Model
from classic.modules.replay import Reservoir, routed_logits
from classic.seeding import Seeds
from classic.types import Batch, Example, Scenario, Step, Task


@dataclass(frozen=True)
class DerppConfig:
    """Dark experience replay.

    Attributes:
        alpha: Weight of the squared difference to the stored logits; 0.5 in the released code.
        beta: Weight of the cross-entropy on replayed examples; 0.5 in the released code. Both 0 is NCL.
        capacity: Examples kept; 128 in the released code.
        replay: Examples in each of the two draws of a step; as many as a training batch has in Buzzega et al.
    """

    alpha: float = 0.5
    beta: float = 0.5
    capacity: int = 128
    replay: int = 16


class Derpp(Method):
    """Rehearsal with stored examples, labels and logits.

    Source: Buzzega et al. (2020), Eq. (6), Alg. 2

        L = CE + alpha E_{(x', z') ~ M} ||z(x') - z'||^2 + beta E_{(x'', y'') ~ M} CE(z(x''), y'')

    with two independent draws from the memory M and, as in the authors' code, the mean over a logit vector's entries in
    place of their sum. After every step, in every epoch and from the first task on, each example of the batch goes into
    M by reservoir sampling, with the logits it had in that step. In TIL a replayed example goes through the head of its
    own task; logits of classes that head does not have count neither as difference nor in the mean.

    Keeps text: up to ``capacity`` training examples of earlier tasks, word for word, in the saved facts.
    """

    version: ClassVar[int] = 1
    keeps_data: ClassVar[bool] = True
    source: ClassVar[str] = "Buzzega et al. (2020), Dark experience for general continual learning"
    equation: ClassVar[str] = "L = CE + alpha MSE(z(x'), z') + beta CE(z(x''), y''),  x' and x'' from a memory"

    def __init__(self, model: Model, config: DerppConfig) -> None:
        super().__init__(model)
        self.config = config
        self.memory = Reservoir(config.capacity)
        self._seeds: Seeds | None = None
        self._examples: tuple[Example, ...] = ()
        self._seen: tuple[list[int], Tensor] = ([], torch.zeros(0))

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        self._seeds, self._examples = seeds, task.train

    def _generator(self, purpose: str, step: Step) -> torch.Generator:
        """Its own randomness: a step draws the same whatever dropout drew and whether the run was killed before."""
        assert self._seeds is not None
        return self._seeds.generator("replay", purpose, step.task, step.epoch, step.batch)

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        config = self.config
        output = self.model(batch)
        terms = {"ce": self.classify(output.logits, batch.labels)}
        kept = batch.as_read  # the memory holds training examples word for word
        self._seen = (batch.rows[kept].tolist(), output.logits.detach()[kept])
        if config.alpha and len(self.memory):
            places = self.memory.draw(config.replay, self._generator("logits", step))
            now, stored = self._replay(places)[0], self.memory.logits[places]
            real = stored > torch.finfo(stored.dtype).min / 8  # Head's filling of classes a TIL head does not have
            terms["der"] = config.alpha * ((now - stored).square() * real).sum() / real.sum()
        if config.beta and len(self.memory):
            logits, labels = self._replay(self.memory.draw(config.replay, self._generator("labels", step)))
            terms["replay"] = config.beta * plain_cross_entropy(logits, labels)
        return terms

    def _replay(self, places: list[int]) -> tuple[Tensor, Tensor]:
        """Logits (n, C) and labels (n,) of stored examples."""
        batch = self.model.backbone.collate([self.memory.examples[place] for place in places])
        batch = batch.to(self.present.device)
        features = self.model.features(batch)
        if self.model.head.scenario is Scenario.DIL:
            return self.model.head(features), batch.labels
        return routed_logits(self.model.head, features, [self.memory.tasks[place] for place in places]), batch.labels

    def after_update(self, step: Step) -> None:
        rows, logits = self._seen
        examples = [self._examples[row] for row in rows]
        self.memory.add(examples, step.task, logits, self._generator("reservoir", step))

    def finish_task(self, task: Task) -> None:
        self._examples = ()
        super().finish_task(task)

    def bytes_kept(self) -> int:
        return super().bytes_kept() + len(json_bytes(self.memory.facts()))

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"memory": self.memory.facts()}

    def restore(self, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.memory.restore(facts["memory"])
        super().restore(facts, tensors)
