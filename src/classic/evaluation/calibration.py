"""Temperature scaling: probabilities that mean what they say."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

_LOWEST, _HIGHEST = 0.25, 8.0


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
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
    return round(float(torch.tensor((low + high) / 2).exp()), 4)


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
