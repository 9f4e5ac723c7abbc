"""Texts that anybody may keep, rehearsed while a task is learned."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from classic.methods.base import Method
from classic.methods.classic.teachers import Teachers
from classic.types import POLARITIES, Batch, Example, Step

_MOST = 512  # examples that are drawn for a task
_TRUTH = 0.5  # how much a label counts; the rest is what the model before says


class Rehearsal:
    """Labelled examples that are at hand whatever is learned, such as the starter corpus: no text of a customer's.

    What a step wants about each: half its label, half what the model before answered. The label keeps a long sequence from
    drifting away, the old answers keep what later domains have added.
    """

    def __init__(self, method: Method, teachers: Teachers, at_hand: Sequence[Example], draw: Random) -> None:
        self._examples = tuple(draw.sample(at_hand, min(_MOST, len(at_hand))))
        self._backbone = method.model.backbone
        said = teachers.say(method, self._examples, [method.learned - 1])[1][:, 0].softmax(dim=1)
        true = torch.tensor([e.polarity.column for e in self._examples if e.polarity is not None], device=said.device)
        self._wanted = (_TRUTH * one_hot(true, len(POLARITIES)) + (1 - _TRUTH) * said).log()

    def batch(self, step: Step, size: int) -> tuple[Batch, Tensor]:
        """The examples of a step, and the logarithms (B, C) of what is wanted; one after the other, then over again."""
        first = (step.epoch * step.batches + step.batch) * size
        rows = [(first + place) % len(self._examples) for place in range(max(size, 1))]
        return self._backbone.collate([self._examples[row] for row in rows]).to(self._wanted.device), self._wanted[rows]
