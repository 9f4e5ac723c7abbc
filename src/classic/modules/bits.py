"""Binary masks as bits."""

from __future__ import annotations

import torch
from torch import Tensor

_WEIGHTS = (128, 64, 32, 16, 8, 4, 2, 1)


def pack_bits(mask: Tensor) -> Tensor:
    """(U,) bool to (ceil(U / 8),) uint8, first unit in the highest bit, as numpy.packbits does."""
    padded = torch.zeros(-(-len(mask) // 8) * 8, dtype=torch.uint8)
    padded[: len(mask)] = mask.cpu().to(torch.uint8)
    return (padded.view(-1, 8) * torch.tensor(_WEIGHTS, dtype=torch.uint8)).sum(dim=1, dtype=torch.uint8)


def unpack_bits(packed: Tensor, units: int) -> Tensor:
    """The inverse of pack_bits."""
    weights = torch.tensor(_WEIGHTS, dtype=torch.uint8)
    return (packed.cpu().unsqueeze(1) & weights).ne(0).view(-1)[:units]
