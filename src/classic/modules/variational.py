"""Bayesian layers: weights with a mean each and a noise scale per output unit.

After Ahn et al. (2019), "UCL". A unit whose noise became small is one that tasks rely on; how small tells a later task
how freely the unit's weights may still move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softplus

from classic.modules.plastic import Plastic


class VariationalLinear(nn.Linear):
    """W = mu + sigma eps while training, mu otherwise; sigma = softplus(rho), one per output unit; biases are plain."""

    rho: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, sampled(self), self.bias)


class VariationalConv1d(nn.Conv1d):
    """The same for a convolution, one sigma per filter."""

    rho: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        convolved: Tensor = self._conv_forward(input, sampled(self), self.bias)
        return convolved


Variational = VariationalLinear | VariationalConv1d


def sampled(layer: Variational) -> Tensor:
    """The weights of one pass: one sample for the whole batch, drawn from torch's global generator, as dropout is."""
    if not layer.training:
        return layer.weight
    sigma = softplus(layer.rho).view(-1, *(1,) * (layer.weight.dim() - 1))
    return layer.weight + sigma * torch.randn_like(layer.weight)


def make_variational(plastic: Plastic) -> Variational:
    """Replaces a Plastic layer by a noisy one with the same weights; noise is set by `initialise`."""
    old = plastic.layer
    new: Variational
    if isinstance(old, nn.Linear):
        new = VariationalLinear(old.in_features, old.out_features, old.bias is not None, device="meta")
    else:
        # Padding is written as a pair or as a word; Conv1d's own types know only its constructor's spelling.
        shape = (old.in_channels, old.out_channels, old.kernel_size[0], old.stride[0], old.padding, old.dilation[0])
        new = VariationalConv1d(*shape, old.groups, old.bias is not None, old.padding_mode, device="meta")  # type: ignore[arg-type]
    new.weight, new.bias = old.weight, old.bias
    new.rho = nn.Parameter(torch.zeros(len(old.weight), device=old.weight.device))
    new.train(old.training)
    plastic.layer = new
    return new


def initialise(layer: Variational, ratio: float, scale: float | None, generator: torch.Generator) -> float:
    """Sets a layer's initial means and noise; returns sigma_init.

    Of the total variance V the share ``ratio`` is noise and the rest the spread of the means (Ahn et al., Sec. 4.1).

    Args:
        layer: The layer.
        ratio: r.
        scale: With a number V = scale^2 * 2 / fan_in (linear) or 2 / fan_out (convolution) and the means are drawn
            anew; 1 is the publication's. None leaves the means as they are, near 0 in an adapter, and takes V from
            them.
        generator: Where the means are drawn from.
    """
    with torch.no_grad():
        if scale is None:
            spread = float(layer.weight.square().mean())
            variance = spread / (1 - ratio)
        else:
            patch = layer.weight[0, 0].numel()  # kernel size; 1 in a linear layer
            fan = layer.weight.shape[1] if isinstance(layer, nn.Linear) else layer.weight.shape[0] * patch
            variance = scale**2 * 2 / fan
            bound = math.sqrt(3 * (1 - ratio) * variance)
            layer.weight.copy_(torch.empty(layer.weight.shape).uniform_(-bound, bound, generator=generator))
            if layer.bias is not None:
                layer.bias.zero_()
        sigma = math.sqrt(ratio * variance)
        layer.rho.fill_(math.log(math.expm1(sigma)))
    return sigma


@dataclass(frozen=True)
class Posterior:
    """A layer as tensors: means (out, in[, k]), noise scales (out,) and biases (out,), if it has any."""

    mean: Tensor
    sigma: Tensor
    bias: Tensor | None


def posterior(layer: Variational) -> Posterior:
    """A layer as it is, with gradient."""
    return Posterior(layer.weight, softplus(layer.rho), layer.bias)


def ucl_terms(new: Posterior, old: Posterior, sigma_init: float, incoming: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three sums of UCL's regulariser over one layer.

    Ahn et al. (2019), Eq. (9) and the text around it:

        pull    ||Lambda (mu - mu')||^2 + ||(s/sigma') (b - b')||^2,   Lambda_ij = max(s/sigma'_i, incoming_j)
        freeze  s^2 ( ||(mu'/sigma')^2 (mu - mu')||_1 + ||(b'/sigma')^2 (b - b')||_1 )
        noise   sum_i (sigma/sigma')^2 - log (sigma/sigma')^2 + sigma^2 - log sigma^2

    Args:
        new: The layer in training.
        old: The layer as the previous task left it, the primed symbols.
        sigma_init: s, the layer's initial noise.
        incoming: (in,) s/sigma' of the units that feed the layer, with their own s; 1 where no noisy layer feeds it.
    """
    trailing = (1,) * (new.mean.dim() - 2)
    strength = sigma_init / old.sigma  # (out,)
    pair = torch.maximum(strength.unsqueeze(1), incoming.unsqueeze(0)).view(len(strength), len(incoming), *trailing)
    wide = old.sigma.view(-1, 1, *trailing)
    moved = new.mean - old.mean
    pull = (pair * moved).square().sum()
    freeze = ((old.mean / wide).square() * moved).abs().sum()
    if new.bias is not None and old.bias is not None:
        shifted = new.bias - old.bias
        pull = pull + (strength * shifted).square().sum()
        freeze = freeze + ((old.bias / old.sigma).square() * shifted).abs().sum()
    ratio, size = (new.sigma / old.sigma).square(), new.sigma.square()
    noise = (ratio - ratio.log() + size - size.log()).sum()
    return pull, sigma_init**2 * freeze, noise
