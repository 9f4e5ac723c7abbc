"""Who looks on while a job runs: server-sent events, bounded for slow readers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakSet

from classic.serving.problems import ApiError

_MOST = 32
_HEARTBEAT = 10.0


class Watchers:
    """Everybody who looks on."""

    def __init__(self) -> None:
        # Weakly: a client that leaves before its stream begins must not count for ever.
        self._watching: dict[str, WeakSet[_Watcher]] = {}
        self._closed = False

    def tell(self, job: str, event: str, value: Any) -> None:
        """Sends an event to all watchers of a job."""
        for watcher in list(self._watching.get(job, ())):
            watcher.put(event, value)

    def close(self) -> None:
        """Ends all streams: the service is ending."""
        self._closed = True
        for job in self._watching:
            self.tell(job, "bye", {})

    def join(self, job: dict[str, Any]) -> AsyncIterator[bytes]:
        """A stream of a job's events that begins with the job itself."""
        if sum(map(len, self._watching.values())) >= _MOST:
            raise ApiError(
                429, "overloaded", f"{_MOST} watchers look on already", fix="close one", headers={"Retry-After": "10"}
            )
        watcher = _Watcher()
        watcher.put("job", job)
        if self._closed:
            watcher.put("bye", {})
        self._watching.setdefault(job["id"], WeakSet()).add(watcher)
        return self._stream(job["id"], watcher)

    async def _stream(self, job: str, watcher: _Watcher) -> AsyncIterator[bytes]:
        try:
            async for event, value in watcher.events():
                if event:
                    yield f"event: {event}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
                else:
                    yield b": \n\n"
        finally:
            self._watching[job].discard(watcher)


class _Watcher:
    """What one reader has not read yet. Of progress only the newest is kept; everything else is rare."""

    def __init__(self) -> None:
        self._pending: list[tuple[str, Any]] = []
        self._something = asyncio.Event()

    def put(self, event: str, value: Any) -> None:
        if event == "progress":
            self._pending = [entry for entry in self._pending if entry[0] != "progress"]
        self._pending.append((event, value))
        self._something.set()

    async def events(self) -> AsyncIterator[tuple[str, Any]]:
        while True:
            try:
                await asyncio.wait_for(self._something.wait(), _HEARTBEAT)
            except TimeoutError:
                yield "", None
                continue
            self._something.clear()
            pending, self._pending = self._pending, []
            for event, value in pending:
                yield event, value
                if event in ("end", "bye"):
                    return
