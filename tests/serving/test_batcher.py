"""The micro-batcher: bounded, fair, and nothing computed that nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import pytest

from classic.serving.batcher import BatchLimits, ComputeError, MicroBatcher
from classic.serving.problems import ApiError
from classic.serving.telemetry import Telemetry

Batcher = MicroBatcher[str, int, str]


class Worker:
    """Computes when it is let; remembers what it was given."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.gate = threading.Event()
        self.begun = threading.Event()

    def __call__(self, model: str, questions: Sequence[int]) -> list[str]:
        self.batches.append((model, list(questions)))
        self.begun.set()
        assert self.gate.wait(30)
        if -1 in questions:
            raise KeyboardInterrupt("a panic is no Exception")
        return [f"{model}{question}" for question in questions]


def run(body: Callable[[Batcher, Worker], Awaitable[None]], limits: BatchLimits) -> Worker:
    worker = Worker()

    async def main() -> None:
        batcher: Batcher = MicroBatcher(worker, limits, Telemetry())
        batcher.start()
        try:
            await body(batcher, worker)
        finally:
            worker.gate.set()
            await batcher.stop()

    asyncio.run(main())
    return worker


async def busy(batcher: Batcher, worker: Worker) -> asyncio.Task[list[str]]:
    """Lets a first question occupy the thread, so that what follows must wait."""
    first = asyncio.create_task(batcher.ask("a", [0], [10], 30))
    await asyncio.to_thread(worker.begun.wait, 30)
    return first


def test_what_waits_together_is_computed_together_and_everybody_gets_their_own() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        others = [asyncio.create_task(batcher.ask("a", [n, n + 100], [10, 10], 30)) for n in range(1, 4)]
        await asyncio.sleep(0)
        worker.gate.set()
        assert await first == ["a0"]
        assert await asyncio.gather(*others) == [[f"a{n}", f"a{n + 100}"] for n in range(1, 4)]

    worker = run(body, BatchLimits(batch_tokens=100))
    assert [len(questions) for _, questions in worker.batches] == [1, 6]


def test_a_batch_keeps_to_its_budget_of_padded_tokens() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        rest = asyncio.create_task(batcher.ask("a", [1, 2, 3, 4], [10, 10, 40, 10], 30))
        await asyncio.sleep(0)
        worker.gate.set()
        await asyncio.gather(first, rest)

    worker = run(body, BatchLimits(batch_tokens=80))
    # 10 + 10 fit, three times 40 do not; the 40 takes one more beside it.
    assert [questions for _, questions in worker.batches[1:]] == [[1, 2], [3, 4]]


def test_a_text_over_the_budget_is_computed_alone_rather_than_never() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        worker.gate.set()
        assert await batcher.ask("a", [7], [1000], 30) == ["a7"]

    run(body, BatchLimits(batch_tokens=80))


def test_a_batch_has_one_model() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        tasks = [asyncio.create_task(batcher.ask(model, [1], [10], 30)) for model in ("a", "b", "b")]
        await asyncio.sleep(0)
        worker.gate.set()
        await first
        assert await asyncio.gather(*tasks) == [["a1"], ["b1"], ["b1"]]

    worker = run(body, BatchLimits())
    assert [model for model, _ in worker.batches] == ["a", "a", "b"]


def test_without_batching_requests_are_computed_one_by_one() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        tasks = [asyncio.create_task(batcher.ask("a", [n, n], [10, 10], 30)) for n in (1, 2)]
        await asyncio.sleep(0)
        worker.gate.set()
        await asyncio.gather(first, *tasks)

    worker = run(body, BatchLimits(together=False))
    assert [questions for _, questions in worker.batches] == [[0], [1, 1], [2, 2]]


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        second = asyncio.create_task(batcher.ask("a", [1], [90], 30))
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await batcher.ask("a", [2], [20], 30)
        assert refused.value.status == 429 and int(refused.value.headers["Retry-After"]) >= 1
        worker.gate.set()
        assert await asyncio.gather(first, second) == [["a0"], ["a1"]]  # who was let in is answered
        assert batcher.waiting == 0

    worker = run(body, BatchLimits(waiting_tokens=100))
    assert [2] not in [questions for _, questions in worker.batches]


def test_what_cannot_be_done_in_time_is_not_let_in() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        worker.gate.set()
        await batcher.ask("a", [0], [10], 30)
        batcher.speed = 100.0
        with pytest.raises(ApiError):
            await batcher.ask("a", [1], [101], 1.0)

    run(body, BatchLimits())


def test_after_its_deadline_a_question_is_not_computed_any_more() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        with pytest.raises(TimeoutError):
            await batcher.ask("a", [1], [10], 0.05)
        worker.gate.set()
        await first
        assert await batcher.ask("a", [2], [10], 30) == ["a2"]
        assert batcher.waiting == 0

    worker = run(body, BatchLimits())
    assert [questions for _, questions in worker.batches] == [[0], [2]]


def test_a_cancelled_request_is_not_computed() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        gone = asyncio.create_task(batcher.ask("a", [1, 2, 3], [10, 10, 10], 30))
        stays = asyncio.create_task(batcher.ask("a", [4], [10], 30))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        worker.gate.set()
        assert await asyncio.gather(first, stays) == [["a0"], ["a4"]]

    worker = run(body, BatchLimits())
    assert [questions for _, questions in worker.batches] == [[0], [4]]


def test_a_text_that_breaks_the_model_breaks_its_own_request_only() -> None:
    async def body(batcher: Batcher, worker: Worker) -> None:
        first = await busy(batcher, worker)
        bad = asyncio.create_task(batcher.ask("a", [-1], [10], 30))
        good = asyncio.create_task(batcher.ask("a", [5], [10], 30))
        await asyncio.sleep(0)
        worker.gate.set()
        await first
        with pytest.raises(ComputeError):
            await bad
        assert await good == ["a5"]

    run(body, BatchLimits())
