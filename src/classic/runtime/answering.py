"""What every predictor does, whichever engine computes: aspects to examples, streams to windows, numbers to answers."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from classic.data.memory import is_missing, is_table, iter_examples, to_examples
from classic.errors import InputError
from classic.runtime.explaining import Word, left_out, words_of
from classic.runtime.sentences import Mark, sentences_of, unescaped
from classic.types import (
    POLARITIES,
    Example,
    Found,
    Polarity,
    Prediction,
    Probabilities,
    as_span,
    example_about,
    only_place,
    without_halves,
)

WINDOW = 1024
"""Examples read ahead and sorted by length; bounds the memory of a stream."""


class Answering(ABC):
    """Answers about sentences and their aspects.

    Attributes:
        version: The number of the store's version that answers.
    """

    version: int

    @property
    @abstractmethod
    def domains(self) -> list[str]:
        """The domains it has learned, in order."""

    @abstractmethod
    def check_domain(self, domain: str | None) -> None:
        """Refuses a domain it cannot answer for, or the lack of one where it must be told."""

    @abstractmethod
    def answer(self, examples: list[Example], domain: str | None, batch_size: int) -> list[Prediction]:
        """The answers to some examples as they stand, in their order, for a domain that was checked."""

    @property
    def finds(self) -> bool:
        """Whether it can find aspects by itself."""
        return False

    def mark(self, sentences: list[str], min_confidence: float) -> list[list[Mark]]:
        """Where the aspects of some sentences are, each sentence's from left to right."""
        raise InputError(
            "this store has no finder: it was taught without one, or before there was one",
            fix="name the aspects; a store that is made anew with `classic learn` finds them itself",
        )

    def find(
        self,
        texts: Iterable[str],
        *,
        min_confidence: float = 0.5,
        domain: str | None = None,
        batch_size: int = 32,
    ) -> list[list[Found]]:
        """The aspects of whole reviews, and what is said about each: one list per text, in the order of the text.

        Example:
            for found in predictor.find(["The zoom is superb. I hate the menu."])[0]:
                print(found.aspect, found.prediction.polarity)

        Args:
            texts: Texts of any number of sentences: a list, or a column of a DataFrame. What is missing has no aspects.
            min_confidence: Aspects that are less certain are left out, 0 to 1.
            domain: As in `predict`.
            batch_size: Sentences computed at once.
        """
        texts = _texts(texts)
        if not 0 <= min_confidence <= 1:
            raise InputError(f"a confidence of {min_confidence}", fix="give a number from 0 to 1")
        self.check_domain(domain)
        cut = [(row, start, sentence) for row, text in enumerate(texts) for start, sentence in sentences_of(text)]
        pieces = [(row, start, *unescaped(sentence)) for row, start, sentence in cut]
        marked = self.mark([sentence for _, _, sentence, _ in pieces], min_confidence)
        places = [(piece, mark) for piece, marks in zip(pieces, marked, strict=True) for mark in marks]
        asked = [
            Example(sentence, sentence[mark.start : mark.end], None, (mark.start, mark.end))
            for (_, _, sentence, _), mark in places
        ]
        found: list[list[Found]] = [[] for _ in texts]
        answers = self.stream(asked, domain=domain, batch_size=batch_size)
        for ((row, offset, _, at), mark), answer in zip(places, answers, strict=True):
            start, end = offset + at[mark.start], offset + at[mark.end]
            found[row].append(Found(answer.aspect, start, end, mark.confidence, answer))
        return found

    def predict(
        self,
        sentence: object,
        aspects: str | tuple[int, int] | Sequence[str | tuple[int, int]] | None = None,
        *,
        domain: str | None = None,
        batch_size: int = 32,
    ) -> list[Prediction]:
        """One prediction per aspect, of one sentence or of many rows.

        >>> predictor.predict("the screen is good and the soup is bad", "screen")[0].aspect
        'screen'
        >>> rows = [("the screen is good", "screen"), {"sentence": "the soup is bad", "aspect": "soup"}]
        >>> [answer.aspect for answer in predictor.predict(rows)]
        ['screen', 'soup']

        Args:
            sentence: A sentence; or, without aspects, rows of sentences and aspects: tuples, dicts, a DataFrame, a Dataset
                (see `classic.data.iter_examples`).
            aspects: One aspect term or several, or character spans (start, end) of them in the sentence.
            domain: The domain, in a store that learns task-incrementally; not needed otherwise.
            batch_size: Examples computed at once.
        """
        if not isinstance(sentence, str):
            if aspects is not None and (isinstance(sentence, bytes) or not isinstance(sentence, Iterable)):
                raise InputError(f"a value of type {type(sentence).__name__} is no sentence", fix="give it as text")
            if aspects is not None:
                raise InputError("aspects beside rows", fix="put the aspect into each row: (sentence, aspect)")
            self.check_domain(domain)
            examples = to_examples(sentence, labelled=False)  # all bad rows are told, before anything is computed
            return list(self.stream(examples, domain=domain, batch_size=batch_size))
        if aspects is None:
            raise InputError(
                "no aspect given",
                fix='say which is meant: predict(sentence, "battery"); or find them: find([sentence])',
            )
        one = isinstance(aspects, str) or _is_span(aspects) or not isinstance(aspects, Iterable)
        examples = [example_about(sentence, aspect) for aspect in ([aspects] if one else aspects)]  # type: ignore[arg-type]
        return list(self.stream(examples, domain=domain, batch_size=batch_size))

    def explain(
        self, sentence: str, aspect: str | tuple[int, int], *, domain: str | None = None, batch_size: int = 32
    ) -> tuple[Prediction, list[Word]]:
        """An answer, and how much each word spoke for it. Every word costs one more question.

        >>> answer, words = predictor.explain("the screen is good", "screen")
        >>> [word.text for word in words]
        ['the', 'screen', 'is', 'good']

        Args:
            sentence: The sentence; of a long one, the first 128 words are looked at.
            aspect: The aspect, or its span.
            domain: As in `predict`.
            batch_size: Examples computed at once.
        """
        example = example_about(sentence, aspect)
        answer, *others = self.stream([example, *left_out(example)], domain=domain, batch_size=batch_size)
        share = answer.probabilities[answer.polarity.column]
        places = zip(words_of(sentence), others, strict=True)
        return answer, [
            Word(sentence[start:end], start, end, share - other.probabilities[answer.polarity.column])
            for (start, end), other in places
        ]

    def stream(
        self,
        examples: object,
        *,
        domain: str | None = None,
        batch_size: int = 32,
        window: int = WINDOW,
    ) -> Iterator[Prediction]:
        """Predictions in the order of the examples.

        Args:
            examples: What is asked, as in `predict`; read a window ahead, so memory stays flat on any file.
            domain: As in `predict`.
            batch_size: Examples computed at once.
            window: How many examples are read before the first is answered; more of them are sorted better by length.
        """
        if batch_size < 1 or window < 1:
            raise InputError(f"a batch of {batch_size} in a window of {window} examples", fix="give at least 1 of each")
        self.check_domain(domain)
        waiting = iter_examples(examples, labelled=False)
        while ahead := list(itertools.islice(waiting, window)):
            yield from self.answer(ahead, domain, batch_size)


