"""Questions that nobody has labelled: the sentences of a task, asked about their other words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from random import Random

from classic.types import Example, Task

_WORD = re.compile(r"[^\W\d_]{3,}")


def other_words(task: Task, most: int, draw: Random) -> tuple[Example, ...]:
    """Questions about words of the training sentences that are no aspect there.

    Rows of a task ask about aspects that somebody has an opinion of. About other words of the same sentences nothing is said
    as a rule, so a model that knows "neutral" shows it there, also where no row is neutral.

    Args:
        task: What is to be learned.
        most: Questions for each training example.
        draw: Chooses the words.
    """
    aspects: dict[str, list[str]] = defaultdict(list)
    for example in task.train:
        aspects[example.sentence].append(example.aspect.casefold())
    return tuple(
        Example(example.sentence, example.sentence[start:end], None, (start, end))
        for example in task.train
        for start, end in _words(example.sentence, aspects[example.sentence], most, draw)
    )


def _words(sentence: str, aspects: Sequence[str], most: int, draw: Random) -> list[tuple[int, int]]:
    """Places of words that stand in a sentence once, and in none of its aspects."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for match in _WORD.finditer(sentence):
        found[match.group().casefold()].append(match.span())
    once = [spans[0] for word, spans in found.items() if len(spans) == 1 and not any(word in a for a in aspects)]
    return draw.sample(once, min(most, len(once)))
