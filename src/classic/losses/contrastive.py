"""The contrastive losses of CLASSIC.

The paper prints sums and three slightly different index conditions; its normalisers (``N_y - 1`` positives, ``2N - 1``
terms) tell what is meant, and that is what stands here: an anchor is never its own positive nor in its own denominator,
and the batch loss is the mean over the anchors that have a positive.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

Reading = Literal["paper", "authors"]


def contrast(
    anchors: Tensor, candidates: Tensor, positive: Tensor, allowed: Tensor, temperature: float = 1.0
) -> Tensor:
    """Contrastive loss of anchors against candidates.

    Paper: Eq. (1), Sec. 3.1

        l_n = -1/|P(n)| sum_{j in P(n)} log( exp(a_n . c_j / tau) / sum_{k in A(n)} exp(a_n . c_k / tau) )

    Args:
        anchors: a, (N, D).
        candidates: c, (M, D).
        positive: P, (N, M) bool; which candidates an anchor should be close to.
        allowed: A, (N, M) bool; which candidates stand in the denominator. Contains P.
        temperature: tau.

    Returns:
        The mean of l_n over the anchors with a positive, 0 if there is none.
    """
    similarity = anchors @ candidates.T / temperature
    # A finite floor instead of -inf: a row without any allowed candidate must give 0, not NaN.
    similarity = similarity.masked_fill(~allowed, torch.finfo(similarity.dtype).min / 4)
    log_probability = similarity - similarity.logsumexp(dim=1, keepdim=True)
    positives = positive.sum(dim=1)
    per_anchor = -log_probability.masked_fill(~positive, 0.0).sum(dim=1) / positives.clamp(min=1)
    return per_anchor.sum() / (positives > 0).sum().clamp(min=1)


def csc(
    features: Tensor, labels: Tensor, temperature: float = 1.0, reading: Reading = "paper", *, normalised: bool = True
) -> Tensor:
    """Supervised contrast of the current task: examples of one polarity attract each other.

    Paper: Eq. (13), Sec. 3.4

        L = mean_n -1/(N_{y_n} - 1) sum_{j != n, y_j = y_n} log( exp(h_n . h_j / tau) / sum_{k != n} exp(h_n . h_k / tau) )

    with l2-normalised features h.

    Args:
        features: (N, D), normalised here.
        labels: (N,) class indices.
        temperature: tau.
        reading: ``authors`` doubles every example, as the released code does, so that its copy is a positive, too.
        normalised: Whether to normalise; the paper tried both (Sec. 4.3).
    """
    h = normalize(features, dim=1) if normalised else features
    if reading == "authors":
        return _contrast_stacked(h, h, labels, temperature)
    others = ~torch.eye(len(h), dtype=torch.bool, device=h.device)
    return contrast(h, h, _same(labels, labels) & others, others, temperature)


def cks(
    shared_view: Tensor,
    features: Tensor,
    labels: Tensor,
    temperature: float = 1.0,
    reading: Reading = "paper",
    *,
    normalised: bool = True,
) -> Tensor:
    """Knowledge sharing: the view mixed from all tasks against the current task's features.

    Paper: Eq. (12), Sec. 3.3.2

        L = mean_n -1/(N_{y_n} - 1) sum_{j != n, y_j = y_n} log( exp(c_n . h_j / tau) / sum_{k != n} exp(c_n . h_k / tau) )

    with c the shared view and h the features, both l2-normalised.

    Args:
        shared_view: (N, D), from the task attention, normalised here.
        features: (N, D) of the current task, normalised here.
        labels: (N,) class indices.
        temperature: tau.
        reading: ``authors`` takes both views as anchors and contrasts within a view, too.
        normalised: Whether to normalise; the paper tried both (Sec. 4.3).
    """
    c, h = (normalize(view, dim=1) if normalised else view for view in (shared_view, features))
    if reading == "authors":
        return _contrast_stacked(h, c, labels, temperature)
    others = ~torch.eye(len(h), dtype=torch.bool, device=h.device)
    return contrast(c, h, _same(labels, labels) & others, others, temperature)


def ced(
    teacher_logits: Tensor,
    student_logits: Tensor,
    temperature: float = 1.0,
    labels: Tensor | None = None,
    seen: Tensor | None = None,
) -> Tensor:
    """Ensemble distillation: what a teacher and the student say about one example attract each other.

    Paper: Eq. (6) and (7), Sec. 3.2.3. Teacher and student logits are stacked to 2N rows z; the positive of a row is
    the other model's row for the same example, the denominator has the 2N - 1 other rows:

        L^(i) = mean_{n <= 2N} -log( exp(z_n . z_{n'} / tau) / sum_{j != n} exp(z_n . z_j / tau) ),   L = sum_{i<t} L^(i)

    Args:
        teacher_logits: (N, C) of one teacher or (T, N, C) of several; no gradient flows into them.
        student_logits: (N, C).
        temperature: tau.
        labels: (N,) class indices. Given, examples of one class are no negatives of each other (not in the paper): the
            logits of two pleased sentences should not be told apart.
        seen: (T, C) bool, the classes each teacher was ever taught. Given, a teacher says nothing about the others (not in
            the paper): neither their logits nor, with ``labels``, their examples count.
    """
    teachers = teacher_logits.detach()
    if teachers.dim() == 2:
        teachers = teachers.unsqueeze(0)
    count = len(student_logits)
    row = torch.arange(2 * count, device=student_logits.device)
    other_model = row.roll(count)
    positive = row.unsqueeze(0) == other_model.unsqueeze(1)
    allowed = row.unsqueeze(0) != row.unsqueeze(1)
    if labels is not None:
        twice = torch.cat([labels, labels])
        allowed = allowed & (~_same(twice, twice) | positive)
    total = student_logits.new_zeros(())
    for number, teacher in enumerate(teachers):
        z, pairs, among = torch.cat([teacher, student_logits]), positive, allowed
        if seen is not None:
            z = z * seen[number]
            if labels is not None:
                known = seen[number][twice]
                pairs, among = pairs & known.unsqueeze(1), among & known.unsqueeze(0)
        total = total + contrast(z, z, pairs, among, temperature)
    return total


def _contrast_stacked(first: Tensor, second: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """SupCon over two views: 2N anchors, positives are all other rows of the same label in either view."""
    stacked, twice = torch.cat([first, second]), torch.cat([labels, labels])
    others = ~torch.eye(len(stacked), dtype=torch.bool, device=stacked.device)
    return contrast(stacked, stacked, _same(twice, twice) & others, others, temperature)


def _same(left: Tensor, right: Tensor) -> Tensor:
    return left.unsqueeze(1) == right.unsqueeze(0)
