"""Cross-entropy that knows which classes a domain has."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy as plain_cross_entropy

MissingClasses = Literal["plain", "ignore", "shield"]


def cross_entropy(logits: Tensor, labels: Tensor, present: Tensor, missing: MissingClasses = "plain") -> Tensor:
    """Cross-entropy over the three polarities for a domain that may lack some of them.

    Args:
        logits: (B, C).
        labels: (B,) class indices.
        present: (C,) bool; the classes this domain has.
        missing: What to do about the others. ``plain`` treats them as wrong answers (the paper): a model that knows
            "neutral" unlearns it in every domain without. ``ignore`` leaves them out of the softmax: nothing keeps
            "neutral" from being answered there. ``shield`` leaves them in the softmax but lets no gradient into their
            logits: the true class is lifted above "neutral", "neutral" itself is not pushed down.
            docs/decisions/0011-missing-classes.md has the numbers.
    """
    if missing == "ignore":
        logits = logits.masked_fill(~present, torch.finfo(logits.dtype).min / 4)
    elif missing == "shield":
        logits = torch.where(present, logits, logits.detach())
    return plain_cross_entropy(logits, labels)
