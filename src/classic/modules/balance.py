"""Weights of several losses by how hard each of them pulls."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_SMOOTHING = 0.9
_MOST = 100.0  # of a weight: a loss that has nothing left to pull for is not blown up


class Balance(nn.Module):
    """Measures how hard each loss pulls on the features, and weighs the others by a wished share of the first's pull.

        g_k = |d L_k / d features|, smoothed over the steps,      lambda_k = share_k g_1 / g_k

    Equal weights are not equal pulls: at temperature 1 a contrastive loss over normalised features has a hundredth of the
    gradient of a cross-entropy. Measured on the features, not on the weights, it costs next to nothing.

    Args:
        names: Of the losses; the first is the one the others are compared with.

    Attributes:
        pulls: (K,) g; part of checkpoints, so that a killed run goes on with the same weights.
        shares: How hard each of the others pulled in the last step, weights included, as a share of the first.
    """

    pulls: Tensor

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        self.shares: dict[str, float] = {}
        self.register_buffer("pulls", torch.zeros(len(names)))

    def weights(
        self, losses: dict[str, Tensor], features: Tensor, wished: dict[str, float], *, fixed: bool
    ) -> dict[str, float]:
        """The weight of each loss of a step but the first.

        Args:
            losses: By name, without weights.
            features: (B, D), which all of them were computed from.
            wished: The share of each or, if ``fixed``, its weight.
            fixed: Whether to measure only.
        """
        now = torch.zeros_like(self.pulls)
        for place, name in enumerate(self.names):
            if name in losses and losses[name].requires_grad:
                (gradient,) = torch.autograd.grad(losses[name], features, retain_graph=True, allow_unused=True)
                now[place] = 0.0 if gradient is None else gradient.detach().norm()
        # A loss that says nothing about a batch (no pair in it) is not measured on it.
        smoothed = torch.where(self.pulls > 0, torch.lerp(now, self.pulls, _SMOOTHING), now)
        self.pulls = torch.where(now > 0, smoothed, self.pulls)
        first, found = float(self.pulls[0]), {}
        self.shares = {}
        for place, name in enumerate(self.names[1:], start=1):
            if name not in losses:
                continue
            pull = float(self.pulls[place])
            weight = wished[name] if fixed else min(_MOST, wished[name] * first / pull) if pull else 0.0
            found[name] = weight
            self.shares[name] = weight * float(now[place]) / max(float(now[0]), 1e-12)
        return found
