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


def _odds(logits: Tensor, absent: Tensor) -> Tensor:
    return logits[:, absent].logsumexp(dim=1) - logits[:, ~absent].logsumexp(dim=1)
