"""A learner put to a test: examples in, counts of (true, answered) pairs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from classic.evaluation.answers import answer
from classic.evaluation.scores import count, in_order
from classic.learning.learner import Learner
from classic.types import Example, TaskId


def confusion(
    learner: Learner,
    name: str,
    examples: Sequence[Example],
    rule: TaskId | None = None,
    *,
    ordered: bool = False,
) -> dict[str, Any]:
    """Counts of (true, answered) pairs: all that is kept of a test, and enough for every score.

    Args:
        learner: The model that answers.
        name: The domain of the examples.
        examples: The questions.
        rule: How the task is found; the system's own rule if none is given.
        ordered: Whether to tell every answer by itself, too, for paired tests: `in_order`.
    """
    index = learner.domains.index(name) if name in learner.domains else None
    answered = answer(learner.method, examples, rule or learner.config.task_id, index).argmax(dim=1).tolist()
    return count(examples, answered) | (in_order(examples, answered) if ordered else {})
