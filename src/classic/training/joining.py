"""Sentences joined for training: nothing but the aspect tells which half is meant, so the aspect must be looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from random import Random

from classic.types import Example

_LINKS = (". ", " but ", ", but ", ", and ", "; ", ", while ", " although ", " - ")
_ENDS = " \t\r\n.,;:!?"  # what a sentence loses at its end where another one follows
_LOOKED_AT = (
    8  # examples that are looked at as the other half; of the first two that fit, another polarity is preferred
)


def join_sentences(
    examples: Sequence[Example], share: float, draw: Random
) -> tuple[list[Example], list[tuple[int, int]]]:
    """The examples of an epoch, some joined two and two: the same text, asked once about each half.

    Every example keeps its aspect and its polarity. Neither half contains the other's aspect; one with another polarity is
    preferred. An example stays as it is, the very same object, where none fits, and where its aspect does not stand in
    its own sentence: nothing would tell which half is meant.

    Args:
        examples: What is learned.
        share: The probability that an example is joined.
        draw: Where all randomness comes from.

    Returns:
        One example for each, in order; and the rows that share a text.
    """
    texts = [example.sentence.casefold() for example in examples]
    aspects = [example.aspect.casefold() for example in examples]
    waiting = [row for row, text in enumerate(texts) if draw.random() < share and aspects[row] in text]
    draw.shuffle(waiting)
    joined, pairs = list(examples), []
    while waiting:
        row = waiting.pop()
        near = range(len(waiting) - 1, max(-1, len(waiting) - 1 - _LOOKED_AT), -1)
        fit = [at for at in near if aspects[row] not in texts[waiting[at]] and aspects[waiting[at]] not in texts[row]]
        if not fit:
            continue
        other = [at for at in fit[:2] if examples[waiting[at]].polarity is not examples[row].polarity]
        mate = waiting.pop((other or fit)[0])
        both = _side_by_side(examples[row], examples[mate], draw.choice(_LINKS))
        if both is not None:
            joined[row], joined[mate] = both
            pairs.append((row, mate))
    return joined, pairs


def _side_by_side(first: Example, second: Example, link: str) -> tuple[Example, Example] | None:
    """Both examples over one text; None where the end of the first is its aspect's, too."""
    before = first.sentence.rstrip(_ENDS)
    if first.aspect.casefold() not in before.casefold() or (first.span is not None and first.span[1] > len(before)):
        return None
    sentence, shift = before + link + second.sentence, len(before + link)
    span = None if second.span is None else (second.span[0] + shift, second.span[1] + shift)
    return dataclasses.replace(first, sentence=sentence), dataclasses.replace(second, sentence=sentence, span=span)
