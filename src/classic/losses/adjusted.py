"""Cross-entropy that sets a domain's label shares aside."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy as plain_cross_entropy


def adjusted_cross_entropy(logits: Tensor, labels: Tensor, shares: Tensor) -> Tensor:
    """Cross-entropy of logits to which the logarithm of the domain's label shares is added.

        L = -log softmax(z + log pi)_y

    After Menon et al. (2021), "Long-tail learning via logit adjustment". Domains differ in how often they are pleased:
    what is learned here is what speaks for a class, not how frequent it is, so a domain of nothing but praise teaches
    no later one to expect it. A class the domain does not have (share 0) takes no part, and none of it is unlearned.

    Args:
        logits: (B, C).
        labels: (B,) class indices, none of share 0.
        shares: (C,) pi; sums to 1.
    """
    absent = shares == 0
    adjusted = logits + shares.masked_fill(absent, 1.0).log()
    return plain_cross_entropy(adjusted.masked_fill(absent, torch.finfo(logits.dtype).min / 4), labels)
