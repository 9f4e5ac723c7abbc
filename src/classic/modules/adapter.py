"""The adapter: a two-layer network with a skip connection, put twice into every transformer layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classic.modules.plastic import Plastic


class Adapter(nn.Module):
    """x + ReLU(W2 ReLU(W1 x + b1) + b2), each ReLU followed by the task's mask.

    Paper: Sec. 3 "BERT Adapter" and Sec. 3.2.1, after Houlsby et al. (2019); the second ReLU is the released code's.

    Args:
        features: Width of the hidden states, d.
        width: Width of the hidden layer; 2000 in the paper.
        generator: Source of the initial weights, N(0, 0.02), so that an untrained adapter is nearly the identity.
    """

    def __init__(self, features: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.down = Plastic(nn.Linear(features, width), nn.ReLU())
        self.up = Plastic(nn.Linear(width, features), nn.ReLU(), upstream=(self.down,))
        with torch.no_grad():
            for plastic in (self.down, self.up):
                plastic.layer.weight.normal_(0.0, 0.02, generator=generator)
                if plastic.layer.bias is not None:
                    plastic.layer.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = x + self.up(self.down(x))
        return changed
