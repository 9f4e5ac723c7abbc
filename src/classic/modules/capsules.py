"""Knowledge-sharing capsules: what a text looks like to every task so far, brought together where tasks agree."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classic.modules.plastic import Plastic


def squash(x: Tensor) -> Tensor:
    """Shortens vectors (..., n) to lengths below 1 and keeps their directions (Sabour et al. 2017).

    v = |s|^2 / (1 + |s|^2) * s / |s|
    """
    squared = x.square().sum(dim=-1, keepdim=True)
    return x * (squared + 1e-12).sqrt() / (1 + squared)


def route(votes: Tensor, rounds: int) -> Tensor:
    """Agreement routing of votes (B, T, n, k), of T task capsules for n sharing capsules: (B, n, k).

    c_ij = softmax over the tasks i of b_ij,  v_j = squash(sum_i c_ij u_ij),  b_ij += u_ij . v_j

    The softmax goes over the tasks: a sharing capsule listens to the tasks that agree with one another.
    """
    agreement = votes.new_zeros(votes.shape[:3])
    shared = votes.new_zeros(votes.shape[0], *votes.shape[2:])
    for number in range(rounds):
        if number:
            agreement = agreement + (votes * shared.unsqueeze(1)).sum(dim=-1)
        shared = squash((agreement.softmax(dim=1).unsqueeze(-1) * votes).sum(dim=1))
    return shared


class SharingCapsules(nn.Module):
    """x + gate(W v): puts in front of an adapter what all tasks so far share about its input.

    Source: Ke, Xu, Liu (2021), "Adapting BERT for Continual Learning of a Sequence of Aspect Sentiment Classification
    Tasks".

        p_i = squash(F_i x), of every token, end to end;   u_ij = W_ij p_i;   v = route(u);   x + mask (W v)

    A capsule's dimensions are positions of the text, so its weights are cut to the texts' length: positions behind
    ``length``, and padding, neither give nor get anything.

    Args:
        features: Width of the hidden states, d.
        capsules: Number of sharing capsules; 3 in the released code.
        size: Numbers per token in a task capsule; 3 in the released code.
        length: Longest text in tokens that is shared whole; 128 in the released code.
        rounds: Of routing; 3 in the released code.

    Attributes:
        views: F_i of every task.
        routes: W_ij of every task i, (n, length * size, length).
        widen: W, whose output units a task masks like those of an adapter.
        reach: How many tasks take part: all up to the one whose model it is.
        real: (B, L), 1 for real tokens; must be shown before a text is read.
    """

    def __init__(self, features: int, capsules: int, size: int, length: int, rounds: int) -> None:
        super().__init__()
        self.features, self.capsules, self.size, self.length, self.rounds = features, capsules, size, length, rounds
        self.views = nn.ModuleList()
        self.routes = nn.ParameterList()
        self.widen = Plastic(nn.Linear(capsules, features), nn.Identity())
        self.reach = 0
        self.real = torch.ones(0)
        with torch.no_grad():
            for parameter in self.widen.parameters():
                parameter.zero_()

    def grow(self, tasks: int, generator: torch.Generator | None = None) -> None:
        """Makes room for that many tasks."""
        device = self.widen.layer.weight.device
        while len(self.views) < tasks:
            view = nn.Linear(self.features, self.size)
            weights = torch.empty(self.capsules, self.length * self.size, self.length)
            with torch.no_grad():
                view.weight.normal_(0.0, 0.02, generator=generator)
                view.bias.zero_()
                weights.normal_(0.0, 1.0, generator=generator)
            self.views.append(view.to(device))
            self.routes.append(nn.Parameter(weights.to(device)))

    def forward(self, x: Tensor) -> Tensor:
        if not self.reach:
            return x
        seen = min(x.shape[1], self.length)
        real = self.real[:, :seen].to(x.dtype)
        votes = []
        for view, weights in zip(list(self.views)[: self.reach], list(self.routes)[: self.reach], strict=True):
            capsule = squash((view(x[:, :seen]) * real.unsqueeze(-1)).flatten(1))  # (B, seen * size)
            votes.append(torch.einsum("bi,nio->bno", capsule, weights[:, : seen * self.size, :seen]))
        shared = route(torch.stack(votes, dim=1) * real[:, None, None], self.rounds)  # (B, n, seen)
        widened = self.widen(shared.transpose(1, 2)) * real.unsqueeze(-1)
        return torch.cat([x[:, :seen] + widened, x[:, seen:]], dim=1)
