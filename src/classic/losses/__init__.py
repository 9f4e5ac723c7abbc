"""Losses: pure functions, tensors in, scalar out."""

from classic.losses.absent import absent_odds, lost_odds
from classic.losses.classification import cross_entropy
from classic.losses.contrastive import ced, cks, contrast, csc

__all__ = ["absent_odds", "ced", "cks", "contrast", "cross_entropy", "csc", "lost_odds"]
