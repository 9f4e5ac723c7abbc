"""Trunks: against slow loops, blind to padding, linked as methods expect."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from classic.errors import InputError
from classic.modules.plastic import Plastic
from classic.modules.trunks import TRUNKS, GatedCnn, KimCnn, LastState, MeanState, Trunk, build_trunk

LENGTHS = (1, 2, 3, 4, 5, 7)  # shorter than every window, between the windows, longer than all
WIDTH = 6


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def texts(seed: int = 0, extra: int = 0, junk: float = 0.0) -> tuple[Tensor, Tensor]:
    """Right-padded states with ``junk`` in the padding, and their mask."""
    states = torch.full((len(LENGTHS), max(LENGTHS) + extra, WIDTH), junk)
    mask = torch.zeros(states.shape[:2], dtype=torch.long)
    draw = generator(seed)
    for row, length in enumerate(LENGTHS):
        states[row, :length] = torch.randn(length, WIDTH, generator=draw)
        mask[row, :length] = 1
    return states, mask


def make(kind: str, seed: int = 0) -> Trunk:
    return build_trunk(kind, WIDTH, generator(seed), (8, 5)).eval()


def run(trunk: Trunk, extra: int = 0, junk: float = 0.0) -> Tensor:
    aspects = texts(1, extra, junk) if isinstance(trunk, GatedCnn) else ()
    with torch.no_grad():
        return trunk(*texts(0, extra, junk), *aspects)


def slow_conv(layer: nn.Conv1d, text: Tensor, start: int, channel: int) -> float:
    """One output of a convolution at one place of a text (L, d), zeros behind its end."""
    layer, total = layer.requires_grad_(False), float(layer.bias[channel].detach())
    for offset in range(layer.kernel_size[0]):
        if 0 <= start + offset < len(text):
            total += float((layer.weight[channel, :, offset] * text[start + offset]).sum())
    return total


# --- Kim --------------------------------------------------------------------------------------------------------------


def test_kim_is_the_maximum_over_the_windows_of_the_text() -> None:
    trunk = make("kim")
    states, _ = texts()
    found = run(trunk)
    assert found.shape == (len(LENGTHS), 300)
    for row, length in enumerate(LENGTHS):
        text = states[row, :length]
        for block, size in enumerate((3, 4, 5)):
            layer = trunk.convs[block].layer
            for channel in (0, 57, 99):
                places = range(max(1, length - size + 1))
                wanted = max(max(0.0, slow_conv(layer, text, start, channel)) for start in places)
                assert float(found[row, 100 * block + channel]) == pytest.approx(wanted, abs=1e-5)


def test_fully_connected_layers_follow() -> None:
    plain, deep = make("kim"), make("kim_fc")
    first, second = deep.full
    with torch.no_grad():
        wanted = torch.relu(second.layer(torch.relu(first.layer(run(plain)))))
    assert torch.equal(run(deep), wanted)  # the same generator drew the same convolutions
    assert deep.features == 5
    assert build_trunk("kim_fc", WIDTH, generator()).features == WIDTH


def test_upstream_is_what_a_layer_reads() -> None:
    trunk = build_trunk("kim_fc", WIDTH, generator(), (8, 5), hidden_bias=False)
    layers = trunk.plastic()
    assert list(layers) == ["conv3", "conv4", "conv5", "fc1", "fc2"]
    assert [layers[name].upstream for name in ("conv3", "conv4", "conv5")] == [(), (), ()]
    assert layers["fc1"].upstream == (layers["conv3"], layers["conv4"], layers["conv5"])
    assert layers["fc2"].upstream == (layers["fc1"],)
    assert layers["fc1"].layer.bias is None
    for name in ("fc1", "fc2"):
        assert layers[name].layer.in_features == sum(up.units for up in layers[name].upstream)


@pytest.mark.parametrize("name", ["conv3", "conv4", "conv5"])
def test_a_layers_units_enter_the_next_in_the_order_of_upstream(name: str) -> None:
    """Closing a convolution is the same as forgetting the columns which upstream says it feeds."""

    class Closed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 0

    trunk, other = make("kim_fc"), make("kim_fc")
    trunk.plastic()[name].gate = Closed()
    first, at = other.plastic()["fc1"], 0
    with torch.no_grad():
        for up in first.upstream:
            if up is other.plastic()[name]:
                first.layer.weight[:, at : at + up.units] = 0
            at += up.units
    assert torch.allclose(run(trunk), run(other), atol=1e-6)
    assert not torch.allclose(run(trunk), run(make("kim_fc")), atol=1e-4)


def test_dropout_stands_between_fully_connected_layers_only() -> None:
    assert torch.equal(run(make("kim").train()), run(make("kim")))
    torch.manual_seed(0)
    deep = make("kim_fc").train()
    assert not torch.equal(run(deep), run(deep))
    single = KimCnn(WIDTH, generator(), (8,)).train()
    assert torch.equal(run(single), run(single))


# --- the gated network -----------------------------------------------------------------------------------------------


def test_gated_is_what_it_says() -> None:
    trunk = make("gated")
    found = run(trunk)
    (states, _), (aspects, _) = texts(0), texts(1)
    for row, length in enumerate(LENGTHS):
        aspect = aspects[row, :length]
        term = [
            max(max(0.0, slow_conv(trunk.aspect.layer, aspect, start - 1, channel)) for start in range(length))
            for channel in range(100)
        ]
        mixed = trunk.mix.layer(torch.tensor(term))
        for block, size in enumerate((3, 4, 5)):
            content, relevance = trunk.content[block].layer, trunk.relevance[block].layer
            for channel in (0, 99):
                wanted = -float("inf")
                for start in range(max(1, length - size + 1)):
                    text = states[row, :length]
                    open_ = max(0.0, slow_conv(relevance, text, start, channel) + float(mixed[channel].detach()))
                    wanted = max(
                        wanted, float(torch.tanh(torch.tensor(slow_conv(content, text, start, channel)))) * open_
                    )
                assert float(found[row, 100 * block + channel]) == pytest.approx(wanted, abs=1e-5)


def test_gated_needs_the_aspect() -> None:
    with pytest.raises(ValueError, match="aspect"):
        make("gated")(*texts())


# --- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "width", "count"),
    [  # systems.md 2.2
        ("kim", 768, 921_900),
        ("kim", 300, 360_300),
        ("gated", 300, 2 * 360_300 + 90_100 + 10_100),
        ("gru", 768, 3_543_552),
        ("gru", 300, 541_800),
        ("mean", 300, 0),
    ],
)
def test_the_papers_parameter_counts(kind: str, width: int, count: int) -> None:
    trunk = build_trunk(kind, width, generator())
    assert sum(parameter.numel() for parameter in trunk.parameters()) == count


def test_the_papers_parameter_counts_with_fully_connected_layers() -> None:
    hat = build_trunk("kim_fc", 768, generator())
    owm = build_trunk("kim_fc", 768, generator(), (300, 300), hidden_bias=False)
    count = [sum(parameter.numel() for parameter in trunk.parameters()) for trunk in (hat, owm)]
    assert count == [921_900 + 300 * 768 + 768 + 768 * 768 + 768, 921_900 + 2 * 300 * 300]


@pytest.mark.parametrize("kind", TRUNKS)
def test_padding_has_no_say(kind: str) -> None:
    trunk = make(kind)
    wanted = run(trunk)
    assert wanted.shape == (len(LENGTHS), trunk.features)
    assert bool(torch.isfinite(wanted).all())
    for extra in (0, 1, 40):
        assert torch.allclose(run(trunk, extra, junk=1e3), wanted, atol=1e-6)


@pytest.mark.parametrize("kind", TRUNKS)
def test_a_text_alone_is_a_text_among_others(kind: str) -> None:
    trunk, (states, mask), (aspects, aspect_mask) = make(kind), texts(0), texts(1)
    for row, length in enumerate(LENGTHS):
        alone: tuple[Tensor, ...] = (states[row : row + 1, :length], mask[row : row + 1, :length])
        if kind == "gated":
            alone += (aspects[row : row + 1, :length], aspect_mask[row : row + 1, :length])
        with torch.no_grad():
            assert torch.allclose(trunk(*alone)[0], run(trunk)[row], atol=1e-6)


def test_the_gru_is_read_at_the_last_real_token() -> None:
    trunk, (states, _) = make("gru"), texts()
    assert isinstance(trunk, LastState)
    for row, length in enumerate(LENGTHS):
        with torch.no_grad():
            wanted = trunk.reader.gru(states[row : row + 1, :length])[0][0, -1]
        assert torch.allclose(run(trunk)[row], wanted, atol=1e-6)


def test_the_mean_is_over_real_tokens() -> None:
    states, _ = texts()
    found = MeanState(WIDTH)(*texts(junk=9.0))
    for row, length in enumerate(LENGTHS):
        assert torch.allclose(found[row], states[row, :length].mean(dim=0), atol=1e-6)


@pytest.mark.parametrize("kind", ["kim", "kim_fc", "gated", "gru"])
def test_the_generator_decides(kind: str) -> None:
    torch.manual_seed(1)
    first = run(make(kind, 3))
    torch.manual_seed(2)
    assert torch.equal(run(make(kind, 3)), first)
    assert not torch.equal(run(make(kind, 4)), first)


@pytest.mark.parametrize("kind", ["kim", "kim_fc", "gated", "gru"])
def test_every_weight_gets_a_gradient(kind: str) -> None:
    trunk = make(kind)
    aspects = texts(1) if kind == "gated" else ()
    trunk(*texts(), *aspects).sum().backward()
    for name, parameter in trunk.named_parameters():
        assert float(parameter.grad.abs().sum()) > 0, name
        assert bool(torch.isfinite(parameter.grad).all())


@pytest.mark.parametrize("kind", TRUNKS)
def test_plastic_layers_hold_every_weight_or_there_are_none(kind: str) -> None:
    trunk = make(kind)
    layers = list(trunk.plastic().values())
    assert (not layers) == (kind in {"gru", "mean"})
    held = {id(parameter) for layer in layers for parameter in layer.layer.parameters()}
    assert not layers or held == {id(parameter) for parameter in trunk.parameters()}
    order = {id(layer): place for place, layer in enumerate(layers)}
    for layer in layers:
        assert isinstance(layer, Plastic)
        assert all(order[id(up)] < order[id(layer)] for up in layer.upstream)
        assert all(order[id(a)] < order[id(b)] for a, b in pairwise(layer.upstream))


def test_an_unknown_trunk_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'kim_fc'"):
        build_trunk("kim_fcc", 3, generator())
