"""UCL: noisy weights, whose noise tells how freely a unit may still be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from classic.backbones.base import Need
from classic.errors import IncompatibleError
from classic.methods.base import Group, Method, Phase
from classic.model import Model
from classic.modules.plastic import Plastic
from classic.modules.variational import Posterior, initialise, make_variational, posterior, ucl_terms
from classic.seeding import Seeds
from classic.types import Batch, Step, Task


@dataclass(frozen=True)
class UclConfig:
    """Uncertainty-regularised learning.

    Attributes:
        alpha: Weight of the pull in the first task, towards the initial weights; it is 1 afterwards. 5 in Ahn et al.'s
            split CIFAR-100 and in the released code.
        beta: Weight of the noise term; 0.002 in the released code, for convolutions.
        ratio: Share r of the initial variance that is noise; 0.125 there.
        scale: Factor on the publication's initial spread; None keeps the backbone's own initial weights, so that an
            adapter starts near the identity. At 1 adapters wreck a pretrained encoder before the first step.
        rho_rate: Learning rate of the noise; 0.01 in Ahn et al., None takes that of the weights.
    """

    alpha: float = 5.0
    beta: float = 0.002
    ratio: float = 0.125
    scale: float | None = None
    rho_rate: float | None = 0.01


class Ucl(Method):
    """A Bayesian network that regularises itself by node-wise uncertainty.

    Source: Ahn et al. (2019), Eq. (9); with m examples in a batch, a = alpha in the first task and 1 afterwards

        L = CE + a/2m  sum pull + 1/m  sum freeze (from the second task on) + beta/2m  sum noise

    the three sums as in `classic.modules.variational.ucl_terms`, over all Plastic layers. Primed values are the initial
    ones during the first task. A layer fed by other Plastic layers takes their noise from `Plastic.upstream`; the
    inputs of a first layer have strength 1, as in the publication's code. Heads and LayerNorms are ordinary.

    Keeps one copy of means, noise and biases of the Plastic layers, whatever the number of tasks, and no data.
    """

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED})
    source: ClassVar[str] = "Ahn et al. (2019), Uncertainty-based continual learning with adaptive regularization"
    equation: ClassVar[str] = "L = CE + a/2m |Lambda dmu|^2 + s^2/m |(mu'/sigma')^2 dmu|_1 + beta/2m noise(sigma)"

    previous: Tensor
    sigma_init: Tensor

    def __init__(self, model: Model, config: UclConfig) -> None:
        super().__init__(model)
        self.config = config
        self.plastics = tuple(model.backbone.plastic().values())  # a plain tuple: they belong to the backbone
        if not self.plastics:
            raise IncompatibleError("this backbone has no layer that could be noisy", fix="choose another backbone")
        self.layers = tuple(make_variational(plastic) for plastic in self.plastics)
        self.register_buffer("previous", torch.zeros(0))
        self.register_buffer("sigma_init", torch.zeros(len(self.layers)))

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        if not self.learned:
            generator, config = seeds.generator("variational"), self.config
            spreads = [initialise(layer, config.ratio, config.scale, generator) for layer in self.layers]
            self.sigma_init = torch.tensor(spreads, device=self.present.device)
            self._keep()

    def plan(self, task: Task) -> list[Phase]:
        noise = {id(layer.rho) for layer in self.layers}
        rest = tuple(p for p in self.weights() if id(p) not in noise)
        rhos = Group(tuple(layer.rho for layer in self.layers), self.config.rho_rate)
        return [Phase("train", (Group(rest), rhos), task.train)]

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        terms, config, m = super().loss(batch, step), self.config, len(batch)
        pull, freeze, noise = self.regulariser()
        terms["pull"] = (1.0 if self.learned else config.alpha) / (2 * m) * pull
        if self.learned:
            terms["freeze"] = freeze / m
        terms["noise"] = config.beta / (2 * m) * noise
        return terms

    def regulariser(self) -> tuple[Tensor, Tensor, Tensor]:
        """pull, freeze and noise, each summed over the layers."""
        before, spreads = self._previous(), self.sigma_init.tolist()
        strengths = {
            id(plastic): spread / old.sigma for plastic, old, spread in zip(self.plastics, before, spreads, strict=True)
        }
        sums = [
            torch.stack(ucl_terms(posterior(layer), old, spread, self._incoming(plastic, strengths)))
            for plastic, layer, old, spread in zip(self.plastics, self.layers, before, spreads, strict=True)
        ]
        pull, freeze, noise = torch.stack(sums).sum(dim=0).unbind()
        return pull, freeze, noise

    def _incoming(self, plastic: Plastic, strengths: dict[int, Tensor]) -> Tensor:
        weight = plastic.layer.weight
        if not plastic.upstream:
            return weight.new_ones(weight.shape[1])
        incoming = torch.cat([strengths[id(up)] for up in plastic.upstream])
        assert len(incoming) == weight.shape[1], "a layer's upstream must be all of its input"
        return incoming

    def finish_task(self, task: Task) -> None:
        self._keep()
        super().finish_task(task)

    def _keep(self) -> None:
        parts = [t for layer in self.layers for t in (layer.weight, layer.rho, layer.bias) if t is not None]
        self.previous = torch.cat([part.detach().reshape(-1) for part in parts])

    def _previous(self) -> list[Posterior]:
        """The layers as the previous task left them."""
        found, at = [], 0
        for layer in self.layers:
            units, size = len(layer.rho), layer.weight.numel()
            mean = self.previous[at : at + size].view_as(layer.weight)
            rho = self.previous[at + size : at + size + units]
            at += size + units
            bias = None if layer.bias is None else self.previous[at : at + units]
            at += 0 if layer.bias is None else units
            found.append(Posterior(mean, softplus(rho), bias))
        return found
