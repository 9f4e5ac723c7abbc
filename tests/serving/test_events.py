"""Who looks on while a job runs."""

from __future__ import annotations

import asyncio
import gc

import pytest

from classic.serving.events import Watchers
from classic.serving.problems import ApiError

JOB = {"id": "a", "state": "training"}


def test_a_client_that_leaves_before_its_stream_begins_does_not_count() -> None:
    async def come_and_go() -> None:
        watchers = Watchers()
        for _ in range(40):
            watchers.join(JOB)
            gc.collect()
        staying = [watchers.join(JOB) for _ in range(32)]
        with pytest.raises(ApiError, match="32 watchers"):
            watchers.join(JOB)
        del staying

    asyncio.run(come_and_go())


def test_a_stream_begins_with_the_job_and_ends_with_it() -> None:
    async def look_on() -> list[bytes]:
        watchers = Watchers()
        stream = watchers.join(JOB)
        watchers.tell("a", "progress", {"epoch": 1})
        watchers.tell("a", "progress", {"epoch": 2})
        watchers.tell("b", "progress", {"epoch": 9})
        watchers.tell("a", "end", {"state": "published"})
        return [part async for part in stream]

    parts = asyncio.run(look_on())
    assert [part.partition(b"\n")[0] for part in parts] == [b"event: job", b"event: progress", b"event: end"]
    assert b'"epoch": 2' in parts[1]
