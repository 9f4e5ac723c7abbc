"""UCL: its regulariser against a slow loop, its noise, its start."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import softplus

from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.errors import IncompatibleError
from classic.methods.ucl import Ucl, UclConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.modules.plastic import Plastic
from classic.modules.variational import Posterior, VariationalConv1d, initialise, make_variational, ucl_terms
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Step, Task

MakeSystem = Callable[..., SystemConfig]
STEP = Step(0, 0, 1, 0, 1)


def make(config: SystemConfig) -> Ucl:
    method = build(config, 0)
    assert isinstance(method, Ucl)
    return method


# --- the regulariser --------------------------------------------------------------------------------------------------


def slow_terms(new: Posterior, old: Posterior, s: float, incoming: list[float]) -> tuple[float, float, float]:
    """Weight by weight."""
    pull = freeze = noise = 0.0
    for i in range(len(new.sigma)):
        sigma, before = float(new.sigma[i]), float(old.sigma[i])
        noise += (sigma / before) ** 2 - math.log((sigma / before) ** 2) + sigma**2 - math.log(sigma**2)
        for j in range(new.mean.shape[1]):
            strength = max(s / before, incoming[j])
            for m, m_old in zip(new.mean[i, j].reshape(-1).tolist(), old.mean[i, j].reshape(-1).tolist(), strict=True):
                pull += (strength * (m - m_old)) ** 2
                freeze += s**2 * (m_old / before) ** 2 * abs(m - m_old)
        if new.bias is not None and old.bias is not None:
            gap = float(new.bias[i] - old.bias[i])
            pull += (s / before * gap) ** 2
            freeze += s**2 * (float(old.bias[i]) / before) ** 2 * abs(gap)
    return pull, freeze, noise


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_the_three_sums_are_the_slow_loops(shape: tuple[int, ...], bias: bool) -> None:
    draw = torch.Generator().manual_seed(0)

    def posterior() -> Posterior:
        def numbers(*size: int) -> torch.Tensor:
            return torch.randn(*size, generator=draw, dtype=torch.float64)

        return Posterior(numbers(*shape), numbers(shape[0]).abs() + 0.1, numbers(shape[0]) if bias else None)

    new, old = posterior(), posterior()
    incoming = [0.2 + j for j in range(shape[1])]
    found = ucl_terms(new, old, 0.3, torch.tensor(incoming, dtype=torch.float64))
    assert [float(x) for x in found] == pytest.approx(slow_terms(new, old, 0.3, incoming))


def test_all_layers_are_noisy_and_the_penalty_reaches_their_means(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="ucl", changes={"backbone.width": 16, "train.epochs": 2, "train.learning_rate": 5e-3})
    method = make(config)
    assert len(method.layers) == 8  # two layers, two adapters each, two plastic layers each
    batch = method.model.backbone.collate(toy_tasks[0].train[:6])
    method.start_task(toy_tasks[0], Seeds(0))
    first = method.loss(batch, STEP)
    assert set(first) == {"ce", "pull", "noise"}
    assert float(first["pull"].detach()) == 0.0  # it starts where it is pulled to
    assert float(first["noise"].detach()) > 0
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    method.start_task(toy_tasks[1], Seeds(0))
    with torch.no_grad():
        for layer in method.layers:
            layer.weight.add_(0.01)
    second = method.loss(batch, STEP)
    assert set(second) == {"ce", "pull", "freeze", "noise"}
    assert float(second["pull"].detach()) > 0 and float(second["freeze"].detach()) > 0
    for layer in method.layers:
        gradient = torch.autograd.grad(second["pull"] + second["freeze"], layer.weight, retain_graph=True)[0]
        assert (gradient > 0).all()
        noise = torch.autograd.grad(second["noise"], layer.rho, retain_graph=True)[0]
        assert noise.abs().sum() > 0


def test_weights_of_the_sums_and_the_previous_layers_noise(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    method = make(tiny_system(method="ucl", changes={"backbone.width": 16}))
    method.start_task(toy_tasks[0], Seeds(0))
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in method.layers:
            layer.rho.add_(torch.randn(layer.rho.shape, generator=draw))
    method._keep()
    with torch.no_grad():
        for layer in method.layers:
            layer.weight.add_(0.02 * torch.randn(layer.weight.shape, generator=draw))
    total = [0.0, 0.0, 0.0]
    for number, (plastic, old) in enumerate(zip(method.plastics, method._previous(), strict=True)):
        s = float(method.sigma_init[number])
        incoming = [1.0] * plastic.layer.weight.shape[1]
        if plastic.upstream:  # an adapter's second layer: what feeds it is the layer before
            before = method.layers[number - 1]
            assert plastic.upstream[0].layer is before
            incoming = (float(method.sigma_init[number - 1]) / softplus(before.rho)).tolist()
        layer = method.layers[number]
        new = Posterior(layer.weight.detach(), softplus(layer.rho).detach(), layer.bias.detach())
        total = [a + b for a, b in zip(total, slow_terms(new, old, s, incoming), strict=True)]
    assert [float(x.detach()) for x in method.regulariser()] == pytest.approx(total, rel=1e-3)
    batch = method.model.backbone.collate(toy_tasks[0].train[:6])
    first = method.loss(batch, STEP)
    assert float(first["pull"].detach()) == pytest.approx(5.0 / 12 * total[0], rel=1e-3)
    assert float(first["noise"].detach()) == pytest.approx(0.002 / 12 * total[2], rel=1e-3)
    method.learned = 1
    later = method.loss(batch, STEP)
    assert float(later["pull"].detach()) == pytest.approx(1 / 12 * total[0], rel=1e-3)
    assert float(later["freeze"].detach()) == pytest.approx(1 / 6 * total[1], rel=1e-3)


# --- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [nn.Linear(5, 4), nn.Conv1d(5, 4, 3, padding=1), nn.Linear(5, 4, bias=False)])
def test_noise_is_per_unit_while_training_and_absent_in_answers(layer: nn.Linear | nn.Conv1d) -> None:
    plastic = Plastic(layer, nn.Identity())
    x = torch.randn(2, 5, 7) if isinstance(layer, nn.Conv1d) else torch.randn(2, 5)
    plain = layer(x)
    noisy = make_variational(plastic)
    assert plastic.layer is noisy and noisy.weight is layer.weight
    assert torch.equal(plastic.eval()(x), plain)
    with torch.no_grad():
        noisy.rho.copy_(torch.tensor([-30.0, -30.0, 1.0, 1.0]))
    changed = (plastic.train()(x) != plain).transpose(0, 1).flatten(1).any(dim=1)
    assert changed.tolist() == [False, False, True, True]
    torch.manual_seed(3)
    first = plastic(x)
    torch.manual_seed(3)
    assert torch.equal(plastic(x), first) and not torch.equal(plastic(x), first)


def test_the_start_is_the_publications_or_the_backbones() -> None:
    draw = torch.Generator().manual_seed(0)
    wide = make_variational(Plastic(nn.Linear(200, 300), nn.Identity()))
    sigma = initialise(wide, 0.125, 1.0, draw)
    assert sigma == pytest.approx(math.sqrt(0.125 * 2 / 200))
    assert float(wide.weight.var().detach()) == pytest.approx(0.875 * 2 / 200, rel=0.03)
    torch.testing.assert_close(softplus(wide.rho), torch.full((300,), sigma))
    conv = make_variational(Plastic(nn.Conv1d(50, 40, 3), nn.Identity()))
    assert isinstance(conv, VariationalConv1d)
    assert initialise(conv, 0.125, 1.0, draw) == pytest.approx(math.sqrt(0.125 * 2 / (40 * 3)))
    with torch.no_grad():
        wide.weight.normal_(0, 0.02, generator=draw)
    before = wide.weight.detach().clone()
    assert initialise(wide, 0.125, None, draw) == pytest.approx(0.02 * math.sqrt(0.125 / 0.875), rel=0.02)
    assert torch.equal(wide.weight, before)


def test_an_adapter_starts_near_the_identity(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    def shift(scale: float | None) -> float:
        method = make(tiny_system(method="ucl", changes={"method.scale": scale}))
        batch = method.model.backbone.collate(toy_tasks[0].train)
        for layer in method.layers:
            nn.init.zeros_(layer.weight)
        with torch.no_grad():
            plain = method.eval().model.backbone(batch)
            fresh = make(tiny_system(method="ucl", changes={"method.scale": scale}))
            fresh.start_task(toy_tasks[0], Seeds(0))
            changed: torch.Tensor = fresh.eval().model.backbone(batch) - plain
        return float(changed.norm() / plain.norm())

    assert shift(None) < 0.2 * shift(1.0)


def test_noise_has_its_own_rate(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_system(method="ucl"))
    method.start_task(toy_tasks[0], Seeds(0))
    weights, noise = method.plan(toy_tasks[0])[0].groups
    assert noise.learning_rate == 0.01 and len(noise.parameters) == len(method.layers)
    assert {id(p) for p in weights.parameters + noise.parameters} == {id(p) for p in method.weights()}


def test_a_backbone_without_plastic_layers_is_refused(tiny_encoder: Path) -> None:
    backbone = BertFrozen(BertFrozenConfig(encoder=str(tiny_encoder), trunk="mean"), torch.Generator())
    with pytest.raises(IncompatibleError, match="no layer that could be noisy"):
        Ucl(Model(backbone, Head(64, Scenario.DIL, 0.0, torch.Generator())), UclConfig())
