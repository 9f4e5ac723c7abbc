"""The words of the product, one meaning each. Importing this module does not import torch.

Shape letters used everywhere: B examples in a batch, L tokens, d token width, D feature width, C classes, T tasks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch import Tensor

_HALF = re.compile("[\ud800-\udfff]")


class Polarity(StrEnum):
    """What a sentence says about an aspect. The order is the order of the logits."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"

    @property
    def column(self) -> int:
        """Column of the logits: positive 0, negative 1, neutral 2."""
        return POLARITIES.index(self)


POLARITIES: tuple[Polarity, ...] = (Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL)


class Scenario(StrEnum):
    """Whether a prediction is told the task (TIL: one head per task) or not (DIL: one shared head)."""

    DIL = "dil"
    TIL = "til"


class TaskId(StrEnum):
    """How the task of a test example is found: given, the last one learned, or the least uncertain one."""

    GIVEN = "given"
    LAST = "last"
    ENTROPY = "ent"


@dataclass(frozen=True, slots=True)
class Example:
    """One aspect in one sentence.

    Attributes:
        sentence: The sentence as it was read.
        aspect: The aspect term.
        polarity: What is said about the aspect; None when it is to be predicted.
        span: Character range of the aspect in the sentence, where the source tells it.
    """

    sentence: str
    aspect: str
    polarity: Polarity | None = None
    span: tuple[int, int] | None = None


def example_about(sentence: str, aspect: str | tuple[int, int]) -> Example:
    """An example to be predicted, from an aspect term or its span; refuses what cannot be meant.

    A term has no span, as in a row of a file: where it stands the model sees itself.

    >>> example_about("Soft bed, noisy lift.", (16, 20)).aspect
    'lift'
    """
    if isinstance(sentence, str) and isinstance(aspect, tuple):
        _refuse_halves(sentence, "sentence")
        span = _span_in(sentence, aspect)
        return Example(sentence, sentence[slice(*span)], None, span)
    _refuse_texts(sentence, aspect)
    return Example(sentence, aspect)


def checked(example: Example) -> Example:
    """An example that somebody made, its span as whole numbers; refuses what cannot be meant, as `example_about` does."""
    _refuse_texts(example.sentence, example.aspect)
    if example.span is None:
        return example
    span = _span_in(example.sentence, example.span)
    if example.sentence[slice(*span)].casefold() != example.aspect.casefold():
        raise InputError(
            f"characters {span[0]} to {span[1]} of the sentence are not the aspect",
            fix="count characters from 0, the end exclusive; or leave the span out",
        )
    return Example(example.sentence, example.aspect, example.polarity, span)


