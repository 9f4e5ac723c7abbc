"""Trunks: small trainable networks over token states that never change.

A trunk reads right-padded states (B, L, d) and a mask (B, L), 1 for real tokens, and gives features (B, D). What stands
behind a text's last real token has no say in them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from classic.errors import unknown_name
from classic.modules.plastic import Plastic
from classic.modules.recurrent import GruReader, draw_uniform

Layer = TypeVar("Layer", nn.Linear, nn.Conv1d)
_WIDTHS = (3, 4, 5)  # Kim (2014), and every frozen and W2V system of the paper
_FILTERS = 100
_ASPECT_WIDTH = 3  # Xue & Li (2018)


class Trunk(nn.Module):
    """Token states to features.

    Attributes:
        features: Width of the features, D.
    """

    features: int

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(B, L, d), (B, L) to (B, D)."""

    def plastic(self) -> dict[str, Plastic]:
        """The layers a method may act on, inputs before outputs; none where there is no unit to gate."""
        return {}


class KimCnn(Trunk):
    """Convolutions of three widths, ReLU, the maximum over the text; then fully connected layers, if any are wanted.

    Source: Kim (2014); the paper's BERT-frozen and W2V systems (Sec. 4.2). OWM and HAT put two layers behind it.
    Dropout stands between fully connected layers; the last one, before the classifier, is the head's.

    Args:
        width: Width of a token state, d.
        generator: Source of the initial weights.
        hidden: Widths of the fully connected layers.
        bias: Whether those have one; OWM's have none.
        dropout: Between them; 0.5 in the paper.
    """

    def __init__(
        self,
        width: int,
        generator: torch.Generator,
        hidden: Sequence[int] = (),
        bias: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        convs = [Plastic(_drawn(nn.Conv1d(width, _FILTERS, size), generator), nn.ReLU()) for size in _WIDTHS]
        self.convs = nn.ModuleList(convs)
        self.full = nn.ModuleList()
        self.dropout = nn.Dropout(dropout)
        self.features = _FILTERS * len(_WIDTHS)
        upstream = tuple(convs)  # in the order in which their outputs are concatenated
        for units in hidden:
            layer = Plastic(_drawn(nn.Linear(self.features, units, bias=bias), generator), nn.ReLU(), upstream)
            self.full.append(layer)
            self.features, upstream = units, (layer,)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        text = _channels(states, mask)
        parts = [_strongest(conv(_at_least(text, size)), mask, size) for conv, size in _with_sizes(self.convs)]
        features = torch.cat(parts, dim=1)
        for number, layer in enumerate(self.full):
            features = layer(self.dropout(features) if number else features)
        return features

    def plastic(self) -> dict[str, Plastic]:
        return _named("conv", self.convs) | {f"fc{n}": layer for n, layer in enumerate(_plastics(self.full), 1)}


class GatedCnn(Trunk):
    """The gated convolutional network with an aspect term: filters look for sentiment where the aspect lets them.

    Source: Xue & Li (2018), GCAE for aspect terms; the paper's W2V ONE and NCL (Sec. 4.2).

        a = max ReLU(V * aspect),   features = max over the sentence of tanh(A * S) . ReLU(B * S + W a)

    with * a convolution, A and B of widths 3, 4 and 5. One W serves all three widths, as the parameter count shows.

    Args:
        width: Width of a token state, d.
        generator: Source of the initial weights.
    """

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        convs = [_drawn(nn.Conv1d(width, _FILTERS, size), generator) for size in _WIDTHS * 2]
        half = len(_WIDTHS)
        self.content = nn.ModuleList(Plastic(conv, nn.Tanh()) for conv in convs[:half])
        self.relevance = nn.ModuleList(Plastic(conv, nn.Identity()) for conv in convs[half:])  # ReLU follows the sum
        aspect = _drawn(nn.Conv1d(width, _FILTERS, _ASPECT_WIDTH, padding=1), generator)
        self.aspect = Plastic(aspect, nn.ReLU())
        self.mix = Plastic(_drawn(nn.Linear(_FILTERS, _FILTERS), generator), nn.Identity(), (self.aspect,))
        self.features = _FILTERS * half

    def forward(
        self, states: Tensor, mask: Tensor, aspect: Tensor | None = None, aspect_mask: Tensor | None = None
    ) -> Tensor:
        if aspect is None or aspect_mask is None:
            raise ValueError("the gated trunk reads the aspect by itself")
        text = _channels(states, mask)
        # Padded by one on both sides, so there is an output per token: real ones count.
        term = self.mix(_strongest(self.aspect(_channels(aspect, aspect_mask)), aspect_mask, 1)).unsqueeze(2)
        parts = []
        for content, (relevance, size) in zip(self.content, _with_sizes(self.relevance), strict=True):
            wide = _at_least(text, size)
            parts.append(_strongest(content(wide) * torch.relu(relevance(wide) + term), mask, size))
        return torch.cat(parts, dim=1)

    def plastic(self) -> dict[str, Plastic]:
        first = _named("content", self.content) | _named("relevance", self.relevance)
        return first | {"aspect": self.aspect, "mix": self.mix}


class LastState(Trunk):
    """A GRU as wide as its input, read at the last real token.

    Source: the recurrent systems of the paper, KAN and SRK (Sec. 4.2), whose GRUs read on over the padding.

    Args:
        width: Width of a token state and of the GRU's, d.
        generator: Source of the initial weights.
    """

    def __init__(self, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.reader = GruReader(width)
        draw_uniform(self.reader, width, generator)
        self.features = width

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        last: Tensor = self.reader(states, mask)[1]
        return last


class MeanState(Trunk):
    """The mean token state, nothing trained: for methods that bring networks of their own, and the plainest baseline.

    Args:
        width: Width of a token state, d.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.features = width

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        real = mask.unsqueeze(-1).to(states.dtype)
        return (states * real).sum(dim=1) / real.sum(dim=1)


TRUNKS = ("kim", "kim_fc", "gated", "gru", "mean")


def build_trunk(
    kind: str, width: int, generator: torch.Generator, hidden: Sequence[int] = (), hidden_bias: bool = True
) -> Trunk:
    """The trunk of a name; ``kim_fc`` without widths gets two layers as wide as a token state, as HAT's network has."""
    if kind == "kim":
        return KimCnn(width, generator)
    if kind == "kim_fc":
        return KimCnn(width, generator, tuple(hidden) or (width, width), hidden_bias)
    if kind == "gated":
        return GatedCnn(width, generator)
    if kind == "gru":
        return LastState(width, generator)
    if kind == "mean":
        return MeanState(width)
    raise unknown_name("trunk", kind, list(TRUNKS))


def _drawn(layer: Layer, generator: torch.Generator) -> Layer:
    """PyTorch's initial weights, uniform on +-1/sqrt(inputs of a unit), from a generator of our own."""
    bound = 1 / math.sqrt(layer.weight[0].numel())
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return layer


def _channels(states: Tensor, mask: Tensor) -> Tensor:
    """(B, L, d) to (B, d, L), zero at padding: a window that reaches behind a short text reads nothing there."""
    return (states * mask.unsqueeze(-1).to(states.dtype)).transpose(1, 2)


def _at_least(text: Tensor, size: int) -> Tensor:
    """A text shorter than the window still fills one."""
    return nn.functional.pad(text, (0, max(0, size - text.shape[2])))


def _strongest(values: Tensor, mask: Tensor, size: int) -> Tensor:
    """The maximum (B, F) of values (B, F, P) over the windows that lie within the text; the first one always does."""
    windows = (mask.sum(dim=1) - size + 1).clamp(min=1)
    behind = torch.arange(values.shape[2], device=values.device) >= windows.unsqueeze(1)
    return values.masked_fill(behind.unsqueeze(1), -math.inf).max(dim=2).values


def _plastics(layers: nn.ModuleList) -> list[Plastic]:
    return [layer for layer in layers if isinstance(layer, Plastic)]


def _with_sizes(layers: nn.ModuleList) -> list[tuple[Plastic, int]]:
    return list(zip(_plastics(layers), _WIDTHS, strict=True))


def _named(name: str, layers: nn.ModuleList) -> dict[str, Plastic]:
    return {f"{name}{size}": layer for layer, size in _with_sizes(layers)}
