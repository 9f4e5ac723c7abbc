"""Classes that a new domain lacks keep their odds."""

from __future__ import annotations

import math

import torch

from classic.losses import absent_odds, lost_odds

NEUTRAL = torch.tensor([False, False, True])


def test_it_is_the_mean_gap_of_the_odds_of_absent_classes() -> None:
    """By hand, in double precision, where every gap is beyond the rounded corner (half of it is taken off)."""
    teacher = torch.tensor([[2.0, -1.0, 0.5], [0.0, 1.0, 3.0]], dtype=torch.float64)
    student = torch.tensor([[2.0, -1.0, -3.0], [0.0, 1.0, -1.0]], dtype=torch.float64)
    gaps = []
    for old, new in zip(teacher.tolist(), student.tolist(), strict=True):
        odds = [z[2] - math.log(math.exp(z[0]) + math.exp(z[1])) for z in (old, new)]
        gaps.append(abs(odds[1] - odds[0]) - 0.5)
    assert math.isclose(float(absent_odds(teacher, student, NEUTRAL)), sum(gaps) / 2, rel_tol=1e-12)


def test_it_is_silent_about_the_classes_the_domain_has() -> None:
    """Pleased or displeased: the sum of their weights counts, not which of them wins."""
    teacher = torch.tensor([[2.0, -1.0, 0.5]])
    assert float(absent_odds(teacher, torch.tensor([[-1.0, 2.0, 0.5]]), NEUTRAL)) == 0.0


def test_it_lifts_a_class_that_fades_and_leaves_the_teacher_alone() -> None:
    teacher = torch.tensor([[1.0, 0.0, 0.0]], requires_grad=True)
    student = torch.tensor([[1.0, 0.0, -4.0]], requires_grad=True)
    absent_odds(teacher, student, NEUTRAL).backward()
    assert student.grad is not None
    assert student.grad[0, 2] < 0 < student.grad[0, 0]
    assert teacher.grad is None


def test_gradients_are_right() -> None:
    torch.manual_seed(0)
    teacher, student = torch.randn(4, 3).double(), torch.randn(4, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: absent_odds(teacher, z, NEUTRAL), (student,))


def test_odds_that_were_lost_are_given_back() -> None:
    """Shifted back, absent classes are as likely as before on the mean; present ones keep their odds among each other."""
    torch.manual_seed(0)
    before = torch.randn(40, 3)
    after = before + torch.tensor([1.0, 0.5, -2.0]) + torch.randn(40, 3)
    found = lost_odds(before, after, NEUTRAL)
    assert found > 2
    shifted = after + found * NEUTRAL
    likely = [logits.softmax(dim=1)[:, 2].mean() for logits in (before, after, shifted)]
    assert torch.isclose(likely[2], likely[0], atol=1e-5) and not torch.isclose(likely[1], likely[0], atol=0.05)
    assert math.isclose(lost_odds(before, before, NEUTRAL), 0.0, abs_tol=1e-5)
