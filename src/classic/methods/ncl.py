"""NCL: naive continual learning. One network, trained on the tasks in order, nothing done against forgetting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from classic.losses import csc
from classic.methods.base import Method
from classic.model import Model
from classic.types import Batch, Step


@dataclass(frozen=True)
class NclConfig:
    """Naive learning.

    Attributes:
        csc: Weight of the supervised contrastive loss; 0 is plain NCL, 1 is the paper's NCL+csc.
        temperature: Of that loss.
    """

    csc: float = 0.0
    temperature: float = 1.0


class Ncl(Method):
    """Cross-entropy on the current task, with the supervised contrast as an option.

    Source: the paper's NCL baselines (Sec. 4.2). Keeps nothing between tasks but the network.
    """

    version: ClassVar[int] = 1
    source: ClassVar[str] = "Ke et al. (2021), CLASSIC, Sec. 4.2"
    equation: ClassVar[str] = "L = CE (+ csc L_CSC)"

    def __init__(self, model: Model, config: NclConfig) -> None:
        super().__init__(model)
        self.config = config

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        output = self.model(batch)
        terms = {"ce": self.classify(output.logits, batch.labels)}
        if self.config.csc:
            terms["csc"] = self.config.csc * csc(output.features, batch.labels, self.config.temperature)
        return terms
