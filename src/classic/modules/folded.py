"""What is left of Adapter-BERT when one task's masks have gone into the weights: plain layers, living units only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classic.modules.adapter import Adapter
from classic.modules.gates import UnitGate
from classic.modules.plastic import Plastic


class FoldedAdapter(nn.Module):
    """x + ReLU(W2 ReLU(W1 x + b1) + b2) over the living units.

    A unit is dead when its gate is shut, or when nobody alive listens to it: then it has no say, whatever the text.

    Args:
        adapter: An adapter whose gates show a binary mask, or none.
    """

    place: Tensor | None

    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        first, second = adapter.down.layer, adapter.up.layer
        above = alive(adapter.up)
        hidden = alive(adapter.down) & (second.weight.detach()[above] != 0).any(dim=0)
        self.down = as_linear(first.weight[hidden], _bias(first)[hidden])
        self.up = as_linear(second.weight[above][:, hidden], _bias(second)[above])
        # Where each unit of the residual finds its change; dead ones find the column of zeros behind the others.
        place = torch.full((len(above),), int(above.sum()), device=above.device)
        place[above] = torch.arange(int(above.sum()), device=above.device)
        self.register_buffer("place", None if above.all() else place)

    def forward(self, x: Tensor) -> Tensor:
        change = torch.relu(self.up(torch.relu(self.down(x))))
        if self.place is not None:
            change = nn.functional.pad(change, (0, 1)).index_select(-1, self.place)
        return x + change


class FoldedBlock(nn.Module):
    """What ends half a transformer layer: LayerNorm(residual + adapter(dense(x)))."""

    def __init__(self, dense: nn.Linear, adapter: Adapter | None, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.dense = dense
        self.adapter = nn.Identity() if adapter is None else FoldedAdapter(adapter)
        self.norm = nn.LayerNorm(norm.normalized_shape, norm.eps, device="meta")
        self.norm.weight, self.norm.bias = _copy(norm.weight), _copy(norm.bias)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        normed: Tensor = self.norm(residual + self.adapter(self.dense(x)))
        return normed


class RelativeBias(nn.Module):
    """What MPNet adds to every product of a query and a key: a number per head for how far the two tokens lie apart.

    Args:
        values: (heads, 2 n - 1), from the distance 1 - n to n - 1, where n is the most tokens of a text.
    """

    values: Tensor

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        self.register_buffer("values", values.detach().clone())

    def forward(self, mask: Tensor) -> Tensor:
        """A mask (B, 1, 1, L) that is true at real tokens, to what is added to products (B, heads, L, L)."""
        tokens = torch.arange(mask.shape[-1], device=mask.device)
        middle = self.values.shape[1] // 2
        bias = self.values[:, tokens - tokens.unsqueeze(1) + middle]
        return bias.unsqueeze(0).masked_fill(~mask, torch.finfo(bias.dtype).min)


class FoldedLayer(nn.Module):
    """A transformer layer of the BERT family; queries, keys and values come out of one product.

    Args:
        projections: The layers that make queries, keys and values.
        heads: Number of attention heads.
        attended: Ends the attention.
        intermediate: First layer of the feed-forward network.
        activation: What follows it.
        fed: Ends the feed-forward network.
    """

    def __init__(
        self,
        projections: tuple[nn.Linear, nn.Linear, nn.Linear],
        heads: int,
        attended: FoldedBlock,
        intermediate: nn.Linear,
        activation: nn.Module,
        fed: FoldedBlock,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.joint = as_linear(torch.cat([p.weight for p in projections]), torch.cat([p.bias for p in projections]))
        self.attended, self.intermediate, self.activation, self.fed = attended, intermediate, activation, fed

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """States (B, L, d) to states; ``mask`` (B, 1, 1, L) is true at real tokens, or comes from a `RelativeBias`."""
        batch, length, width = x.shape
        parts = self.joint(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=mask)
        states: Tensor = self.attended(seen.transpose(1, 2).reshape(batch, length, width), x)
        return self.fed(self.activation(self.intermediate(states)), states)  # type: ignore[no-any-return]


def alive(plastic: Plastic) -> Tensor:
    """Which units of a layer its gate lets through, (units,) bool."""
    mask = plastic.gate.mask if isinstance(plastic.gate, UnitGate) else None
    if mask is None:
        return torch.ones(plastic.units, dtype=torch.bool, device=plastic.layer.weight.device)
    return mask.detach() > 0


def as_linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """A linear layer of its own with these weights."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight, layer.bias = _copy(weight), _copy(bias)
    return layer


def _copy(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values.detach().clone(), requires_grad=False)


def _bias(layer: nn.Linear | nn.Conv1d) -> Tensor:
    return layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias
