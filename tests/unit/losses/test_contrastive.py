"""The contrastive losses against a slow loop written from the formulas (systems.md sections 0 and 6)."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from classic.losses import ced, cks, csc
from classic.losses.contrastive import contrast

LABELS = torch.tensor([0, 1, 0, 2, 1, 0, 1])  # class 2 has one example only


def vectors(seed: int, count: int = 7, width: int = 5) -> Tensor:
    return torch.randn(count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def unit(rows: Tensor) -> list[list[float]]:
    return [[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in rows.tolist()]


def slow_contrast(
    anchors: list[list[float]],
    candidates: list[list[float]],
    is_positive: Callable[[int, int], bool],
    temperature: float,
) -> float:
    """Mean over anchors n with a positive of -mean_j log(exp(a_n.c_j/tau) / sum_{k != n} exp(a_n.c_k/tau))."""

    def similarity(n: int, k: int) -> float:
        return sum(a * c for a, c in zip(anchors[n], candidates[k], strict=True)) / temperature

    losses = []
    for n in range(len(anchors)):
        denominator = sum(math.exp(similarity(n, k)) for k in range(len(candidates)) if k != n)
        logs = []
        for j in range(len(candidates)):
            if j != n and is_positive(n, j):
                logs.append(math.log(math.exp(similarity(n, j)) / denominator))
        if logs:
            losses.append(-sum(logs) / len(logs))
    return sum(losses) / len(losses) if losses else 0.0


def by_label(labels: Tensor) -> Callable[[int, int], bool]:
    return lambda n, j: bool(labels[n] == labels[j])


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.1])
def test_csc_is_the_formula(temperature: float) -> None:
    h = vectors(0)
    wanted = slow_contrast(unit(h), unit(h), by_label(LABELS), temperature)
    assert float(csc(h, LABELS, temperature)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_csc_of_the_authors_doubles_every_example(temperature: float) -> None:
    h = vectors(1)
    twice, labels = unit(torch.cat([h, h])), torch.cat([LABELS, LABELS])
    wanted = slow_contrast(twice, twice, by_label(labels), temperature)
    assert float(csc(h, LABELS, temperature, reading="authors")) == pytest.approx(wanted, rel=1e-12)
    assert wanted != pytest.approx(float(csc(h, LABELS, temperature)), rel=1e-3)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_cks_is_the_formula(temperature: float) -> None:
    view, h = vectors(2), vectors(3)
    wanted = slow_contrast(unit(view), unit(h), by_label(LABELS), temperature)
    assert float(cks(view, h, LABELS, temperature)) == pytest.approx(wanted, rel=1e-12)


def test_cks_has_the_view_as_anchor_and_the_features_as_candidates() -> None:
    view, h = vectors(2), vectors(3)
    assert float(cks(view, h, LABELS)) != pytest.approx(float(cks(h, view, LABELS)), rel=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_cks_of_the_authors_takes_both_views_as_anchors(temperature: float) -> None:
    view, h = vectors(4), vectors(5)
    stacked, labels = unit(torch.cat([h, view])), torch.cat([LABELS, LABELS])
    wanted = slow_contrast(stacked, stacked, by_label(labels), temperature)
    assert float(cks(view, h, LABELS, temperature, reading="authors")) == pytest.approx(wanted, rel=1e-12)


def slow_ced(teacher: Tensor, student: Tensor, temperature: float) -> float:
    stacked, count = torch.cat([teacher, student]).tolist(), len(student)
    return slow_contrast(stacked, stacked, lambda n, j: abs(n - j) == count, temperature)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_ced_is_the_formula(temperature: float) -> None:
    teacher, student = vectors(6, width=3), vectors(7, width=3)
    wanted = slow_ced(teacher, student, temperature)
    assert float(ced(teacher, student, temperature)) == pytest.approx(wanted, rel=1e-12)


def test_ced_adds_up_over_teachers() -> None:
    teachers, student = torch.stack([vectors(seed, width=3) for seed in (8, 9, 10)]), vectors(11, width=3)
    wanted = sum(slow_ced(teacher, student, 1.0) for teacher in teachers)
    assert float(ced(teachers, student)) == pytest.approx(wanted, rel=1e-12)


def test_ced_takes_raw_logits() -> None:
    teacher, student = vectors(6, width=3), vectors(7, width=3)
    assert float(ced(2 * teacher, 2 * student)) != pytest.approx(float(ced(teacher, student)), rel=1e-3)


def test_csc_and_cks_do_not_see_the_length_of_a_feature() -> None:
    view, h = vectors(2), vectors(3)
    stretch = torch.linspace(0.1, 9, 7, dtype=torch.float64).unsqueeze(1)
    assert float(csc(h * stretch, LABELS)) == pytest.approx(float(csc(h, LABELS)), rel=1e-12)
    assert float(cks(view * stretch, h, LABELS)) == pytest.approx(float(cks(view, h, LABELS)), rel=1e-12)


@pytest.mark.parametrize("reading", ["paper", "authors"])
def test_gradients(reading: str) -> None:
    view, h = vectors(12).requires_grad_(), vectors(13).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: csc(x, LABELS, 0.7, reading), (h,))
    assert torch.autograd.gradcheck(lambda c, x: cks(c, x, LABELS, 0.7, reading), (view, h))


def test_gradient_of_ced() -> None:
    teachers, student = torch.stack([vectors(14, width=3), vectors(15, width=3)]), vectors(16, width=3)
    assert torch.autograd.gradcheck(lambda z: ced(teachers, z, 0.7), (student.requires_grad_(),))


def test_teachers_get_no_gradient() -> None:
    teacher, student = vectors(6, width=3).requires_grad_(), vectors(7, width=3).requires_grad_()
    ced(teacher, student).backward()
    assert teacher.grad is None
    assert student.grad is not None
    assert float(student.grad.abs().sum()) > 0


@pytest.mark.parametrize("reading", ["paper", "authors"])
@pytest.mark.parametrize("labels", [[0], [0, 1], [0, 1, 2], [1, 1, 1, 1], [0, 0, 2]], ids=str)
@pytest.mark.parametrize("zero", [False, True], ids=["random", "zero features"])
def test_odd_batches_stay_finite(reading: str, labels: list[int], zero: bool) -> None:
    count = len(labels)
    view, h = (x * (not zero) for x in (vectors(17, count), vectors(18, count)))
    view, h, truth = view.float().requires_grad_(), h.float().requires_grad_(), torch.tensor(labels)
    terms = [csc(h, truth, 1.0, reading), cks(view, h, truth, 1.0, reading), ced(view, h)]
    torch.stack(terms).sum().backward()
    assert all(bool(torch.isfinite(term)) for term in terms)
    assert view.grad is not None and bool(torch.isfinite(view.grad).all())
    assert h.grad is not None and bool(torch.isfinite(h.grad).all())


def test_no_positive_means_no_loss() -> None:
    h, labels = vectors(19, 3), torch.tensor([0, 1, 2])
    assert float(csc(h, labels)) == 0.0
    assert float(cks(vectors(20, 3), h, labels)) == 0.0


def test_anchors_without_a_positive_do_not_thin_the_mean() -> None:
    """Two equal rows and a lone third: both anchors have the loss log(1 + exp(s - 1)), the lone one has none."""
    h = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    wanted = math.log(1 + math.exp(-1.0))
    assert float(csc(h, torch.tensor([0, 0, 1]))) == pytest.approx(wanted, rel=1e-12)


@given(order=st.permutations(range(7)), seed=st.integers(0, 999), reading=st.sampled_from(["paper", "authors"]))
def test_the_order_of_a_batch_does_not_matter(order: list[int], seed: int, reading: str) -> None:
    view, h, z = vectors(seed), vectors(seed + 1), vectors(seed + 2)
    assert float(csc(h[order], LABELS[order], 1.0, reading)) == pytest.approx(
        float(csc(h, LABELS, 1.0, reading)), rel=1e-10
    )
    assert float(cks(view[order], h[order], LABELS[order], 1.0, reading)) == pytest.approx(
        float(cks(view, h, LABELS, 1.0, reading)), rel=1e-10
    )
    assert float(ced(z[order], h[order])) == pytest.approx(float(ced(z, h)), rel=1e-10)


def test_a_random_model_starts_near_ln_63() -> None:
    """2N - 1 = 63 nearly equal terms in every denominator at N = 32."""
    labels = torch.arange(32) % 2
    h, c = vectors(21, 32, 384), vectors(22, 32, 384)
    assert float(csc(h, labels, reading="authors")) == pytest.approx(math.log(63), abs=0.1)
    assert float(cks(c, h, labels, reading="authors")) == pytest.approx(math.log(63), abs=0.1)
    assert float(ced(0.02 * vectors(23, 32, 3), 0.02 * vectors(24, 32, 3))) == pytest.approx(math.log(63), abs=0.01)
    assert float(csc(h, labels)) == pytest.approx(math.log(31), abs=0.1)


def test_large_logits_do_not_overflow() -> None:
    z = 1e4 * vectors(25, width=3).float()
    assert bool(torch.isfinite(ced(z, z.flip(0))))


# --- CED by class (not in the paper) ---


def slow_ced_by_class(teacher: Tensor, student: Tensor, labels: list[int], seen: list[bool], tau: float) -> float:
    """Written from the words: no negatives of one's own class, nothing about classes the teacher never saw."""
    count = len(student)
    z = [*(row.tolist() for row in teacher), *(row.tolist() for row in student)]
    z = [[value if known else 0.0 for value, known in zip(row, seen, strict=True)] for row in z]
    twice, losses = labels + labels, []
    for n in range(2 * count):
        if not seen[twice[n]]:
            continue
        positive = (n + count) % (2 * count)
        among = [j for j in range(2 * count) if j == positive or (twice[j] != twice[n] and seen[twice[j]])]
        dots = {j: sum(a * b for a, b in zip(z[n], z[j], strict=True)) / tau for j in among}
        losses.append(math.log(sum(math.exp(dot) for dot in dots.values())) - dots[positive])
    return sum(losses) / len(losses)


