"""Losses: pure functions, tensors in, scalar out."""

from classic.losses.classification import cross_entropy
from classic.losses.contrastive import ced, cks, contrast, csc

__all__ = ["ced", "cks", "contrast", "cross_entropy", "csc"]
