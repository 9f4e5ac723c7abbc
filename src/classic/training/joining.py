"""Sentences joined for training: nothing but the aspect tells which half is meant, so the aspect must be looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from random import Random

from classic.types import Example

_LINKS = (". ", " but ", ", but ", ", and ", "; ", ", while ", " although ", " - ")
_ENDS = " \t\r\n.,;:!?"  # what a sentence loses at its end where another one follows
_DRAWS = 4  # sentences drawn as the other half; of the first two that fit, one with another polarity is preferred


def join_sentences(examples: Sequence[Example], share: float, draw: Random) -> list[Example]:
    """The examples of an epoch: some side by side with the sentence of another one, in either order.

    The aspect asked about and its polarity stay, and the other sentence does not contain the aspect. It is drawn once more
    where its polarity is the same. An example stays as it is, the very same object, where no drawn sentence fits, and where
    its aspect does not stand in its own sentence: nothing would tell which half is meant.

    Args:
        examples: What is learned; one comes back for each, in order.
        share: The probability that an example is joined.
        draw: Where all randomness comes from.
    """
    return [_joined(example, examples, draw) if draw.random() < share else example for example in examples]


def _joined(example: Example, examples: Sequence[Example], draw: Random) -> Example:
    aspect = example.aspect.casefold()
    drawn = [draw.choice(examples) for _ in range(_DRAWS)]
    link, is_first = draw.choice(_LINKS), draw.random() < 0.5
    fit = [other for other in drawn if aspect not in other.sentence.casefold()][:2]
    if not fit:
        return example
    other = next((one for one in fit if one.polarity is not example.polarity), fit[0])
    if is_first:
        own, shift = example.sentence.rstrip(_ENDS), 0
        sentence = own + link + other.sentence.lstrip()
    else:
        own, before = example.sentence, other.sentence.rstrip(_ENDS) + link
        sentence, shift = before + own, len(before)
    span = None if example.span is None else (example.span[0] + shift, example.span[1] + shift)
    if aspect not in own.casefold() or (span is not None and span[1] - shift > len(own)):
        return example
    return dataclasses.replace(example, sentence=sentence, span=span)
