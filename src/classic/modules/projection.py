"""Projectors: which directions of a layer's weights may still be changed, given what the layer has been given.

After Zeng et al. (2019), "OWM".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

Layer = nn.Linear | nn.Conv1d


class Projector(nn.Module):
    """P of one layer.

    Attributes:
        matrix: (d, d), d the inputs of one output unit, one more if the layer has a bias.
    """

    matrix: Tensor

    def __init__(self, layer: Layer, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.kernel = layer.kernel_size[0] if isinstance(layer, nn.Conv1d) else 0
        self.padding = 0
        if isinstance(layer, nn.Conv1d):
            assert layer.groups == 1 and layer.dilation == (1,) and isinstance(layer.padding, tuple)
            self.padding = layer.padding[0]
        self.bias = layer.bias is not None
        self.register_buffer("matrix", torch.eye(layer.weight[0].numel() + self.bias, device=layer.weight.device))

    def vectors(self, x: Tensor, real: Tensor | None) -> Tensor:
        """A batch's mean input, or all patches of it, as rows (n, d).

        Args:
            x: What the layer was given: (B, d) or (B, L, d) if it is linear, (B, d, L) if it is a convolution.
            real: (B, L), 1 for real tokens; paddings have no part in the mean of a layer that reads token by token.
        """
        if self.kernel:
            wide = pad(x.mean(dim=0), (self.padding, self.padding))
            rows = wide.unfold(1, self.kernel, self.stride).transpose(0, 1).flatten(1)  # (n, d k)
        elif x.dim() == 3 and real is not None and real.shape == x.shape[:2]:
            rows = x[real.bool()].mean(dim=0, keepdim=True)
        else:
            rows = x.flatten(0, -2).mean(dim=0, keepdim=True)
        return torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1) if self.bias else rows

    def take_in(self, rows: Tensor, alpha: float) -> None:
        """Forbids the directions of the rows (n, d), all the more strictly the smaller alpha is.

        For one row k = P x, P <- P - k k^T / (alpha + x^T k). Several rows at once are the same as one after another
        (Woodbury): P <- P - K (alpha I + X^T K)^-1 K^T, K = P X.
        """
        rows = rows.to(self.matrix.dtype)  # training may compute in less
        k = self.matrix @ rows.T  # (d, n)
        # x^T P x cannot be negative, but rounding can make it so for an input that is forbidden already.
        values, turns = torch.linalg.eigh((rows @ k).double())
        scaled = k.double() @ turns / (alpha + values.clamp(min=0.0)).sqrt()
        self.matrix = self.matrix - (scaled @ scaled.T).to(self.matrix.dtype)

    @torch.no_grad()
    def allowed(self, change: Tensor, weight: Tensor, bias: Tensor | None, start: Tensor | float = 0.0) -> None:
        """Writes start + change P, (out, d), into a weight and its bias, or into their gradients."""
        result = change.detach() @ self.matrix + start
        weight.copy_((result[:, :-1] if self.bias else result).view_as(weight))
        if bias is not None:
            bias.copy_(result[:, -1])


def joined(weight: Tensor, bias: Tensor | None) -> Tensor:
    """A weight as a matrix (out, d), its bias the last column."""
    flat = weight.flatten(1)
    return flat if bias is None else torch.cat([flat, bias.unsqueeze(1)], dim=1)


@contextmanager
def inputs_of(layers: Sequence[nn.Module]) -> Iterator[list[Tensor]]:
    """Listens to layers; afterwards the list holds what each was given, in the order of the layers."""
    heard: dict[int, Tensor] = {}
    found: list[Tensor] = []

    def listen(layer: nn.Module, arguments: tuple[Any, ...]) -> None:
        heard[id(layer)] = arguments[0].detach()

    handles = [layer.register_forward_pre_hook(listen) for layer in layers]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
    found += [heard[id(layer)] for layer in layers if id(layer) in heard]
