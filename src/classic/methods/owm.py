"""OWM: weights move only in directions orthogonal to what a layer has been given before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from classic.backbones.base import Need
from classic.errors import IncompatibleError
from classic.methods.base import Method
from classic.model import Model
from classic.modules.plastic import Plastic
from classic.modules.projection import Projector, inputs_of, joined
from classic.types import Batch, Step, Task

_REAL_TOKENS = ("attention_mask", "mask")  # what backbones call the mask of real tokens in a batch


@dataclass(frozen=True)
class OwmConfig:
    """Orthogonal weights modification.

    Attributes:
        update: When a layer's projector takes in its inputs: at the end of a ``task``, in one pass over its examples
            (Zeng et al.'s procedure), or in every training ``step``, which treats every batch as a task (their remark,
            and their code). A step's projector also forbids what the current task has just seen.
        batch_size: Examples whose mean input is taken in at once, at the end of a task.
        alpha_conv, alpha_first, alpha_second, alpha_deeper: alpha at the end of a task, for convolutions and for the
            first, second and further linear layers of a chain; it falls from 1 to there. The smaller, the stricter.
        stride: Between the patches of a convolution's input.
    """

    update: Literal["task", "step"] = "task"
    batch_size: int = 16
    alpha_conv: float = 1e-5
    alpha_first: float = 1e-4
    alpha_second: float = 1e-2
    alpha_deeper: float = 1e-1
    stride: int = 2


class Owm(Method):
    """Gradients and updates are projected onto the space orthogonal to all inputs of earlier tasks.

    Source: Zeng et al. (2019), Eq. (1)-(4). For a layer y = W x, with P = I at first and x the mean input of a batch,

        k = P x,   P <- P - k k^T / (alpha + x^T k),        dW <- dW P

    A bias is the weight of a constant input 1, so x has one entry more than the layer has inputs; otherwise the bias
    would be free to shift every earlier output. A convolution takes in every patch of the mean input. Momentum and
    Adam's rescaling turn a projected gradient out of the allowed space, so what the optimiser did to W is projected
    once more.

    Keeps one P per Plastic layer, whatever the number of tasks, and no data. Heads and LayerNorms are not projected.
    """

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED})
    source: ClassVar[str] = "Zeng et al. (2019), Continual learning of context-dependent processing in neural networks"
    equation: ClassVar[str] = "dW <- dW P,  P <- P - k k^T / (alpha + x^T k),  k = P x"

    projectors: Sequence[Projector]

    def __init__(self, model: Model, config: OwmConfig) -> None:
        super().__init__(model)
        self.config = config
        plastics = tuple(model.backbone.plastic().values())
        if not plastics:
            raise IncompatibleError("this backbone has no layer to project", fix="choose another backbone")
        self.layers = tuple(plastic.layer for plastic in plastics)  # a plain tuple: they belong to the backbone
        self.projectors = nn.ModuleList(Projector(x, config.stride) for x in self.layers)  # type: ignore[assignment]
        self.strictness = [self._strictness(plastic) for plastic in plastics]
        self._seen: list[Tensor] = []
        self._before: list[Tensor] = []

    def _strictness(self, plastic: Plastic) -> float:
        if isinstance(plastic.layer, nn.Conv1d):
            return self.config.alpha_conv
        steps = (self.config.alpha_first, self.config.alpha_second, self.config.alpha_deeper)
        return steps[min(_linear_depth(plastic), len(steps) - 1)]

    @property
    def projecting(self) -> bool:
        """Whether anything is forbidden yet: in the first task of ``task`` the projectors are the identity."""
        return self.config.update == "step" or self.learned > 0

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        if self.config.update == "task":
            return super().loss(batch, step)
        with inputs_of(self.layers) as inputs:
            terms = super().loss(batch, step)
        self._seen = self._vectors(inputs, batch)
        return terms

    def _vectors(self, inputs: list[Tensor], batch: Batch) -> list[Tensor]:
        assert len(inputs) == len(self.layers), "every Plastic layer must be used once in a pass"
        real = next((batch.inputs[name] for name in _REAL_TOKENS if name in batch.inputs), None)
        return [projector.vectors(x, real) for projector, x in zip(self.projectors, inputs, strict=True)]

    def _take_in(self, vectors: list[Tensor], progress: float) -> None:
        for projector, rows, strictness in zip(self.projectors, vectors, self.strictness, strict=True):
            projector.take_in(rows, strictness**progress)

    def edit_gradients(self, step: Step) -> None:
        if self.config.update == "step":
            self._take_in(self._seen, (step.epoch + step.batch / step.batches) / step.epochs)
        if self.projecting:
            self._before = [joined(layer.weight, layer.bias).detach().clone() for layer in self.layers]
            for layer, projector in zip(self.layers, self.projectors, strict=True):
                if layer.weight.grad is not None:
                    bias = None if layer.bias is None else layer.bias.grad
                    projector.allowed(joined(layer.weight.grad, bias), layer.weight.grad, bias)

    def after_update(self, step: Step) -> None:
        if self.projecting:
            for layer, projector, before in zip(self.layers, self.projectors, self._before, strict=True):
                projector.allowed(joined(layer.weight, layer.bias) - before, layer.weight, layer.bias, before)

    def finish_task(self, task: Task) -> None:
        if self.config.update == "task":
            self.eval()
            starts = range(0, len(task.train), self.config.batch_size)
            for number, start in enumerate(starts, start=1):
                batch = self.model.backbone.collate(task.train[start : start + self.config.batch_size])
                batch = batch.to(self.present.device)
                with torch.no_grad(), inputs_of(self.layers) as inputs:
                    self.model(batch)
                self._take_in(self._vectors(inputs, batch), number / len(starts))
        self._seen, self._before = [], []
        super().finish_task(task)


def _linear_depth(plastic: Plastic) -> int:
    """How many linear layers lie upstream of a layer, one above another."""
    below = [_linear_depth(up) + 1 for up in plastic.upstream if isinstance(up.layer, nn.Linear)]
    return max(below, default=0)
