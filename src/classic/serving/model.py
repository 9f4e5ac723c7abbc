"""The model that answers, and how it is exchanged under load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from classic.errors import InputError
from classic.prediction.predictor import Predictor
from classic.runtime.explaining import left_out, words_of
from classic.runtime.sentences import sentences_of
from classic.serving.batcher import BatchLimits, MicroBatcher
from classic.serving.problems import ApiError, detail, invalid
from classic.serving.requests import MOST_SENTENCES
from classic.serving.telemetry import Telemetry
from classic.store.store import Store
from classic.types import Example, Found, Prediction, Scenario, example_about

_MOST_WORK = 4096  # words times tokens: some sixty words; what costs more to explain is not explained
_FRESH = 1.0  # seconds for which a forward pass says that the model answers
_CHUNK = 8  # a batch is computed in pieces of like length: on a CPU padding costs more than small pieces do
_FINDING = 3  # times the cost of reading a sentence: it is searched, and its aspects are judged
_LONG_TEXT = 20_000  # characters beyond which counting tokens would hold up the loop


@dataclass(frozen=True, slots=True)
class Question:
    """One aspect in one sentence, and the domain if the store must be told it."""

    example: Example
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """One sentence whose aspects are to be found and judged."""

    sentence: str
    min_confidence: float
    domain: str | None = None


Asked = Question | Search
Answer = Prediction | list[Found]


class Live:
    """The predictor in use, behind the micro-batcher.

    A request holds on to the predictor it began with, so an exchange never touches it.
    """

    def __init__(self, limits: BatchLimits, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self.batcher: MicroBatcher[Predictor, Asked, Answer] = MicroBatcher(_compute, limits, telemetry)
        self.predictor: Predictor | None = None
        self._probe: tuple[float, asyncio.Task[int]] | None = None

    @property
    def version(self) -> int:
        """Number of the version that answers; 0 if nothing is learned."""
        return self.predictor.version if self.predictor else 0

    def exchange(self, predictor: Predictor | None) -> None:
        """Makes another version answer, from the next request on."""
        self.predictor = predictor
        self._telemetry.version.set(self.version)
        self._telemetry.moves.inc()

    def get(self) -> Predictor:
        """The predictor in use."""
        if self.predictor is None:
            raise ApiError(409, "untaught", "this store has not learned any domain yet", fix="teach it one")
        return self.predictor

    async def ask(self, predictor: Predictor, questions: Sequence[Question], seconds: float) -> list[Prediction]:
        """Predictions in the order of the questions."""
        tokens = await self._lengths(predictor, [question.example for question in questions])
        answers = await self.batcher.ask(predictor, questions, tokens, seconds)
        return cast("list[Prediction]", answers)

    async def find(
        self, predictor: Predictor, texts: Sequence[str], min_confidence: float, domain: str | None, seconds: float
    ) -> list[list[Found]]:
        """The aspects of whole texts, judged. Sentences wait one by one: other people's questions come in between."""
        found: list[list[Found]] = [[] for _ in texts]
        long = sum(map(len, texts)) > _LONG_TEXT
        pieces = await asyncio.to_thread(_sentences, texts) if long else _sentences(texts)
        if len(pieces) > MOST_SENTENCES:
            raise invalid(f"{len(pieces)} sentences in one request", fix=f"send at most {MOST_SENTENCES} at once")
        if not pieces:
            return found
        tokens = await self._lengths(predictor, [Example(sentence, "") for _, _, sentence in pieces])
        searches = [Search(sentence, min_confidence, domain) for _, _, sentence in pieces]
        cost = [_FINDING * length for length in tokens]
        answers = cast("list[list[Found]]", await self.batcher.ask(predictor, searches, cost, seconds))
        for (row, offset, _), aspects in zip(pieces, answers, strict=True):
            found[row] += [replace(each, start=each.start + offset, end=each.end + offset) for each in aspects]
        return found

    async def _lengths(self, predictor: Predictor, examples: Sequence[Example]) -> Sequence[int]:
        lengths = predictor.learner.method.model.backbone.lengths
        if sum(len(example.sentence) + len(example.aspect) for example in examples) > _LONG_TEXT:
            return await asyncio.to_thread(lengths, examples)
        return lengths(examples)

    async def probe(self, seconds: float) -> int:
        """A real forward pass not older than a second, shared by all who ask; returns the version that made it."""
        predictor, now = self.get(), asyncio.get_running_loop().time()
        began, task = self._probe or (now, None)
        if task is not None and task.done():
            failed = task.cancelled() or task.exception() is not None or task.result() != predictor.version
            task = None if failed or now - began >= _FRESH else task
        if task is None:
            task = asyncio.create_task(self._pass(predictor, seconds))
            self._probe = now, task
        return await asyncio.shield(task)

    async def _pass(self, predictor: Predictor, seconds: float) -> int:
        (answer,) = await self.ask(predictor, [_probe(predictor)], seconds)
        return answer.version

    async def explain(
        self, predictor: Predictor, question: Question, said: Prediction, seconds: float
    ) -> list[tuple[int, int, float]] | None:
        """How much each word (start, end) spoke for the answer: what its probability loses without the word.

        A word is taken out at a time and the rest is asked, so any backbone can be explained. It costs as many passes as
        there are words; a text for which that is too much is not explained. The passes are asked a few at a time:
        other people's questions come in between, and nothing is computed for somebody who has gone.

        Returns:
            One entry per word, or None for a text that is too long.
        """
        sentence = question.example.sentence
        (tokens,) = await self._lengths(predictor, [question.example])
        words = words_of(sentence)
        if len(words) * tokens > _MOST_WORK:
            return None
        until, column = time.monotonic() + seconds, said.polarity.column
        without = [Question(each, question.domain) for each in left_out(question.example)]
        found: list[tuple[int, int, float]] = []
        for start in range(0, len(words), _CHUNK):
            answers = await self.ask(predictor, without[start : start + _CHUNK], until - time.monotonic())
            lost = [said.probabilities[column] - answer.probabilities[column] for answer in answers]
            found += [(*word, weight) for word, weight in zip(words[start : start + _CHUNK], lost, strict=True)]
        return found


