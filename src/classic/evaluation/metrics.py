"""Accuracy and macro-F1, written out; scikit-learn is used only in the tests, as the judge."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def accuracy(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> float:
    """The share of right answers.

    Formula: (1/N) Σ_n [truth_n = predicted_n]

    >>> accuracy(["positive", "negative"], ["positive", "positive"])
    0.5
    """
    _require_same_length(truth, predicted)
    return sum(true == guess for true, guess in zip(truth, predicted, strict=True)) / len(truth)


def macro_f1(
    truth: Sequence[Hashable], predicted: Sequence[Hashable], labels: Sequence[Hashable] | None = None
) -> float:
    """The mean F1 over classes.

    Formula: (1/|C|) Σ_{c ∈ C} 2 TP_c / (2 TP_c + FP_c + FN_c), where a class with denominator 0 counts 0.

    With ``labels=None``, the paper's convention, C is the set of classes in truth and prediction together.
    One stray third class then adds a class whose F1 is 0:

    >>> macro_f1(["pos", "neg", "neg"], ["pos", "neg", "neutral"])
    0.5555555555555555

    With ``labels``, "own F1", C is the task's own label set and a stray answer is a plain error:

    >>> macro_f1(["pos", "neg", "neg"], ["pos", "neg", "neutral"], labels=["pos", "neg"])
    0.8333333333333333
    """
    _require_same_length(truth, predicted)
    # dict.fromkeys keeps the first of equals and, unlike a set, the order: sums of floats depend on it.
    classes = list(dict.fromkeys([*truth, *predicted] if labels is None else labels))
    if not classes:
        raise ValueError("macro_f1 needs at least one label")
    return sum(_f1(truth, predicted, each) for each in classes) / len(classes)


def _f1(truth: Sequence[Hashable], predicted: Sequence[Hashable], label: Hashable) -> float:
    pairs = list(zip(truth, predicted, strict=True))
    both = sum(true == label and guess == label for true, guess in pairs)
    either = sum((true == label) + (guess == label) for true, guess in pairs)
    # 2 TP + FP + FN is the number of times the label occurs on the two sides together.
    return 2 * both / either if either else 0.0


def _require_same_length(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> None:
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true labels but {len(predicted)} predictions")
    if not truth:
        raise ValueError("there are no labels to score")
