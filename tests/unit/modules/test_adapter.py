"""The adapter and the seam it is made of."""

from __future__ import annotations

import torch
from torch import nn

from classic.modules.adapter import Adapter
from classic.modules.plastic import Plastic


def make(seed: int = 0) -> Adapter:
    return Adapter(6, 10, torch.Generator().manual_seed(seed))


def test_it_is_the_formula() -> None:
    adapter = make()
    with torch.no_grad():
        for parameter in adapter.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    x = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(2))
    w1, b1, w2, b2 = adapter.parameters()
    wanted = x + ((x @ w1.T + b1).clamp(min=0) @ w2.T + b2).clamp(min=0)
    assert torch.allclose(adapter(x), wanted, atol=1e-6)


def test_it_starts_near_the_identity_and_from_its_generator() -> None:
    adapter, x = make(), torch.randn(8, 6, generator=torch.Generator().manual_seed(2))
    change = adapter(x) - x
    assert 0 < float(change.detach().abs().max()) < 0.05
    assert torch.equal(adapter(x), make()(x))
    assert not torch.equal(adapter(x), make(1)(x))


def test_both_layers_have_a_place_for_a_gate() -> None:
    adapter = make()
    adapter.up.gate = nn.Threshold(1e9, 0.0)  # closes everything
    x = torch.randn(8, 6, generator=torch.Generator().manual_seed(2))
    assert torch.equal(adapter(x), x)
    assert adapter.up.upstream == (adapter.down,)
    assert adapter.down.upstream == ()


def test_a_layer_is_registered_once() -> None:
    assert [name for name, _ in make().named_parameters()] == [
        "down.layer.weight",
        "down.layer.bias",
        "up.layer.weight",
        "up.layer.bias",
    ]


def test_units_of_a_convolution_are_its_filters() -> None:
    assert Plastic(nn.Conv1d(4, 7, 3), nn.ReLU()).units == 7
    assert make().down.units == 10
