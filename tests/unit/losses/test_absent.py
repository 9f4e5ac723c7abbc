"""What a domain lacks is held where the model before it had it; what the domain has is left to its labels."""

from __future__ import annotations

import math

import torch
from torch.autograd import gradcheck

from classic.losses.absent import absent_classes

NEUTRAL = torch.tensor([False, False, True])


def test_equals_a_loop_over_examples() -> None:
    teacher, student = torch.randn(2, 5, 3, dtype=torch.float64)
    total = 0.0
    for before, now in zip(teacher.tolist(), student.tolist(), strict=True):
        p, q = (math.exp(z[2]) / sum(map(math.exp, z)) for z in (before, now))
        total -= p * math.log(q) + (1 - p) * math.log(1 - q)
    assert math.isclose(float(absent_classes(teacher, student, NEUTRAL)), total / 5, rel_tol=1e-12)


def test_gradient() -> None:
    teacher, student = torch.randn(2, 4, 3, dtype=torch.float64)
    student.requires_grad_()
    for absent in (NEUTRAL, torch.tensor([True, False, True])):
        assert gradcheck(lambda z, absent=absent: absent_classes(teacher, z, absent), (student,))


def test_is_at_rest_where_nothing_was_forgotten() -> None:
    """Positive and negative may trade places: only what is said of "neutral" counts."""
    teacher = torch.tensor([[1.0, -2.0, 0.5]])
    student = teacher[:, [1, 0, 2]].clone().requires_grad_()
    absent_classes(teacher, student, NEUTRAL).backward()
    assert student.grad is not None
    torch.testing.assert_close(student.grad, torch.zeros(1, 3), atol=1e-7, rtol=0)


def test_pulls_a_forgotten_class_back() -> None:
    student = torch.tensor([[0.0, 0.0, -4.0]], requires_grad=True)
    absent_classes(torch.tensor([[0.0, 0.0, 3.0]]), student, NEUTRAL).backward()
    assert student.grad is not None
    assert student.grad[0, 2] < -0.5
    assert float(student.grad[0, 0]) == float(student.grad[0, 1]) > 0
