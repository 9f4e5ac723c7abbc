"""Strangers at the port: half-sent headers, endless headers, readers that do not read, loops without a token."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from classic.serving import connections, guard
from classic.serving.connections import HEADER_BYTES, Connection, Crowd, most_connections
from classic.serving.guard import Pace
from classic.serving.problems import ApiError
from classic.serving.repeats import Counted
from classic.serving.shedding import Shedder

from .conftest import BEARER, Process

Ask = Callable[..., Any]


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with its path; /wait waits for the body, /much answers with more than buffers hold."""
    if scope["path"] == "/wait":
        while (await receive()).get("more_body"):
            pass
    body = b"x" * (1 << 24) if scope["path"] == "/much" else scope["path"].encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Door:
    """A server of one tiny application, inside a running loop."""

    def __init__(self, most: int, app: Any = _app, shedder: Shedder | None = None) -> None:
        import uvicorn
        from uvicorn.server import ServerState

        self.crowd, self.state = Crowd(most), ServerState()
        kind = type("Tested", (Connection,), {"crowd": self.crowd, "shedder": shedder})
        config = uvicorn.Config(app, http=kind, lifespan="off", log_config=None, timeout_keep_alive=15)
        config.load()
        self._factory = lambda: kind(config, self.state, {})

    async def __aenter__(self) -> Door:
        self._server = await asyncio.get_running_loop().create_server(self._factory, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in list(self.state.connections):
            connection.transport.abort()
        self._server.close()
        await asyncio.sleep(0)

    async def send(self, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        await writer.drain()
        return reader, writer

    async def get(self, path: str) -> bytes:
        reader, writer = await self.send(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer


def run(work: Callable[[Door], Any], most: int = 8, app: Any = _app, shedder: Shedder | None = None) -> None:
    async def inside() -> None:
        async with Door(most, app, shedder) as door:
            await asyncio.wait_for(work(door), 60)

    asyncio.run(inside())


def test_a_header_that_does_not_come_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)

    async def work(door: Door) -> None:
        for half in (b"", b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "):
            reader, _ = await door.send(half)
            answer = await reader.read()  # ends: the server closed the connection
            assert answer == b"" if not half else answer.startswith(b"HTTP/1.1 408")

    run(work)


def test_a_header_that_trickles_does_not_move_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)

    async def work(door: Door) -> None:
        reader, writer = await door.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        answer = asyncio.create_task(reader.read())
        while not answer.done():  # for ever, without the deadline
            writer.write(b"x")
            await asyncio.sleep(0.05)
        assert (await answer).startswith(b"HTTP/1.1 408")

    run(work)


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nX-Endless: ",
        b"GET /",
        b"\r\n",
        b"POST /wait HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"POST /wait HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
    ],
    ids=["header", "path", "empty lines", "chunk extension", "trailer"],
)
def test_an_endless_header_is_cut_off(start: bytes) -> None:
    async def work(door: Door) -> None:
        reader, writer = await door.send(start)
        piece = b"\r\n" * 2048 if start == b"\r\n" else b"x" * 4096
        sent = 0
        try:
            while sent < 64 * HEADER_BYTES:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        assert (await _rest(reader))[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400", b"")
        assert not door.state.connections

    run(work)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


def test_half_sent_headers_do_not_shut_anybody_out() -> None:
    async def work(door: Door) -> None:
        held = [await door.send(b"GET / HTTP/1.1\r\nX: ") for _ in range(50)]
        assert b"200 OK" in await door.get("/fine")
        assert len(door.state.connections) <= 9 and door.crowd.dropped >= 42
        assert len(held) == 50

    run(work)


def test_who_was_sent_away_is_not_counted_any_more() -> None:
    """Its end comes a turn later: whoever asked in that turn was told that there are too many."""

    class Waiting:
        def __init__(self) -> None:
            self.connections, self.transport = there, Mock()

    there: set[Any] = set()
    crowd, first, second = Crowd(most=1), Waiting(), Waiting()
    for each in (first, second):
        there.add(each)
        crowd.silent[each] = None  # type: ignore[index]
    assert crowd.make_room(len(there), second)  # type: ignore[arg-type]
    assert there == {second} and first.transport.abort.called


def test_an_idle_connection_goes_before_one_at_work_and_the_operator_still_gets_in() -> None:
    async def work(door: Door) -> None:
        post = b"POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
        at_work = [await door.send(post) for _ in range(8)]
        while len(door.state.tasks) < 8:
            await asyncio.sleep(0.01)
        assert b"503" in await door.get("/fine")  # everybody is at work: refused, and nobody at work is sent away
        assert b"200 OK" in await door.get("/v1/status")
        for reader, writer in at_work:
            writer.write(b"hello")
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert b"200 OK" in await door.get("/fine")

    run(work)


def test_a_reader_that_takes_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STUCK_SECONDS", 0.2)

    async def work(door: Door) -> None:
        stuck = socket.create_connection(("127.0.0.1", door.port))
        stuck.sendall(b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n")
        while not door.state.connections:
            await asyncio.sleep(0.01)
        while door.state.connections:  # for ever, if it were not let go
            await asyncio.sleep(0.01)
        stuck.close()

    run(work)


def test_requests_sent_far_ahead_are_not_gathered() -> None:
    async def work(door: Door) -> None:
        reader, _ = await door.send(b"POST /wait HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" * 200)
        answered = (await _rest(reader)).count(b"200 OK")
        assert answered < 200 and not door.state.connections
        reader, writer = await door.send(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n" * 8)  # a few are answered in turn
        for _ in range(8):
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        writer.close()

    run(work)


def test_there_are_fewer_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 768), (100_000, 1024), (64, 17)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert most_connections() == most


def test_strangers_wait_for_each_other_and_at_last_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "STRANGERS_AT_ONCE", 5)
    monkeypatch.setattr(guard, "STRANGERS_PER_SECOND", 10)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(guard.asyncio, "sleep", sleep)

    async def work() -> list[object]:
        pace = Pace()
        return await asyncio.gather(*(pace.wait() for _ in range(30)), return_exceptions=True)

    ends = asyncio.run(work())
    refused = [end for end in ends if isinstance(end, ApiError)]
    assert ends[:5] == [None] * 5 and 24 <= len(slept) <= 25
    assert refused and all(error.status == 429 for error in refused) and max(slept) <= guard.STRANGERS_WAIT


def test_looking_whether_it_is_ready_computes_once_for_all(client: Any) -> None:
    def batches() -> float:
        text = client.get("/metrics").text
        return float(next(line for line in text.splitlines() if line.startswith("classic_batches_total")).split()[1])

    before = batches()
    for _ in range(50):
        assert client.get("/readyz").json() == {"ready": True, "version": 3}
    assert batches() - before < 25  # one each without sharing
    client.post("/v1/rollback", json={"version": 2})
    assert client.get("/readyz").json()["version"] == 2  # a forward pass of another version says nothing


def test_a_log_that_repeats_itself_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("classic.serving.repeats.time.monotonic", lambda: clock[0])
    counted, written = Counted(), []
    for clock[0], number in ((0.0, 100), (61.0, 1)):
        for each in range(number):
            record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, "no %s", (each,), None)
            if counted.filter(record):
                written.append(record.getMessage())
    assert written == ["no 0", "no 1", "no 2", "no 3", "no 4", "no 0 (and 95 more like it before)"]
    access = logging.LogRecord("classic.serving.access", logging.INFO, "", 0, "GET", (), None)
    assert all(counted.filter(access) for _ in range(100))


def test_a_flood_of_half_headers_leaves_the_service_answering_and_its_log_short(
    launch: Callable[..., Process], taught_store: Path
) -> None:
    """With 400 files in all: on the old code nobody else was let in, and every refused accept wrote a traceback."""
    server = launch(taught_store, files=400)
    port = int(server.url.rsplit(":", 1)[1])
    held = []
    for _ in range(450):
        held.append(socket.create_connection(("127.0.0.1", port)))
        held[-1].sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
    ask = {"inputs": [{"sentence": "the screen is good", "aspects": ["screen"]}]}
    for _ in range(3):
        assert server.client.post("/v1/predict", json=ask, headers=BEARER).status_code == 200
    for connection in held:
        connection.close()
    assert len(server.log) < 20_000, server.log[:2000]
