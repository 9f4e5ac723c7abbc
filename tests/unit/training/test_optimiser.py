"""Optimisers, their rates, their state."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from classic.config import TrainConfig
from classic.methods.base import Group
from classic.systems.system import SystemConfig
from classic.training.optimiser import (
    build_optimiser,
    clip_gradients,
    load_optimiser,
    optimiser_tensors,
    rate_factor,
    set_rate,
)

ADAM, AUTHORS = TrainConfig(), SystemConfig.preset("authors").train
SGD = TrainConfig(optimiser="sgd", learning_rate=0.05, momentum=0.9)


def parameters(seed: int = 0) -> tuple[nn.Parameter, nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    return nn.Parameter(torch.randn(3, 4, generator=generator)), nn.Parameter(torch.randn(5, generator=generator))


def give_gradients(given: tuple[nn.Parameter, ...], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in given:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


# --- rates ---


def test_linear_climbs_then_falls_to_nothing() -> None:
    config = TrainConfig(warmup=0.1, schedule="linear")
    factors = [rate_factor(config, step, 100) for step in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[9] == pytest.approx(1.0)
    assert factors[:10] == sorted(factors[:10])
    assert factors[10] == pytest.approx(1.0)
    assert factors[10:] == sorted(factors[10:], reverse=True)
    assert factors[55] == pytest.approx(0.5)
    assert factors[99] == pytest.approx(0.01 / 0.9)
    assert all(0 < factor <= 1 for factor in factors)


def test_linear_without_warmup() -> None:
    config = TrainConfig(warmup=0.0, schedule="linear")
    assert [rate_factor(config, step, 4) for step in range(4)] == [1.0, 0.75, 0.5, 0.25]


def test_constant() -> None:
    assert {rate_factor(SystemConfig.preset("paper").train, step, 50) for step in range(50)} == {1.0}
    warm = TrainConfig(warmup=0.5, schedule="constant")
    assert [rate_factor(warm, step, 4) for step in range(4)] == [0.5, 1.0, 1.0, 1.0]


def test_the_released_codes_schedule_is_applied_twice() -> None:
    """systems.md section 3: (x / 0.1)^2 in warm-up, then (1 - x)(1 - x) / 0.9."""
    assert rate_factor(AUTHORS, 4, 100) == pytest.approx(0.25)
    for step in (10, 40, 90):
        left = 1 - step / 100
        assert rate_factor(AUTHORS, step, 100) == pytest.approx(left * left / 0.9)


@pytest.mark.parametrize("schedule", ["linear", "constant", "linear_twice"])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.9])
def test_a_single_step_has_a_rate(schedule: str, warmup: float) -> None:
    assert 0 < rate_factor(TrainConfig(schedule=schedule, warmup=warmup), 0, 1) <= 1


def test_every_group_keeps_its_own_rate() -> None:
    weight, mask = parameters()
    optimiser = build_optimiser([Group((weight,)), Group((mask,), 0.02)], replace(ADAM, learning_rate=0.1))
    set_rate(optimiser, replace(ADAM, warmup=0.0), 1, 4)
    set_rate(optimiser, replace(ADAM, warmup=0.0), 2, 4)  # from the base rate, not from the last one
    assert [group["lr"] for group in optimiser.param_groups] == pytest.approx([0.05, 0.01])


def test_a_cut_divides_every_rate_by_three() -> None:
    weight, mask = parameters()
    optimiser = build_optimiser([Group((weight,)), Group((mask,), 0.02)], replace(SGD, learning_rate=0.9))
    set_rate(optimiser, replace(SGD, warmup=0.0, schedule="constant"), 0, 4, cuts=2)
    assert [group["lr"] for group in optimiser.param_groups] == pytest.approx([0.1, 0.02 / 9])


def test_a_rate_of_zero_is_a_rate() -> None:
    weight, mask = parameters()
    optimiser = build_optimiser([Group((weight,)), Group((mask,), 0.0)], ADAM)
    before = mask.detach().clone()
    give_gradients((weight, mask), 1)
    optimiser.step()
    assert torch.equal(mask, before)


# --- steps ---


@pytest.mark.parametrize("config", [ADAM, SGD, replace(AUTHORS, weight_decay=0.0)], ids=["adam", "sgd", "authors"])
def test_a_weight_without_gradient_does_not_move_by_a_bit(config: TrainConfig) -> None:
    given = parameters()
    before = [parameter.detach().clone() for parameter in given]
    optimiser = build_optimiser([Group(given)], config)
    for seed in range(5):
        give_gradients(given, seed)
        given[0].grad[1] = 0.0
        clip_gradients(given, config)
        optimiser.step()
    assert torch.equal(given[0][1], before[0][1])
    assert bool((given[0][[0, 2]] != before[0][[0, 2]]).all())


@pytest.mark.parametrize("config", [replace(ADAM, weight_decay=0.01), AUTHORS], ids=["adam", "authors"])
def test_decay_moves_even_what_has_no_gradient(config: TrainConfig) -> None:
    given = parameters()
    before = given[0].detach().clone()
    optimiser = build_optimiser([Group(given)], config)
    for parameter in given:
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    assert bool((given[0].abs() < before.abs()).all())


def test_the_authors_optimiser_is_adam_without_bias_correction() -> None:
    given = parameters()
    optimiser = build_optimiser([Group(given, 0.1)], AUTHORS)
    slow = [parameter.detach().double().clone() for parameter in given]
    first, second = [torch.zeros_like(p) for p in slow], [torch.zeros_like(p) for p in slow]
    for seed in range(4):
        give_gradients(given, seed)
        for n, parameter in enumerate(given):
            grad = parameter.grad.double()
            grad = grad / max(1.0, float(grad.norm()))
            first[n] = 0.9 * first[n] + 0.1 * grad
            second[n] = 0.999 * second[n] + 0.001 * grad**2
            decay = 0.01 * slow[n] if parameter.dim() > 1 else 0.0
            slow[n] = slow[n] - 0.1 * (first[n] / (second[n].sqrt() + 1e-6) + decay)
        clip_gradients(given, AUTHORS)
        optimiser.step()
    for parameter, wanted in zip(given, slow, strict=True):
        assert torch.allclose(parameter.double(), wanted, rtol=1e-4, atol=1e-5)


def test_adam_clips_all_gradients_together() -> None:
    given = parameters()
    give_gradients(given, 0)
    ratio = float(given[0].grad.norm() / given[1].grad.norm())
    clip_gradients(given, replace(ADAM, clip_norm=0.5))
    assert float(torch.cat([p.grad.flatten() for p in given]).norm()) == pytest.approx(0.5, rel=1e-4)
    assert float(given[0].grad.norm() / given[1].grad.norm()) == pytest.approx(ratio, rel=1e-4)


# --- state ---


@pytest.mark.parametrize("config", [ADAM, SGD, AUTHORS], ids=["adam", "sgd", "authors"])
def test_a_saved_state_goes_on_with_the_same_bytes(config: TrainConfig) -> None:
    whole, parted = parameters(), parameters()
    one = build_optimiser([Group(whole[:1]), Group(whole[1:], 0.02)], config)
    two = build_optimiser([Group(parted[:1]), Group(parted[1:], 0.02)], config)
    for step in range(6):
        if step == 3:
            saved = {name: value.clone() for name, value in optimiser_tensors(two).items()}
            assert saved
            two = build_optimiser([Group(parted[:1]), Group(parted[1:], 0.02)], config)
            load_optimiser(two, saved)
        for given, optimiser in ((whole, one), (parted, two)):
            give_gradients(given, step)
            set_rate(optimiser, config, step, 6)
            optimiser.step()
    assert all(torch.equal(a, b) for a, b in zip(whole, parted, strict=True))
    third = build_optimiser([Group(parted[:1]), Group(parted[1:], 0.02)], config)
    assert optimiser_tensors(third) == {}
