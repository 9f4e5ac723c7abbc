"""The micro-batcher: requests that wait at the same time are computed together, under a token budget.

There is no artificial delay: while one batch is computed the next one gathers. The queue is bounded in tokens and in
time, so whoever is let in is answered, and whoever is not learns it at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from classic.serving.problems import overloaded
from classic.serving.telemetry import Telemetry

Model = TypeVar("Model")
Question = TypeVar("Question")
Answer = TypeVar("Answer")

_SMOOTHING = 0.2  # of the measured speed
_SHARE_OF_DEADLINE = 0.8  # what is expected to take longer is not let in
_LONGEST_WAIT = 4.0  # seconds of work in the queue; more would only make everybody late


@dataclass(frozen=True)
class BatchLimits:
    """How much is computed at once and how much may wait.

    Attributes:
        batch_tokens: Padded tokens of a batch: its longest text times its size.
        waiting_tokens: Tokens in the queue.
        together: Whether texts of several requests may share a batch; False is for measuring what that is worth.
    """

    batch_tokens: int = 1024
    waiting_tokens: int = 16384
    together: bool = True


class _Request(Generic[Model, Question, Answer]):
    """Questions that came together, and who waits for the answers."""

    def __init__(self, model: Model, questions: Sequence[Question], future: asyncio.Future[list[Answer]]) -> None:
        self.model, self.questions, self.future = model, questions, future
        self.answers: dict[int, Answer] = {}

    def settle(self, place: int, answer: Answer | BaseException) -> None:
        if self.future.done():
            return
        if isinstance(answer, BaseException):
            self.future.set_exception(ComputeError(answer))
            return
        self.answers[place] = answer
        if len(self.answers) == len(self.questions):
            self.future.set_result([self.answers[at] for at in range(len(self.questions))])


class ComputeError(Exception):
    """The model could not answer; the cause is what it raised, which may be no `Exception`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class _Item(Generic[Model, Question, Answer]):
    request: _Request[Model, Question, Answer]
    place: int
    tokens: int

    @property
    def question(self) -> Question:
        return self.request.questions[self.place]


class MicroBatcher(Generic[Model, Question, Answer]):
    """A queue before one thread that computes.

    Args:
        compute: Answers questions with a model; runs in the thread.
        limits: How much at once.
        telemetry: Where to count.
    """

    def __init__(
        self,
        compute: Callable[[Model, Sequence[Question]], Sequence[Answer]],
        limits: BatchLimits,
        telemetry: Telemetry,
    ) -> None:
        self._compute, self.limits, self._telemetry = compute, limits, telemetry
        self._items: deque[_Item[Model, Question, Answer]] = deque()
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="predict")
        self._pump: asyncio.Task[None] | None = None
        self.waiting = 0
        self.speed = 0.0  # tokens a second, smoothed

    def start(self) -> None:
        """Begins to answer."""
        self._pump = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Answers what waits, then ends."""
        while self._items:
            await asyncio.sleep(0.01)
        if self._pump:
            self._pump.cancel()
        await asyncio.to_thread(self._thread.shutdown)

    def admit(self, tokens: int = 0) -> None:
        """Refuses what would have to wait too long; whoever comes when nothing waits is let in.

        Raises:
            ApiError: 429.
        """
        full = self.waiting + tokens > self.limits.waiting_tokens
        if self.waiting and (full or self._seconds(self.waiting + tokens) > _LONGEST_WAIT):
            raise overloaded(self._seconds(self.waiting))

    def _seconds(self, tokens: int) -> float:
        """How long so many tokens take, by what was measured; 0 before anything was."""
        return tokens / self.speed if self.speed else 0.0

    async def ask(
        self, model: Model, questions: Sequence[Question], tokens: Sequence[int], seconds: float
    ) -> list[Answer]:
        """Answers in the order of the questions, all by this model.

        A caller that is cancelled, or waits longer than its deadline, leaves nothing behind that is still computed.

        Raises:
            ApiError: 429, if too much waits already.
            TimeoutError: If it took longer than `seconds`.
            ComputeError: If the model failed.
        """
        cost = sum(tokens)
        self.admit(cost)
        if self._seconds(self.waiting + cost) > _SHARE_OF_DEADLINE * seconds:
            raise overloaded(self._seconds(self.waiting))
        future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        request = _Request(model, questions, future)
        self._items.extend(_Item(request, place, size) for place, size in enumerate(tokens))
        self._count(cost)
        self._arrived.set()
        return await asyncio.wait_for(future, seconds)  # cancels the future when it gives up

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = self._take()
            if not batch:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            began = loop.time()
            answers = await loop.run_in_executor(self._thread, self._answer, batch)
            rate = sum(item.tokens for item in batch) / max(loop.time() - began, 1e-6)
            self.speed = rate if not self.speed else (1 - _SMOOTHING) * self.speed + _SMOOTHING * rate
            for item, answer in zip(batch, answers, strict=True):
                item.request.settle(item.place, answer)

    def _take(self) -> list[_Item[Model, Question, Answer]]:
        """The next batch: first come, first served, one model, within the budget; what nobody waits for is dropped."""
        batch: list[_Item[Model, Question, Answer]] = []
        longest = 0
        while self._items:
            item = self._items[0]
            if item.request.future.done():
                self._drop()
                continue
            longest = max(longest, item.tokens)
            if batch:
                first = batch[0].request
                alone = not self.limits.together and item.request is not first
                over = longest * (len(batch) + 1) > self.limits.batch_tokens
                if alone or over or item.request.model is not first.model:
                    break
            batch.append(self._items.popleft())
            self._count(-item.tokens)
        return batch

    def _drop(self) -> None:
        self._count(-self._items.popleft().tokens)
        self._telemetry.dropped.inc()

    def _count(self, tokens: int) -> None:
        self.waiting += tokens
        self._telemetry.waiting.set(self.waiting)

    def _answer(self, batch: list[_Item[Model, Question, Answer]]) -> Sequence[Answer | BaseException]:
        """In the thread. A text that breaks the model breaks its own request only."""
        model = batch[0].request.model
        self._telemetry.batches.inc()
        try:
            answers = self._compute(model, [item.question for item in batch])
            self._telemetry.predictions.inc(len(batch))
            return answers
        except BaseException as error:  # a panic of the tokenizer is no Exception
            if len(batch) == 1:
                return [error]
        return [answer for item in batch for answer in self._answer([item])]
