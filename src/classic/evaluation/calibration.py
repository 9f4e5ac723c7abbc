"""Temperature scaling: probabilities that mean what they say."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

_LOWEST, _HIGHEST = 0.25, 8.0
_ENOUGH = 50  # examples from which on the likeliest temperature is believed


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """The likeliest temperature, drawn towards 1 where there are fewer than 50 examples to tell it from.

    A handful that happens to be answered right is likeliest at the lowest temperature there is, and every answer would
    then be sure of itself. So log T is multiplied by n / 50: of 5 examples a tenth of it is believed.

    Args:
        logits: (n, C) of examples the model was not trained on.
        labels: (n,) true classes.

    Returns:
        T, within [0.25, 8]; 1 if there is nothing to fit.
    """
    return round(math.pow(likeliest_temperature(logits, labels), min(1.0, len(labels) / _ENOUGH)), 4)


def likeliest_temperature(logits: Tensor, labels: Tensor) -> float:
    """The temperature T under which softmax(z / T) has the lowest negative log-likelihood (Guo et al. 2017).

    Args:
        logits: (n, C) of examples the model was not trained on.
        labels: (n,) true classes.

    Returns:
        T, within [0.25, 8]; 1 if there is nothing to fit.
    """
    if len(labels) < 2:
        return 1.0
    logits = logits.double()
    # The likelihood has one minimum in log T: a golden-section search needs no step size and is exactly repeatable.
    low, high = torch.tensor(_LOWEST).log().item(), torch.tensor(_HIGHEST).log().item()
    ratio = (5**0.5 - 1) / 2

    def loss(log_temperature: float) -> float:
        return float(cross_entropy(logits / torch.tensor(log_temperature).exp().double(), labels))

    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if loss(left) < loss(right):
            high = right
        else:
            low = left
    return float(torch.tensor((low + high) / 2).exp())


def calibration_error(probabilities: Tensor, labels: Tensor, bins: int = 10) -> float:
    """Expected calibration error: mean gap between confidence and accuracy over equally wide bins of confidence."""
    confidence, predicted = probabilities.max(dim=1)
    right = (predicted == labels).double()
    bin_of = (confidence * bins).long().clamp(max=bins - 1)
    error = 0.0
    for index in range(bins):
        inside = bin_of == index
        if inside.any():
            gap = (confidence[inside].double().mean() - right[inside].mean()).abs()
            error += float(gap * inside.double().mean())
    return error
