"""Answers in the light of the domain a text seems to come from."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classic.modules.domain_map import DomainMap

_NEVER = -1e4  # added to the logit of a class that a domain does not have; finite, so that sums stay so
_SHARPNESS = 0.4  # of the discriminant: the words of one sentence are fewer witnesses than it takes them for
LEAST = -16.0  # logarithm of the least probability: what lies below is all the same, and not worth its rounding errors


class DomainReader(nn.Module):
    """Believes a class as far as the domains that have it are likely.

        p(y | x) = sum_d p(d | x) softmax(z(x) + a log pi_d + c log(1 + n_y))_y,   p(d | x) ~ exp(-b |W (s(x) - m_d)|^2 / 2)

    The network's logits z say what speaks for a class. The surface s of a text says, by the domain map's means m_d and its
    whitener W, which domains it may come from, and their label shares pi_d which classes there are and how frequent. So
    "neutral" is believed where domains know it and doubted where none does, and nobody has to name the domain. A class
    that the last n_y domains lacked has faded under their steps, and is raised.

    Args:
        domains: The domain map.
        shares: (T, C) label shares of its domains; 0 is a class a domain does not have.
        belief: a; 0 asks only which classes there are, 1 believes the shares as they are.
        faded: c; 0 raises no class.
    """

    expected: Tensor

    def __init__(self, domains: DomainMap, shares: Tensor, belief: float = 0.0, faded: float = 0.0) -> None:
        super().__init__()
        count, width = domains.means.shape
        self.place = nn.Linear(width, count, device=domains.means.device).requires_grad_(False)
        # -b |W (s - m)|^2 / 2 without what is the same for all domains is linear in s; seen from the middle of all domains,
        # so that no large numbers are taken from each other.
        turn = domains.whitener().double()
        means, middle = domains.means.double() @ turn.T, domains.means.double().mean(dim=0) @ turn.T
        self.place.weight.copy_(_SHARPNESS * (means - middle) @ turn)
        self.place.bias.copy_(_SHARPNESS * (middle.square().sum() - means.square().sum(dim=1)) / 2)
        newest_first = (shares > 0).flip(0).long()
        raised = faded * newest_first.argmax(dim=0).float().log1p()  # argmax: how many domains ago it was last taught
        self.register_buffer("expected", (expectation(shares, belief) + raised).to(domains.means.device))

    def forward(self, logits: Tensor, surfaces: Tensor) -> Tensor:
        """Log p(y | x), (B, C), from logits (B, C) and surfaces (B, d)."""
        domain = self.place(surfaces).log_softmax(dim=1)  # (B, T)
        answer = (logits.unsqueeze(1) + self.expected).log_softmax(dim=2)  # (B, T, C)
        read: Tensor = (domain.unsqueeze(2) + answer).logsumexp(dim=1).clamp(min=LEAST)
        return read


class KnownDomain(nn.Module):
    """Answers where the domain is known: softmax(z + a log pi), with the classes it has."""

    expected: Tensor

    def __init__(self, shares: Tensor, belief: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("expected", expectation(shares, belief))

    def forward(self, logits: Tensor, surfaces: Tensor) -> Tensor:
        """Logits (B, C), those of classes the domain does not have out of reach."""
        return logits + self.expected


def expectation(shares: Tensor, belief: float) -> Tensor:
    """A log pi, with a large negative number where a share is 0, whatever a."""
    return torch.where(shares > 0, belief * shares.clamp(min=1e-12).log(), _NEVER)
