"""Which learned domain a text resembles, and whether it resembles any: a linear discriminant over text surfaces.

Kept per domain: the mean of its surfaces and one distance; for all domains together: one scatter matrix. No text.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_SHRINKAGE = 0.1  # towards a round covariance: a first domain of 120 sentences cannot fill a 384 x 384 matrix
_TOLERANCE = 3.0  # standard deviations of the distances of held-out texts of a domain


class DomainMap(nn.Module):
    """Means of the learned domains in the space of text surfaces (`Backbone.surface`), under one shared covariance.

    Attributes:
        means: (T, d).
        scatter: (d, d); summed over the domains, within each.
        count: Number of texts in it.
        reach: (T,); how far a text of a domain may lie from its mean before it counts as unfamiliar.
    """

    means: Tensor
    scatter: Tensor
    count: Tensor
    reach: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("means", torch.zeros(0, width))
        self.register_buffer("scatter", torch.zeros(width, width))
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("reach", torch.zeros(0))

    def add(self, train: Tensor, held_out: Tensor) -> None:
        """Takes in a domain: surfaces (n, d) it was trained on and (m, d) it was not; without these, the former."""
        mean = train.mean(dim=0)
        centred = train - mean
        self.means = torch.cat([self.means, mean.unsqueeze(0)])
        self.scatter = self.scatter + centred.T @ centred
        self.count = self.count + len(train)
        distances = self.distances(held_out if len(held_out) > 1 else train)[:, -1]
        reach = distances.mean() + _TOLERANCE * distances.std()
        self.reach = torch.cat([self.reach, reach.reshape(1)])

    def whitener(self) -> Tensor:
        """W (d, d) under which the shared covariance is round: the distance of s to a mean m is |W (s - m)|."""
        covariance = self.scatter / self.count.clamp(min=1)
        width = len(covariance)
        spread = covariance.diagonal().mean().clamp(min=1e-12)  # texts that are all the same have none
        identity = torch.eye(width, device=covariance.device)
        factor = torch.linalg.cholesky((1 - _SHRINKAGE) * covariance + _SHRINKAGE * spread * identity)
        whitener: Tensor = torch.linalg.solve_triangular(factor, identity, upper=False)
        return whitener

    def distances(self, surfaces: Tensor, whitener: Tensor | None = None) -> Tensor:
        """Mahalanobis distance of each text to each domain's mean, (n, T); ``whitener`` is computed if it is not given."""
        turn = self.whitener() if whitener is None else whitener
        gaps = (surfaces @ turn.T).unsqueeze(1) - (self.means @ turn.T).unsqueeze(0)  # (n, T, d)
        return gaps.square().sum(dim=2).sqrt()

    def locate(self, surfaces: Tensor, whitener: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Nearest domain (n,) and whether a text is unlike every domain (n,)."""
        distances = self.distances(surfaces, whitener)
        return distances.argmin(dim=1), (distances > self.reach).all(dim=1)