@pytest.mark.parametrize("seen", [[True, True, True], [True, True, False]])
def test_ced_by_class_against_a_slow_loop(seen: list[bool]) -> None:
    draw = torch.Generator().manual_seed(3)
    teacher, student = (torch.randn(7, 3, generator=draw, dtype=torch.float64) for _ in range(2))
    labels = [0, 1, 2, 0, 1, 2, 0]
    found = ced(teacher, student, 0.7, torch.tensor(labels), torch.tensor([seen]))
    assert float(found) == pytest.approx(slow_ced_by_class(teacher, student, labels, seen, 0.7), rel=1e-9)


def test_a_teacher_is_silent_about_classes_it_never_saw() -> None:
    draw = torch.Generator().manual_seed(3)
    teacher, student = torch.randn(6, 3, generator=draw), torch.randn(6, 3, generator=draw).requires_grad_()
    labels, seen = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([[True, True, False]])
    ced(teacher, student, 1.0, labels, seen).backward()
    assert student.grad is not None
    assert not student.grad[:, 2].any()  # neither pulls at the logit nor
    assert not student.grad[labels == 2].any()  # at examples of that class
    assert student.grad[labels != 2, :2].any()


def test_a_temperature_that_nobody_gave_is_one() -> None:
    view, h = vectors(2), vectors(3)
    assert float(csc(h, LABELS)) == float(csc(h, LABELS, 1.0))
    assert float(cks(view, h, LABELS)) == float(cks(view, h, LABELS, 1.0))
    assert float(ced(view, h)) == float(ced(view, h, 1.0))
    same, others = LABELS.unsqueeze(1) == LABELS, ~torch.eye(7, dtype=torch.bool)
    assert float(contrast(h, h, same & others, others)) == float(contrast(h, h, same & others, others, 1.0))
