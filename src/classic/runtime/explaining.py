"""Which words spoke for an answer: what its probability loses when a word is left out. Any predictor can be asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from classic.types import Example

MOST_WORDS = 128
"""Words of a sentence that are looked at; every one of them is one more question."""

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence and how much it spoke for the answer.

    Attributes:
        text: The word.
        start: Its first character in the sentence.
        end: The first character behind it.
        weight: What the probability of the answer loses without the word; below 0 it spoke against the answer.
    """

    text: str
    start: int
    end: int
    weight: float


def words_of(sentence: str) -> list[tuple[int, int]]:
    """The places of the first words.

    >>> words_of("Don't ask.")
    [(0, 5), (6, 9)]
    """
    return [found.span() for found in _WORD.finditer(sentence)][:MOST_WORDS]


def without(example: Example, words: Sequence[tuple[int, int]], present: Sequence[float]) -> Example:
    """The example without the words whose entry is 0; a known span moves along."""
    kept, at, moved = [], 0, 0
    start = example.span[0] if example.span else 0
    for (left, right), there in zip(words, present, strict=True):
        if there:
            continue
        kept.append(example.sentence[at:left])
        at = right
        if right <= start:
            moved += right - left
    sentence = "".join([*kept, example.sentence[at:]])
    if not sentence.strip():
        return Example(".", example.aspect)
    span = (start - moved, start - moved + len(example.aspect)) if example.span else None
    if span and sentence[span[0] : span[1]] != example.aspect:  # a word of the aspect itself is out
        span = None
    return Example(sentence, example.aspect, None, span)


def left_out(example: Example) -> list[Example]:
    """The example without each of its words, one at a time."""
    words = words_of(example.sentence)
    return [without(example, words, [place != row for place in range(len(words))]) for row in range(len(words))]
