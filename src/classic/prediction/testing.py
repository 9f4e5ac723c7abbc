"""A predictor put to a test: labelled data in, scores out, with the very answers `predict` gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classic.data.marked import spans_of
from classic.data.memory import to_examples
from classic.data.readers import read_examples
from classic.data.tasks import scored_file
from classic.errors import InputError
from classic.evaluation.aspects import exact_match
from classic.evaluation.details import by_class, confusion_matrix, detail, intervals
from classic.evaluation.scores import count, score
from classic.prediction.opening import open_predictor
from classic.runtime.answering import Answering
from classic.types import Example, Polarity


@dataclass(frozen=True)
class Evaluation:
    """How well a predictor did.

    Attributes:
        counted: Counts of (true, answered) pairs, from which everything else follows.
    """

    counted: dict[str, Any]

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(score(self.counted)["accuracy"])

    @property
    def macro_f1(self) -> float:
        """Mean F1 over the classes in truth or answers: the paper's."""
        return float(score(self.counted)["macro_f1"])

    @property
    def own_f1(self) -> float:
        """Mean F1 over the classes the data really has."""
        return float(score(self.counted)["own_f1"])

    @property
    def by_class(self) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and examples of every class."""
        return by_class(self.counted)

    @property
    def confusion(self) -> list[list[int]]:
        """True polarities down, answered ones across: positive, negative, neutral."""
        return confusion_matrix(self.counted)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % of each score."""
        return intervals(self.counted)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return detail(self.counted)


def evaluate(
    model: Answering | Path | str,
    data: object,
    *,
    domain: str | None = None,
    batch_size: int = 32,
    on_answer: Callable[[int], None] | None = None,
) -> Evaluation:
    """Scores a model on labelled data.

    >>> found = evaluate(predictor, [("the screen is good", "screen", "positive"), ("bad soup", "soup", "negative")])
    >>> sum(map(sum, found.confusion))
    2

    Args:
        model: A predictor, or the folder of a store or an export.
        data: A file, a folder with a test file, or rows as `classic.data.to_examples` takes them.
        domain: As in `Predictor.predict`.
        batch_size: Examples computed at once.
        on_answer: Told after each answer how many there are.
    """
    predictor = model if isinstance(model, Answering) else open_predictor(model)
    examples = read_examples(scored_file(data)) if isinstance(data, str | Path) else to_examples(data)
    return Evaluation(count_answers(predictor, examples, domain, batch_size, on_answer))


def count_found(
    predictor: Answering, examples: Sequence[Example], domain: str | None = None, min_confidence: float = 0.5
) -> dict[str, Any]:
    """Exact match of what is found by itself: ``aspects``, and ``pairs`` of an aspect and its polarity.

    The truth is what the rows name. Rows may leave aspects out: then precision, and with it F1, is a lower bound.
    """
    true: dict[str, dict[tuple[int, int], Polarity | None]] = {}
    for example in examples:
        for span in spans_of(example):
            true.setdefault(example.sentence, {})[span] = example.polarity
    found = predictor.find(list(true), min_confidence=min_confidence, domain=domain)
    return {
        "aspects": exact_match(list(true.values()), [[(each.start, each.end) for each in one] for one in found]),
        "pairs": exact_match(
            [own.items() for own in true.values()],
            [[((each.start, each.end), each.prediction.polarity) for each in one] for one in found],
        ),
    }


def count_answers(
    predictor: Answering,
    examples: Sequence[Example],
    domain: str | None = None,
    batch_size: int = 32,
    on_answer: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Counts of (true, answered) pairs: all that is kept of a test."""
    if not examples:
        raise InputError("there are no examples to score", fix="give labelled data")
    said: list[int] = []
    for answer in predictor.stream(examples, domain=domain, batch_size=batch_size, window=8 * batch_size):
        said.append(answer.polarity.column)
        if on_answer:
            on_answer(len(said))
    return count(examples, said)
