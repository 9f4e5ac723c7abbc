"""Task attention against loops over Eq. (8)-(11)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from classic.modules.task_attention import TaskAttention, TaskAxisAttention, mix_tasks


def parts(seed: int = 0, batch: int = 2, tasks: int = 3, width: int = 4, inner: int = 2) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    return [draw(batch, tasks, width), *(draw(inner, width) for _ in "fgq"), draw(width, inner), draw()]


def times(matrix: list[list[float]], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def slow_mix(given: list[Tensor]) -> tuple[list, list]:
    states, f, g, q, v, gamma = given
    views, attentions = [], []
    for h in states.tolist():
        tasks = range(len(h))
        s = [
            [sum(a * b for a, b in zip(times(f.tolist(), h[i]), times(g.tolist(), h[j]), strict=True)) for j in tasks]
            for i in tasks
        ]
        alpha = [[math.exp(s[i][j]) / sum(math.exp(s[k][j]) for k in tasks) for i in tasks] for j in tasks]
        view = [0.0] * len(h[0])
        for j in tasks:
            mixed = [0.0] * len(q)
            for i in tasks:
                mixed = [m + alpha[j][i] * x for m, x in zip(mixed, times(q.tolist(), h[i]), strict=True)]
            out = times(v.tolist(), mixed)
            view = [w + float(gamma) * o + x for w, o, x in zip(view, out, h[j], strict=True)]
        views.append(view)
        attentions.append(alpha)
    return views, attentions


def test_mix_is_the_formula() -> None:
    given = parts()
    view, attention = mix_tasks(*given)
    wanted_view, wanted_attention = slow_mix(given)
    assert torch.allclose(view, torch.tensor(wanted_view, dtype=torch.float64), rtol=1e-10)
    assert torch.allclose(attention, torch.tensor(wanted_attention, dtype=torch.float64), rtol=1e-10)


def test_a_row_of_the_attention_says_from_whom_a_task_takes() -> None:
    _, attention = mix_tasks(*parts(1))
    assert torch.allclose(attention.sum(dim=2), torch.ones(2, 3, dtype=torch.float64))
    assert not torch.allclose(attention.sum(dim=1), torch.ones(2, 3, dtype=torch.float64))


def test_gradient() -> None:
    given = [part.requires_grad_() for part in parts(2)]
    assert torch.autograd.gradcheck(mix_tasks, tuple(given))


@pytest.mark.parametrize(("features", "inner"), [(64, 8), (4, 1)])
def test_a_fresh_block_gives_the_plain_sum(features: int, inner: int) -> None:
    block = TaskAttention(features, torch.Generator().manual_seed(0))
    states = torch.randn(5, 3, features, generator=torch.Generator().manual_seed(1))
    view, attention = block(states)
    assert block.f.shape == (inner, features)
    assert torch.equal(view, states.sum(dim=1))
    assert attention.shape == (5, 3, 3)
    view.square().sum().backward()
    assert float(block.gamma.grad) != 0  # so that it can leave 0


def test_the_same_generator_gives_the_same_block() -> None:
    first, second, other = (TaskAttention(16, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.f, other.f)


def test_attention_along_the_task_axis_equals_slow_loops() -> None:
    torch.manual_seed(0)
    module = TaskAxisAttention(3, torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        module.biases.normal_()
        module.gamma.fill_(0.7)
    states = torch.randn(2, 3, 5, dtype=torch.float64)
    view, attention = module(states)
    for example in range(2):
        u = states[example]  # (t, D)
        q, k, v = (
            [
                [sum(u[i, d] * module.weights[n, i, j] for i in range(3)) + module.biases[n, 0, j] for j in range(3)]
                for d in range(5)
            ]
            for n in range(3)
        )
        for row in range(3):
            energies = torch.stack([sum(q[d][row] * k[d][j] for d in range(5)) for j in range(3)])
            assert torch.allclose(attention[example, row], energies.softmax(dim=0))
        for d in range(5):
            mixed = sum(
                module.gamma * sum(attention[example, row, j] * v[d][j] for j in range(3)) + u[row, d]
                for row in range(3)
            )
            assert torch.allclose(view[example, d], mixed)


def test_weights_begin_around_zero_and_as_wide_as_their_inputs_are_few() -> None:
    attention = TaskAttention(256, torch.Generator().manual_seed(0), reduction=4)
    along_tasks = TaskAxisAttention(40, torch.Generator().manual_seed(0))
    for weight in (attention.f, attention.g, attention.q, attention.v, along_tasks.weights):
        values, wide = weight.detach(), weight.shape[-1] ** -0.5
        assert abs(float(values.mean())) < 0.05 * wide and float(values.std()) == pytest.approx(wide, rel=0.05)
