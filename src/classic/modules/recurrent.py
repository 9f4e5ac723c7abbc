"""Recurrent readers of token states: a GRU that stops at the last real token, and one whose units tell their activity.

Both read right-padded states (B, L, d) and a mask (B, L), 1 for real tokens. What is behind a text's last real token
has no say: a GRU that runs on over a hundred paddings has forgotten the text when it is asked about it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class GruReader(nn.Module):
    """A GRU of one layer, as wide as its input.

    Args:
        width: Width of inputs and states, d.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """States at every token (B, L, d), zero at padding, and at the last real token (B, d)."""
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(tokens, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.gru(packed)
        padded, _ = pad_packed_sequence(states, batch_first=True, total_length=tokens.shape[1])
        return padded, last[0]


def leaky_clip(x: Tensor, leak: float) -> Tensor:
    """The identity between 0 and 0.9, 0.9 + leak x above, leak x below (Lv et al. 2019)."""
    return torch.where(x <= 0, leak * x, torch.where(x >= 0.9, 0.9 + leak * x, x))


class ClippedGru(nn.Module):
    """A GRU whose candidate state is clipped linearly where the usual one has tanh.

    r = sigmoid(W_r x + U_r h),  z = sigmoid(W_z x + U_z h),  n = phi(W_n x + r (U_n h)),  h' = (1 - z) n + z h

    A unit that is not needed stays near 0, so the size of its states tells how much it is used.

    Args:
        width: Width of inputs and states, d.
        leak: Slope of phi outside its linear part.
    """

    def __init__(self, width: int, leak: float) -> None:
        super().__init__()
        self.leak = leak
        self.from_input = nn.Linear(width, 3 * width)  # rows: reset, update, candidate, as in nn.GRU
        self.from_state = nn.Linear(width, 3 * width)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """States at every token (B, L, d), zero at padding, and at the last real token (B, d)."""
        projected = self.from_input(tokens)
        real = mask.bool().unsqueeze(-1)
        state = tokens.new_zeros(tokens.shape[0], tokens.shape[2])
        states = []
        for position in range(tokens.shape[1]):
            state = torch.where(real[:, position], self._next(projected[:, position], state), state)
            states.append(state)
        return torch.stack(states, dim=1) * real, state

    def _next(self, projected: Tensor, state: Tensor) -> Tensor:
        x_reset, x_update, x_new = projected.chunk(3, dim=1)
        h_reset, h_update, h_new = self.from_state(state).chunk(3, dim=1)
        reset, update = torch.sigmoid(x_reset + h_reset), torch.sigmoid(x_update + h_update)
        candidate = leaky_clip(x_new + reset * h_new, self.leak)
        return (1 - update) * candidate + update * state


def draw_uniform(module: nn.Module, width: int, generator: torch.Generator) -> None:
    """Initial weights uniform on +-1/sqrt(d), PyTorch's choice for a GRU, from a generator of our own."""
    bound = 1 / math.sqrt(width)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.empty(parameter.shape).uniform_(-bound, bound, generator=generator))


def clear(module: nn.Module) -> None:
    """Zeroes all weights: a module that is drawn later must be the same in every process until then."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
