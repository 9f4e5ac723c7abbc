"""The clause an aspect stands in: a sentence may praise one thing and curse the next."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

from classic.types import Example

_BETWEEN = re.compile(
    r"""  [,;:.!?…]+ (?=\s|$)            # not within 1.8 or 9:30
        | [，。；：！？、]
        | \s [-–—]+ (?=\s) | — | --+
        | \b (?: but | though | although | however | while | whereas | yet | except ) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def with_clauses(examples: Sequence[Example]) -> tuple[list[Example], list[int]]:
    """The examples, then the clauses of those that have one; and the rows of these, in the same order."""
    found = {row: clause for row, example in enumerate(examples) if (clause := clause_of(example)) is not None}
    return [*examples, *found.values()], list(found)


def clause_of(example: Example) -> Example | None:
    """The example with nothing but the clause of its aspect; None where that is the whole sentence, or says nothing.

    Clauses end at punctuation and at English words that turn a sentence round; in other languages punctuation has to do.
    """
    place = _place(example)
    if place is None:
        return None
    sentence, (start, end) = example.sentence, place
    left, right = 0, len(sentence)
    for found in _BETWEEN.finditer(sentence):
        if found.end() <= start:
            left = found.end()
        elif found.start() >= end:
            right = found.start()
            break
    says_something = _has_words(sentence[left:start] + sentence[end:right])
    if not says_something or not _has_words(sentence[:left] + sentence[right:]):
        return None
    clause = sentence[left:right]
    left += len(clause) - len(clause.lstrip())
    return dataclasses.replace(example, sentence=clause.strip(), span=(start - left, end - left))


def _place(example: Example) -> tuple[int, int] | None:
    """Where the aspect stands, if it is told or stands there once."""
    if example.span is not None:
        return example.span
    sentence, aspect = example.sentence.lower(), example.aspect.lower()
    start = sentence.find(aspect)
    if start < 0 or sentence.find(aspect, start + 1) >= 0 or len(sentence) != len(example.sentence):
        return None
    return start, start + len(aspect)


def _has_words(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def blend(whole: Sequence[float], clause: Sequence[float]) -> list[float]:
    """What sentence and clause say together, both probabilities of the same classes: p ~ sqrt(p_whole p_clause)."""
    both = [math.sqrt(a * b) for a, b in zip(whole, clause, strict=True)]
    total = sum(both)
    return [value / total for value in both] if total else list(whole)