def load_predictor(store: Store, number: int) -> Predictor | None:
    """The model of a version, every file checked, and warm; None for a version that has learned nothing."""
    if not store.chain(number):
        return None
    predictor = Predictor.open(store, number)
    _compute(predictor, [_probe(predictor)])  # what is made at the first question is made before anybody asks one
    return predictor


def _probe(predictor: Predictor) -> Question:
    til = predictor.learner.config.scenario is Scenario.TIL
    return Question(Example("The probe is fine.", "probe"), predictor.domains[0] if til else None)


def as_question(sentence: str, aspect: str | tuple[int, int], domain: str | None, where: str) -> Question:
    """Checks what was asked; `where` is for the error."""
    try:
        return Question(example_about(sentence, aspect), domain)
    except InputError as error:
        raise invalid("an aspect cannot be judged", fix=error.fix, details=[detail(error.what, where=where)]) from None


def _sentences(texts: Sequence[str]) -> list[tuple[int, int, str]]:
    """(text, place in it, sentence) of all sentences."""
    return [(row, start, sentence) for row, text in enumerate(texts) for start, sentence in sentences_of(text)]


def _compute(predictor: Predictor, asked: Sequence[Asked]) -> list[Answer]:
    """In the thread that computes: what can be answered together is."""
    answers: dict[int, Answer] = {}
    together: dict[tuple[str | None, float | None], list[int]] = {}
    for place, each in enumerate(asked):
        together.setdefault((each.domain, each.min_confidence if isinstance(each, Search) else None), []).append(place)
    for (domain, least), places in together.items():
        found: Iterable[Answer]
        if least is None:
            examples = [each.example for place in places if isinstance(each := asked[place], Question)]
            found = predictor.stream(examples, domain=domain, batch_size=_CHUNK)
        else:
            texts = [each.sentence for place in places if isinstance(each := asked[place], Search)]
            found = predictor.find(texts, min_confidence=least, domain=domain, batch_size=_CHUNK)
        answers |= dict(zip(places, found, strict=True))
    return [answers[place] for place in range(len(asked))]
