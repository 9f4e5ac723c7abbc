"""The seam between methods and backbones: one trainable layer a method may gate, measure, project or make noisy."""

from __future__ import annotations

from torch import Tensor, nn


class Plastic(nn.Module):
    """A trainable layer, its activation and a gate on its output units.

    A backbone is asked for its Plastic layers; no method ever looks for a layer by its name.

    Attributes:
        layer: Linear or Conv1d.
        activation: What follows it.
        before: What its input passes through first; Identity until a method puts something there.
        gate: Identity until a method puts a gate there.
        upstream: The Plastic layers whose outputs, concatenated, are this layer's input; empty when the input comes from
            something that is not gated. A plain tuple, so that a layer is not registered twice.
    """

    def __init__(
        self,
        layer: nn.Linear | nn.Conv1d,
        activation: nn.Module,
        upstream: tuple[Plastic, ...] = (),
    ) -> None:
        super().__init__()
        self.layer = layer
        self.activation = activation
        self.before: nn.Module = nn.Identity()
        self.gate: nn.Module = nn.Identity()
        self.upstream = upstream

    @property
    def units(self) -> int:
        """Number of output units (filters of a convolution)."""
        return self.layer.out_features if isinstance(self.layer, nn.Linear) else self.layer.out_channels

    def forward(self, x: Tensor) -> Tensor:
        gated: Tensor = self.gate(self.activation(self.layer(self.before(x))))
        return gated
