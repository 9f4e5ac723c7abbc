"""Task-based self-attention: mixes what all task models say about an example into one shared view."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def mix_tasks(states: Tensor, f: Tensor, g: Tensor, q: Tensor, v: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
    """Attention over the task axis.

    Paper: Eq. (8)-(11), Sec. 3.3.1

        s_ij = (W_f h_i) . (W_g h_j),   alpha_{j,i} = exp(s_ij) / sum_i exp(s_ij)
        o_j = W_v sum_i alpha_{j,i} W_q h_i,   h_CKS = sum_{i<=t} (gamma o_i + h_i)

    Args:
        states: h, (B, T, D); what each task's model says about each example, the current task last.
        f: W_f, (K, D).
        g: W_g, (K, D).
        q: W_q, (K, D).
        v: W_v, (D, K).
        gamma: scalar.

    Returns:
        The shared view (B, D) and the attention alpha (B, T, T), whose row j says from whom task j takes.
    """
    queries, keys = states @ f.T, states @ g.T
    similarity = queries @ keys.transpose(1, 2)  # (B, i, j), Eq. (8)
    attention = similarity.softmax(dim=1).transpose(1, 2)  # (B, j, i), Eq. (9)
    outputs = (attention @ (states @ q.T)) @ v.T  # (B, j, D), Eq. (10)
    return (gamma * outputs + states).sum(dim=1), attention  # Eq. (11)


class TaskAttention(nn.Module):
    """The four projections and gamma of one task. Fresh for every task: nothing of it is needed at prediction.

    Args:
        features: D.
        generator: Source of the initial weights.
        reduction: K = D / reduction; the paper does not give K, and SAGAN, where the block comes from, uses 8.
    """

    def __init__(self, features: int, generator: torch.Generator, reduction: int = 8) -> None:
        super().__init__()
        inner = max(1, features // reduction)
        self.f = nn.Parameter(torch.empty(inner, features))
        self.g = nn.Parameter(torch.empty(inner, features))
        self.q = nn.Parameter(torch.empty(inner, features))
        self.v = nn.Parameter(torch.empty(features, inner))
        self.gamma = nn.Parameter(torch.zeros(()))
        with torch.no_grad():
            for weight in (self.f, self.g, self.q, self.v):
                weight.normal_(0.0, weight.shape[1] ** -0.5, generator=generator)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Shared view (B, D) and attention (B, T, T) of states (B, T, D)."""
        return mix_tasks(states, self.f, self.g, self.q, self.v, self.gamma)


class TaskAxisAttention(nn.Module):
    """The released code's form: projections along the task axis, t x t matrices with biases, no output projection.

    With U (D, t) the features of the t models: Q = U A_q + b_q, K and V alike; attention = softmax(Q^T K) by rows;
    view = sum over tasks of gamma V attention^T + U.

    Args:
        tasks: t, the current task included.
        generator: Source of the initial weights.
    """

    def __init__(self, tasks: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.empty(3, tasks, tasks))
        self.biases = nn.Parameter(torch.zeros(3, 1, tasks))
        self.gamma = nn.Parameter(torch.zeros(()))
        with torch.no_grad():
            self.weights.normal_(0.0, tasks**-0.5, generator=generator)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Shared view (B, D) and attention (B, T, T) of states (B, T, D)."""
        along_tasks = states.transpose(1, 2)  # (B, D, T)
        q, k, v = (along_tasks @ self.weights[i] + self.biases[i] for i in range(3))
        attention = (q.transpose(1, 2) @ k).softmax(dim=2)  # (B, T, T)
        mixed = v @ attention.transpose(1, 2)
        return (self.gamma * mixed + along_tasks).sum(dim=2), attention
