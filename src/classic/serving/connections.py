"""Connections: how many there may be, how long a header may take, how much of it there may be.

uvicorn has no deadline for a request's header, no cap on its bytes, and accepts until no file can be opened any more. A
program without a token could so shut everybody out. Here a newcomer is always let in while one connection waits for
nothing but its peer: the one that has waited longest goes. What nobody can hold without the token is thus never full.
"""

from __future__ import annotations

import asyncio
import resource
from dataclasses import dataclass, field
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from classic.serving.shedding import Shedder

HEADER_SECONDS = 10.0
HEADER_BYTES = 32 << 10
STUCK_SECONDS = 30.0  # a reader that takes nothing for so long is gone
ACCEPTS = 32  # connections accepted in one turn of the loop: what is closed in a turn is free only after it
MOST = 1024
RESERVED = 16  # of them for who looks after the service
_FILES = 256  # for everything that is no connection: the store, the model, the teaching process, a turn's newcomers
_DRAINED = 32 << 20  # bytes of a body that are read and thrown away after its answer, so that the peer can read that
_AHEAD = 16  # requests a peer may send before it has the answer to the first
_FRAMING = 8  # bytes a chunked body may take for each of its own

_OPERATOR = (b"/healthz", b"/readyz", b"/metrics", b"/v1/status", b"/v1/jobs")
_BUSY, _LATE, _LARGE = "503 Service Unavailable", "408 Request Timeout", "431 Request Header Fields Too Large"


def most_connections() -> int:
    """As many as the process may have files, less what else it needs."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(RESERVED + 1, min(MOST, files - _FILES))


@dataclass
class Crowd:
    """All connections of a service.

    Attributes:
        most: How many there may be.
        silent: Those that have never sent a whole header, oldest first.
        idle: Those that have, and have nothing to be answered now, or do not read their answer.
    """

    most: int = field(default_factory=most_connections)
    silent: dict[Connection, None] = field(default_factory=dict)
    idle: dict[Connection, None] = field(default_factory=dict)
    dropped: int = 0

    def forget(self, connection: Connection) -> None:
        self.silent.pop(connection, None)
        self.idle.pop(connection, None)

    def make_room(self, there: int, newcomer: Connection) -> bool:
        """Ends the connection that has waited longest, if there are too many; False if none waits."""
        if there <= self.most:
            return True
        for waiting in (self.silent, self.idle):
            for connection in waiting:
                if connection is not newcomer:
                    self.forget(connection)
                    self.dropped += 1
                    connection.connections.discard(connection)  # now: who comes in this turn would count it
                    connection.transport.abort()
                    return True
        return False


class Connection(HttpToolsProtocol):
    """A connection with deadlines and caps. Made by uvicorn; `crowd` and `shedder` are those of the service."""

    crowd: Crowd
    shedder: Shedder | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._bytes = self._body = self._thrown = 0  # of the message that is being read
        self._deadline: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._shed = False  # the message that is being read is answered already

    # --- coming and going -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.crowd.silent[self] = None
        self._arm(HEADER_SECONDS)
        # With nobody to send away, a few more are let in: they are asked for what an operator asks for, or refused.
        if not self.crowd.make_room(len(self.connections), self) and len(self.connections) > self.crowd.most + RESERVED:
            self._refuse(_BUSY, "too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.forget(self)
        self._disarm()
        if self._stuck:
            self._stuck.cancel()
        super().connection_lost(exc)

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._deadline:
            self._deadline.cancel()
        self._deadline = None

    def _late(self) -> None:
        if self._bytes and (self.cycle is None or self.cycle.response_complete):
            self._refuse(_LATE, f"the header did not arrive within {HEADER_SECONDS:.0f} s")
        else:
            self.transport.abort()

    def _refuse(self, status: str, message: str) -> None:
        """A few words, if they can be sent at once, and the end: nothing is waited for."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(message)}\r\nConnection: close"
        if not self.transport.is_closing():
            self.transport.write(f"{head}\r\n\r\n{message}".encode())
            self.transport.close()

    # --- reading ----------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._bytes += len(data)
        super().data_received(data)
        if self._bytes - self._body > HEADER_BYTES + _FRAMING * self._body:
            self._refuse(_LARGE, f"more than {HEADER_BYTES:,} bytes besides the body")
        elif self._thrown > _DRAINED:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        self._disarm()
        self.crowd.forget(self)
        operator = self.url.startswith(_OPERATOR)
        self.limit_concurrency = None if operator else self.crowd.most + 1
        if len(self.pipeline) >= _AHEAD:
            self.pipeline.clear()
            self.transport.abort()
        elif answer := self._refusal():
            self._shed = True
            self.transport.write(answer)
            self.crowd.idle[self] = None
            self._arm(self.timeout_keep_alive)
        else:
            super().on_headers_complete()

    def _refusal(self) -> bytes | None:
        """What can be answered at once; None if the application shall answer, in its turn."""
        at_work = self.cycle is not None and not self.cycle.response_complete
        plain = self.parser.should_keep_alive() and not self.expect_100_continue and not self.parser.should_upgrade()
        if self.shedder is None or at_work or not plain or self.flow.write_paused:
            return None
        first = self.server_state.default_headers
        return self.shedder.refusal(self.parser.get_method(), self.url, self.headers, first)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if self._shed or self.cycle.response_complete:
            self._thrown += len(body)
        if not self._shed:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes = self._body = self._thrown = 0
        if not self._shed:
            super().on_message_complete()
        self._shed = False

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.crowd.idle[self] = None
            self._arm(self.timeout_keep_alive)  # for the rest of the body and the whole next header

    # --- writing ----------------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self.crowd.idle[self] = None
        self._stuck = self.loop.call_later(STUCK_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck:
            self._stuck.cancel()
            self._stuck = None
        if self.cycle is not None and not self.cycle.response_complete:
            self.crowd.idle.pop(self, None)
