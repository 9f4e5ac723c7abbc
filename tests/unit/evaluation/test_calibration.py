"""Calibration: the temperature and the calibration error."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy

from classic.evaluation.calibration import calibration_error, fit_temperature, likeliest_temperature
from classic.learning.learner import Learner


def drawn(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Logits, and labels drawn from exactly the probabilities they say."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(count, 3, generator=generator)
    return logits, torch.multinomial(logits.softmax(dim=1), 1, generator=generator).squeeze(1)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5, 6.0])
def test_a_known_temperature_is_found_again(temperature: float) -> None:
    logits, labels = drawn(20_000)
    assert fit_temperature(logits * temperature, labels) == pytest.approx(temperature, rel=0.05)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_the_fitted_temperature_makes_probabilities_mean_what_they_say(temperature: float) -> None:
    logits, labels = drawn(20_000)
    spoilt = logits * temperature
    before = calibration_error(spoilt.softmax(dim=1), labels)
    after = calibration_error((spoilt / fit_temperature(spoilt, labels)).softmax(dim=1), labels)
    assert before > 0.08
    assert after < 0.02


@given(seed=st.integers(0, 1000), count=st.integers(2, 40))
def test_no_other_temperature_in_range_is_likelier(seed: int, count: int) -> None:
    logits, _ = drawn(count, seed)
    labels = torch.randint(0, 3, (count,), generator=torch.Generator().manual_seed(seed + 1))
    fitted = likeliest_temperature(logits, labels)
    best = float(cross_entropy(logits.double() / fitted, labels))
    for other in torch.logspace(-2, 3, 41, base=2).tolist():
        assert best <= float(cross_entropy(logits.double() / other, labels)) + 1e-6


def test_it_stays_in_range_when_everything_is_right_or_wrong() -> None:
    logits = torch.tensor([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    assert 0.25 <= likeliest_temperature(logits, torch.tensor([0, 1])) < 0.3
    assert 7.9 < likeliest_temperature(logits, torch.tensor([1, 0])) <= 8


def test_a_handful_that_is_answered_right_makes_nobody_sure() -> None:
    right = 3 * torch.eye(3)
    found = {n: fit_temperature(right.repeat(n, 1)[:n], torch.arange(n) % 3) for n in (2, 5, 25, 50)}
    assert found == pytest.approx({n: 0.25 ** (n / 50) for n in found}, abs=0.001)
    assert found[2] > 0.9 and found[5] > 0.8


@pytest.mark.parametrize("count", [50, 200, 1000])
def test_enough_examples_are_believed(count: int) -> None:
    logits, labels = drawn(count)
    assert fit_temperature(3 * logits, labels) == round(likeliest_temperature(3 * logits, labels), 4)


def test_missing_columns_do_not_break_it() -> None:
    logits, labels = drawn(200)
    logits[:, 2] = torch.finfo(torch.float32).min / 4
    assert 0.25 <= fit_temperature(logits, labels.clamp(max=1)) <= 8


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_fit_gives_one(count: int) -> None:
    assert fit_temperature(torch.randn(count, 3), torch.zeros(count, dtype=torch.long)) == 1.0


def test_the_calibration_error_by_hand() -> None:
    probabilities = torch.tensor([[0.95, 0.05], [0.95, 0.05], [0.25, 0.75], [0.45, 0.55]], dtype=torch.float64)
    labels = torch.tensor([0, 1, 1, 0])
    # Bins: two at 0.95, half of them right; one at 0.75, right; one at 0.55, wrong.
    expected = 0.5 * abs(0.95 - 0.5) + 0.25 * abs(0.75 - 1) + 0.25 * abs(0.55 - 0)
    assert calibration_error(probabilities, labels) == pytest.approx(expected)


def test_the_calibration_error_is_zero_only_if_confidence_is_accuracy() -> None:
    sure = torch.tensor([[1.0, 0.0]] * 4)
    assert calibration_error(sure, torch.tensor([0, 0, 0, 0])) == 0
    assert calibration_error(sure, torch.tensor([1, 1, 1, 1])) == 1
    half = torch.tensor([[0.5, 0.5]] * 4)
    assert calibration_error(half, torch.tensor([0, 1, 0, 1])) == 0


def test_a_model_uses_the_geometric_mean_weighted_by_examples() -> None:
    def learner(*fitted: tuple[float, int]) -> Learner:
        return Learner(None, 0, None, None, [], list(fitted))  # type: ignore[arg-type]

    assert learner().temperature == 1.0
    assert learner((5.0, 0)).temperature == 1.0
    assert learner((2.0, 10), (8.0, 10), (3.0, 0)).temperature == pytest.approx(4.0)
    assert learner((2.0, 30), (8.0, 10)).temperature == pytest.approx(2 * 4**0.25)
