"""A small network between the features and a contrastive loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ProjectionHead(nn.Module):
    """Features (B, D) to what is contrasted (B, K), after Chen et al. (2020), "SimCLR". Fresh for every task.

    What it throws away the features need not: they can serve the cross-entropy and be contrasted at the same time.

    Args:
        features: D.
        width: K.
        generator: Source of the initial weights.
    """

    def __init__(self, features: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(features, features))
        self.second = nn.Parameter(torch.empty(width, features))
        with torch.no_grad():
            for weight in (self.first, self.second):
                weight.normal_(0.0, features**-0.5, generator=generator)

    def forward(self, features: Tensor) -> Tensor:
        """(B, D) to (B, K)."""
        return torch.relu(features @ self.first.T) @ self.second.T
