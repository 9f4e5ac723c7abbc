"""Parameters of which every task keeps a copy of its own: LayerNorms and, in DIL, the shared head."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class PrivateCopies(nn.Module):
    """Copies of some small parameters, one row per learned task.

    The parameters themselves go on training; a row is what they were when its task ended. A new task starts from the
    values its predecessor left.
    """

    copies: Tensor

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.live = tuple(parameters)  # a plain tuple: they belong to the backbone and the head
        self.sizes = [parameter.numel() for parameter in self.live]
        self.register_buffer("copies", torch.zeros((0, sum(self.sizes))))

    def read(self) -> Tensor:
        """The live values, flat."""
        if not self.live:
            return self.copies.new_zeros(0)
        return torch.cat([parameter.detach().reshape(-1) for parameter in self.live])

    def write(self, values: Tensor) -> None:
        """Overwrites the live values."""
        with torch.no_grad():
            for parameter, part in zip(self.live, values.split(self.sizes), strict=True):
                parameter.copy_(part.view_as(parameter))

    def keep(self) -> None:
        """Adds the live values as the newest task's copy."""
        self.copies = torch.cat([self.copies, self.read().unsqueeze(0)])
