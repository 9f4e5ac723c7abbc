"""Cross-entropy for domains that lack classes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from classic.losses import cross_entropy

PRESENT = torch.tensor([True, True, False])
LABELS = torch.tensor([0, 1, 1, 0])


def logits() -> Tensor:
    return torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()


def slow(rows: list[list[float]], labels: list[int], columns: list[int]) -> float:
    total = 0.0
    for row, label in zip(rows, labels, strict=True):
        total += math.log(sum(math.exp(row[c]) for c in columns)) - row[label]
    return total / len(rows)


def gradient(missing: str, present: Tensor = PRESENT) -> Tensor:
    z = logits()
    cross_entropy(z, LABELS, present, missing).backward()
    assert z.grad is not None
    return z.grad


def test_plain_is_the_softmax_over_all_classes() -> None:
    z = logits()
    value = cross_entropy(z, LABELS, PRESENT)
    assert float(value.detach()) == pytest.approx(slow(z.tolist(), LABELS.tolist(), [0, 1, 2]))
    assert bool((gradient("plain")[:, 2] > 0).all())  # descending pushes "neutral" down


def test_ignore_is_the_softmax_over_the_classes_present() -> None:
    z = logits()
    value = cross_entropy(z, LABELS, PRESENT, "ignore")
    assert float(value.detach()) == pytest.approx(slow(z.tolist(), LABELS.tolist(), [0, 1]))
    grad = gradient("ignore")
    assert bool((grad[:, 2] == 0).all())
    assert torch.allclose(grad[:, 0], -grad[:, 1])


def test_shield_has_the_value_of_plain_and_its_gradient_but_in_missing_columns() -> None:
    z = logits()
    assert torch.equal(cross_entropy(z, LABELS, PRESENT, "shield"), cross_entropy(z, LABELS, PRESENT, "plain"))
    plain, shield = gradient("plain"), gradient("shield")
    assert bool((shield[:, 2] == 0).all())
    assert torch.equal(shield[:, :2], plain[:, :2])


@pytest.mark.parametrize("missing", ["ignore", "shield"])
def test_with_all_classes_present_all_three_are_one(missing: str) -> None:
    everything = torch.ones(3, dtype=torch.bool)
    z = logits()
    assert torch.equal(cross_entropy(z, LABELS, everything, missing), cross_entropy(z, LABELS, everything))
    assert torch.equal(gradient(missing, everything), gradient("plain", everything))


@pytest.mark.parametrize("missing", ["plain", "ignore", "shield"])
def test_gradient(missing: str) -> None:
    if missing != "shield":  # which has on purpose another gradient than its value
        assert torch.autograd.gradcheck(lambda z: cross_entropy(z, LABELS, PRESENT, missing), (logits(),))
    closed = logits().detach().float()
    closed[:, 2] = torch.finfo(torch.float32).min / 4  # as the heads of two-class tasks give it in TIL
    assert bool(torch.isfinite(cross_entropy(closed, LABELS, PRESENT, missing)))
