"""Losses weighed by how hard they pull."""

from __future__ import annotations

import pytest
import torch

from classic.modules.balance import Balance


def terms(features: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"ce": (features[:, 0] * 3).sum(), "weak": 0.05 * features.square().sum(), "mute": features.new_zeros(())}


def test_every_loss_gets_the_wished_share_of_the_pull() -> None:
    features = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    balance = Balance(("ce", "weak", "mute"))
    losses = terms(features)
    weights = balance.weights(losses, features, {"weak": 0.25, "mute": 0.25}, fixed=False)
    pulls = {}
    for name in ("ce", "weak"):
        (gradient,) = torch.autograd.grad(losses[name], features, retain_graph=True)
        pulls[name] = float(gradient.norm())
    assert weights["weak"] * pulls["weak"] == pytest.approx(0.25 * pulls["ce"], rel=1e-5)
    assert balance.shares["weak"] == pytest.approx(0.25, rel=1e-5)
    assert weights["mute"] == 0.0


def test_fixed_weights_are_only_measured() -> None:
    features = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    balance = Balance(("ce", "weak", "mute"))
    weights = balance.weights(terms(features), features, {"weak": 1.0, "mute": 1.0}, fixed=True)
    assert weights == {"weak": 1.0, "mute": 1.0}
    assert 0 < balance.shares["weak"] < 0.1


def test_the_measure_is_smooth_and_a_silent_step_leaves_it() -> None:
    balance = Balance(("ce", "weak"))
    values = []
    for size in (1.0, 2.0, 0.0):
        features = torch.full((2, 2), 1.0, requires_grad=True)
        balance.weights({"ce": features.sum(), "weak": size * features.sum()}, features, {"weak": 1.0}, fixed=False)
        values.append(float(balance.pulls[1]))
    assert values == [pytest.approx(2.0), pytest.approx(2.2), pytest.approx(2.2)]
