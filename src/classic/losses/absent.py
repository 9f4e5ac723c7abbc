"""What a domain cannot teach, learned from the model before it."""

from __future__ import annotations

import torch
from torch import Tensor


def absent_classes(teacher: Tensor, student: Tensor, absent: Tensor) -> Tensor:
    """Distillation of the classes a domain does not have.

        L = mean_n -sum_k p_nk log q_nk,    k over the absent classes, and all others taken together

    with p and q the answers of teacher and student. After Hinton et al. (2015), of whose loss this is the part about absent
    classes. The examples of a domain without "neutral" say nothing about what is neutral, but every step moves the network
    that knew it. What it said before, on these very sentences, holds it in place, and leaves the classes that the domain
    has to their labels.

    Args:
        teacher: (B, C) logits of the model before this domain.
        student: (B, C) logits in training.
        absent: (C,) bool; classes the teacher knows and the domain lacks.
    """

    def log_answers(logits: Tensor) -> Tensor:
        joined = torch.cat([logits[:, absent], logits[:, ~absent].logsumexp(dim=1, keepdim=True)], dim=1)
        return joined.log_softmax(dim=1)

    return -(log_answers(teacher).exp() * log_answers(student)).sum(dim=1).mean()