def as_prediction(
    example: Example, shares: Sequence[float], nearest: str, unfamiliar: bool, truncated: bool, version: int
) -> Prediction:
    """A prediction from the probabilities of the polarities."""
    return Prediction(
        sentence=example.sentence,
        aspect=example.aspect,
        span=example.span or only_place(example.sentence, example.aspect),
        polarity=_likeliest(shares),
        probabilities=Probabilities(*shares),
        nearest_domain=nearest,
        unfamiliar=unfamiliar,
        truncated=truncated,
        version=version,
    )


def _texts(texts: object) -> list[str]:
    """Texts in any iterable; one that is missing, as in a column of a DataFrame, is empty."""
    found: list[str] = []
    if is_table(texts):  # its parts are the names of its columns
        kind = type(texts).__name__
        raise InputError(f"the texts are no list of strings but a {kind}", fix='give one column: find(frame["text"])')
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError("the texts are no list of strings", fix='give a list: find(["The zoom is superb."])')
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str) and not is_missing(text):
            raise InputError(
                f"the texts are no list of strings: number {number} is of type {type(text).__name__}",
                fix='give a list: find(["The zoom is superb."]); of a DataFrame, one column: find(frame["text"])',
            )
        found.append(without_halves(text) if isinstance(text, str) else "")
    return found


def _is_span(aspects: object) -> bool:
    return isinstance(aspects, tuple) and as_span(aspects) is not None


def _likeliest(shares: Sequence[float]) -> Polarity:
    return POLARITIES[max(range(len(POLARITIES)), key=lambda column: shares[column])]


def unknown_domain(domain: str, known: list[str]) -> InputError:
    """The error for a domain that was never learned."""
    return InputError(f"this store has not learned a domain {domain!r}", fix=f"it knows {', '.join(known)}")
