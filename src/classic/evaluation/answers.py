"""What a method answers on a set of examples, under a task-id rule."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from classic.batching import sorted_batches
from classic.methods.base import Method
from classic.types import Example, TaskId

VERSION = 1  # of how answers are read and scored; raised when the same model comes to other scores


def answer(
    method: Method,
    examples: Sequence[Example],
    rule: TaskId = TaskId.LAST,
    task: int | None = None,
    batch_size: int = 64,
) -> Tensor:
    """Logits (n, C) in the order of the examples.

    Args:
        method: The method, between tasks.
        examples: What is asked.
        rule: ``given`` uses the model of ``task``, ``last`` the newest, ``ent`` for each example the model that is least
            uncertain: argmin_e of the entropy of softmax(z_e), over all learned tasks e.
        task: The task of the examples, for the rule ``given``.
        batch_size: Examples in a batch.
    """
    method.eval()
    device = method.present.device
    logits = torch.zeros(len(examples), len(method.present))
    with torch.no_grad():
        for batch in sorted_batches(method.model.backbone, examples, batch_size):
            moved = batch.to(device)
            if rule is TaskId.ENTROPY:
                found = least_uncertain(torch.stack([method.answer(moved, e) for e in range(method.learned)]))
            else:
                found = method.answer(moved, task if rule is TaskId.GIVEN else None)
            logits[batch.rows] = found.cpu()
    return logits


def least_uncertain(logits: Tensor) -> Tensor:
    """Of the answers of several models (T, B, C) the one with the lowest entropy, for each example by itself (B, C)."""
    log_probability = logits.log_softmax(dim=-1)
    entropy = -(log_probability.exp() * log_probability).sum(dim=-1)  # (T, B)
    return logits[entropy.argmin(dim=0), torch.arange(logits.shape[1])]