def as_span(value: object) -> tuple[int, int] | None:
    """A pair of whole numbers, be they Python's or numpy's, as a span; None if it is none."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return None
    start, end = value
    if (
        isinstance(start, bool)
        or isinstance(end, bool)
        or not isinstance(start, Integral)
        or not isinstance(end, Integral)
    ):
        return None
    return int(start), int(end)


def _span_in(sentence: str, given: object) -> tuple[int, int]:
    span = as_span(given)
    if span is None:
        raise InputError(f"{given!r} is no span", fix="give two whole numbers: (start, end)")
    _refuse_span(sentence, *span)
    return span


def _refuse_texts(sentence: object, aspect: object) -> None:
    if not isinstance(sentence, str) or not isinstance(aspect, str):
        wrong = aspect if isinstance(sentence, str) else sentence
        raise InputError(
            f"a value of type {type(wrong).__name__} is no {'aspect' if isinstance(sentence, str) else 'sentence'}",
            fix="give the sentence as text, and an aspect as text or as its span (start, end)",
        )
    if not aspect.strip() or not sentence.strip():
        raise InputError("an empty sentence or aspect cannot be judged", fix="give both")
    _refuse_halves(sentence, "sentence")
    _refuse_halves(aspect, "aspect")


def _refuse_span(sentence: str, start: int, end: int) -> None:
    if start >= end:
        wrong = "does not end behind its first character"
    elif start < 0 or end > len(sentence):
        wrong = f"lies outside the sentence of {len(sentence)} characters"
    elif not sentence[start:end].strip():
        wrong = "holds nothing but white space"
    else:
        return
    fix = "count characters from 0; the end is the first character after the aspect"
    raise InputError(f"span {start}:{end} {wrong}", fix=fix)


def _refuse_halves(text: str, name: str) -> None:
    if half := _HALF.search(text):
        raise InputError(
            f"half a surrogate pair (U+{ord(half[0]):04X}) in the {name}, at character {half.start()}",
            fix="give valid Unicode text; from a terminal it has to come as UTF-8",
        )


def without_halves(text: str) -> str:
    """A text that can be read and written: half a surrogate pair (an emoji that was cut in two) becomes U+FFFD.

    Every character keeps its place.
    """
    return _HALF.sub("\ufffd", text)


def places_of(sentence: str, aspect: str) -> list[tuple[int, int]]:
    """Wherever an aspect stands, in any case: as words of its own or, if it nowhere does, as parts of words.

    >>> places_of("The Bed is embedded.", "bed"), places_of("Bedding, embedded.", "bed")
    ([(4, 7)], [(0, 3), (11, 14)])
    """
    words = re.escape(aspect)
    for pattern in (rf"(?<!\w){words}(?!\w)", words):
        found = [match.span() for match in re.finditer(pattern, sentence, re.IGNORECASE)]
        if found:
            return found
    return []


def only_place(sentence: str, aspect: str) -> tuple[int, int] | None:
    """Where an aspect stands that occurs exactly once."""
    found = places_of(sentence, aspect)
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Task:
    """One domain to be learned. "Domain" is the users' word for it."""

    name: str
    train: tuple[Example, ...]
    valid: tuple[Example, ...] = ()
    test: tuple[Example, ...] = ()

    @property
    def classes(self) -> tuple[Polarity, ...]:
        """The polarities its training examples have, in logit order."""
        present = {example.polarity for example in self.train}
        return tuple(polarity for polarity in POLARITIES if polarity in present)


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples as tensors.

    Attributes:
        inputs: What the backbone's forward pass takes, by name; every tensor has B rows.
        labels: (B,) logit index of the true polarity, -1 where unknown.
        rows: (B,) position of each example in the data set the batch was drawn from.
        joined: (B,) bool; whose text is not the data set's but was joined with another one for this epoch; None is nobody.
    """

    inputs: dict[str, Tensor]
    labels: Tensor
    rows: Tensor
    joined: Tensor | None = None

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def to(self, device: object) -> Batch:
        """The same batch on another device."""
        moved = {name: value.to(device) for name, value in self.inputs.items()}  # type: ignore[call-overload]
        joined = None if self.joined is None else self.joined.to(device)  # type: ignore[call-overload]
        return Batch(moved, self.labels.to(device), self.rows.to(device), joined)  # type: ignore[call-overload]

    @property
    def as_read(self) -> Tensor:
        """Which examples (n,), counted within the batch, have the text of the data set."""
        import torch

        everyone = torch.arange(len(self), device=self.labels.device)
        return everyone if self.joined is None else everyone[~self.joined]


@dataclass(frozen=True, slots=True)
class Output:
    """What a model says about a batch: features (B, D) and logits (B, C)."""

    features: Tensor
    logits: Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """Where in the training of a task we are; all counters start at 0."""

    task: int
    epoch: int
    epochs: int
    batch: int
    batches: int

    @property
    def epoch_progress(self) -> float:
        """(b - 1) / (B - 1) of Eq. (5): 0 at the first batch of an epoch, 1 at its last."""
        return self.batch / (self.batches - 1) if self.batches > 1 else 1.0

    @property
    def task_progress(self) -> float:
        """The same over all epochs of the task."""
        last = self.epochs * self.batches - 1
        return (self.epoch * self.batches + self.batch) / last if last > 0 else 1.0


class _Shares(NamedTuple):
    positive: float
    negative: float
    neutral: float


class Probabilities(_Shares):
    """The probability of each polarity: a tuple in logit order whose parts also have names.

    >>> shares = Probabilities(0.7, 0.2, 0.1)
    >>> shares.positive, shares["negative"], shares[2]
    (0.7, 0.2, 0.1)
    >>> dict(shares)
    {'positive': 0.7, 'negative': 0.2, 'neutral': 0.1}
    """

    __slots__ = ()

    def keys(self) -> tuple[str, ...]:
        """The names, so that ``dict`` takes it."""
        return self._fields

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._fields:
                raise unknown_name("polarity", key, list(self._fields))
            key = self._fields.index(key)
        return super().__getitem__(key)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the predictor says about one aspect.

    Attributes:
        sentence: The sentence.
        aspect: The aspect term.
        span: Character range of the aspect, if it is known or the aspect occurs exactly once.
        polarity: The most probable polarity.
        probabilities: Calibrated probability of each polarity: ``answer.probabilities.positive`` or ``["positive"]``.
        nearest_domain: The learned domain the sentence resembles most.
        unfamiliar: Whether the sentence is unlike everything that was learned.
        truncated: Whether the sentence was too long and only its beginning was read.
    """

    sentence: str
    aspect: str
    span: tuple[int, int] | None
    polarity: Polarity
    probabilities: Probabilities
    nearest_domain: str
    unfamiliar: bool
    truncated: bool = False
    version: int = field(default=0)

    @property
    def aspect_found(self) -> bool:
        """Whether the aspect occurs in the sentence; an answer about one that does not is a guess."""
        return self.span is not None or self.aspect.casefold() in self.sentence.casefold()

    def to_dict(self) -> dict[str, Any]:
        """Everything under one name each, as a line of JSONL has it: ``DataFrame(answer.to_dict() for answer in answers)``.

        >>> Prediction("Soft bed.", "bed", (5, 8), Polarity.POSITIVE, Probabilities(0.9, 0.1, 0.0), "hotel", False).to_dict()
        ... # doctest: +NORMALIZE_WHITESPACE
        {'sentence': 'Soft bed.', 'aspect': 'bed', 'span': [5, 8], 'polarity': 'positive', 'positive': 0.9,
         'negative': 0.1, 'neutral': 0.0, 'nearest_domain': 'hotel', 'unfamiliar': False, 'aspect_found': True,
         'truncated': False, 'version': 0}
        """
        return {
            "sentence": self.sentence,
            "aspect": self.aspect,
            "span": list(self.span) if self.span else None,
            "polarity": str(self.polarity),
            **dict(self.probabilities),
            "nearest_domain": self.nearest_domain,
            "unfamiliar": self.unfamiliar,
            "aspect_found": self.aspect_found,
            "truncated": self.truncated,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """An aspect that was found in a text, and what the text says about it.

    Attributes:
        aspect: The aspect as it stands in the text; what HTML writes as ``&amp;`` is read as ``&``.
        start: Its first character, counted in the whole text that was given.
        end: The first character after it.
        confidence: How probable it is that this is an aspect, 0 to 1.
        prediction: What its sentence says about it; `Prediction.sentence` is that sentence, not the whole text.
    """

    aspect: str
    start: int
    end: int
    confidence: float
    prediction: Prediction

    def to_dict(self) -> dict[str, Any]:
        """Everything under one name each, as a line of JSONL has it; the span counts in the whole text."""
        values = self.prediction.to_dict()
        del values["aspect_found"]  # it was
        return values | {"aspect": self.aspect, "span": [self.start, self.end], "confidence": self.confidence}
