"""Which products of a folded network can be computed in 8 bits, and in what steps: measured on texts, fixed for good.

Steps that are fixed at export make an answer independent of what else is in its batch. Before rounding, a layer's input is
divided by, and its weight multiplied by, a factor per column, so that neither has to stretch its steps over a few large
columns (Xiao et al. 2023, "SmoothQuant"). A layer that is still off by too much is left in 32 bits, and so are the next
ones, the most sensitive first, until the answers are those of the store (`fewer`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from classic.export.graph import Range
from classic.prediction.folding import Folded, FoldedFinder
from classic.types import Example

_STRENGTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # how much of the input's unevenness is moved into the weight
_TOLERANCE = 0.02  # largest error of a product, relative to its size
_ROWS = 1024  # tokens per layer that strengths are compared on
_SHARES = (1.0, 0.85, 0.7, 0.5, 0.3)  # of the layers that may be rounded; fewer are no use
_BATCH = 32


def choose_ranges(folded: Folded, examples: Sequence[Example]) -> dict[str, Range]:
    """The layers to compute in 8 bits and how, by name, the least sensitive first. Layers not in it stay in 32 bits.

    Args:
        folded: The network.
        examples: Texts like those it will be asked about; a few hundred are enough.
    """
    starts = range(0, len(examples), _BATCH)
    return ranges_of(folded, (folded.tokenizer.collate(examples[start : start + _BATCH]).inputs for start in starts))


def ranges_of(folded: Folded | FoldedFinder, batches: Iterable[Mapping[str, Any]]) -> dict[str, Range]:
    """The same for batches of inputs, as tensors or arrays."""
    layers = {
        name: module for name, module in folded.layers.named_modules(prefix="layers") if isinstance(module, nn.Linear)
    }
    seen = {name: _Seen() for name in layers}
    hooks = [
        module.register_forward_pre_hook(lambda _, given, seen=seen[name]: seen.look(given[0]))
        for name, module in layers.items()
    ]
    try:
        with torch.no_grad():
            for inputs in batches:
                folded(**{name: torch.as_tensor(values) for name, values in inputs.items()})
    finally:
        for hook in hooks:
            hook.remove()
    found = {name: _best(layers[name].weight.detach(), seen[name]) for name in layers}
    ranked = sorted(found.items(), key=lambda entry: entry[1][1])
    return {name: chosen for name, (chosen, error) in ranked if error <= _TOLERANCE}


def fewer(ranges: dict[str, Range]) -> Iterator[dict[str, Range]]:
    """All of the ranges, then fewer and fewer: those of the most sensitive layers go first."""
    for share in _SHARES:
        yield dict(list(ranges.items())[: max(1, round(share * len(ranges)))])


class _Seen:
    """The smallest and largest value of every column of a layer's input, and some of its rows."""

    def __init__(self) -> None:
        self.rows = torch.zeros(0)
        self.low = self.high = torch.zeros(())

    def look(self, given: Tensor) -> None:
        rows = given.reshape(-1, given.shape[-1])
        self.low, self.high = torch.minimum(self.low, rows.amin(dim=0)), torch.maximum(self.high, rows.amax(dim=0))
        if not len(self.rows):
            self.rows = rows[:0]
        # Some of every batch, so that long texts and short ones are among them.
        share = max(1, _ROWS // 8)
        if len(self.rows) < _ROWS:
            chosen = torch.linspace(0, len(rows) - 1, min(share, len(rows))).long()
            self.rows = torch.cat([self.rows, rows[chosen]])


def _best(weight: Tensor, seen: _Seen) -> tuple[Range, float]:
    exact = seen.rows @ weight.T
    candidates = [_range(weight, seen, strength) for strength in _STRENGTHS]
    errors = [float((_rounded_product(weight, seen.rows, each) - exact).norm() / exact.norm()) for each in candidates]
    best = min(range(len(errors)), key=lambda index: errors[index])
    return candidates[best], errors[best]


def _range(weight: Tensor, seen: _Seen, strength: float) -> Range:
    sizes = torch.maximum(-seen.low, seen.high).clamp(min=1e-5)
    smooth = weight.abs().amax(dim=0).clamp(min=1e-5) ** (1 - strength) / sizes**strength
    smooth = smooth / smooth.mean()
    low, high = float((seen.low * smooth).min()), float((seen.high * smooth).max())
    scale = max(high - low, 1e-8) / 255
    return Range(smooth.numpy(), scale, round(-low / scale))


def _rounded_product(weight: Tensor, rows: Tensor, chosen: Range) -> Tensor:
    smooth = torch.from_numpy(chosen.smooth)
    steps = (rows * smooth / chosen.scale).round().add(chosen.zero).clamp(0, 255)
    rounded = (steps - chosen.zero) * chosen.scale
    smoothed = weight / smooth
    size = (smoothed.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-12)
    return rounded @ ((smoothed / size).round() * size).T
