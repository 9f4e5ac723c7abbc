"""What becomes of classes that a new domain does not have."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import smooth_l1_loss


def absent_odds(teacher_logits: Tensor, student_logits: Tensor, absent: Tensor) -> Tensor:
    """Classes that the new domain lacks keep the odds that the model before gave them, text by text. Not in the paper.

        o(z) = log sum_{c absent} exp z_c - log sum_{c present} exp z_c,      L = mean_n |o(student_n) - o(teacher_n)|

    with the corner of |.| rounded. A domain without "neutral" says nothing about it, and its steps move the features all the
    same: after six such domains four of five right neutrals of an earlier one were lost. CED contrasts examples, and what
    all of them share is no contrast: it does not see a class fade for all texts alike.

    Args:
        teacher_logits: (N, C); no gradient flows into them.
        student_logits: (N, C).
        absent: (C,) bool, classes the teacher was taught and the domain does not have; neither none nor all of them.
    """
    return smooth_l1_loss(_odds(student_logits, absent), _odds(teacher_logits.detach(), absent))


def lost_odds(before: Tensor, after: Tensor, absent: Tensor) -> float:
    """What must be added to the logits of absent classes so that they are as likely as before, on the mean of all texts.

        b:  mean_n P_absent(after_n + b) = mean_n P_absent(before_n)

    Args:
        before: (N, C) logits of the model before.
        after: (N, C) logits of the model that has learned the domain, for the same texts.
        absent: (C,) bool, neither none nor all.
    """
    wanted = before.double().softmax(dim=1)[:, absent].sum(dim=1).mean()
    odds, low, high = _odds(after.double(), absent), -20.0, 20.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if (odds + middle).sigmoid().mean() < wanted else (low, middle)
    return (low + high) / 2


def _odds(logits: Tensor, absent: Tensor) -> Tensor:
    return logits[:, absent].logsumexp(dim=1) - logits[:, ~absent].logsumexp(dim=1)
