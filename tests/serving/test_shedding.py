"""A refusal that is written at once says what the application would say, and leaves the connection as it would be."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from classic.serving import connections
from classic.serving.connections import Connection
from classic.serving.guard import Access, Guard
from classic.serving.problems import overloaded
from classic.serving.shedding import Shedder
from classic.serving.telemetry import Telemetry

from .conftest import TOKEN
from .test_connections import Door, _app, run

LINES = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
HEAD = f"POST /v1/predict HTTP/1.1\r\n{LINES}Content-Length: 5\r\n\r\n".encode()


def full() -> None:
    raise overloaded(3.0)


def free() -> None:
    """Lets everybody in."""


def shedder(admit: Any = full) -> Shedder:
    return Shedder(Access(TOKEN), admit, Telemetry())


async def never(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("the application was asked")


async def _answer(reader: asyncio.StreamReader) -> tuple[list[bytes], dict[str, Any]]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if line and not line.startswith(b"date:")]
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
    return lines, json.loads(await reader.readexactly(length))


def test_a_quick_refusal_says_what_the_application_says() -> None:
    said: list[Any] = []

    async def work(door: Door) -> None:
        reader, writer = await door.send(HEAD + b"hello")
        said.append(await _answer(reader))
        writer.close()

    run(work, app=Guard(_app, Access(TOKEN), Telemetry(), full))
    run(work, app=never, shedder=shedder())
    assert said[0] == said[1]
    assert said[0][0][0] == b"HTTP/1.1 429 Too Many Requests" and b"retry-after: 3" in said[0][0]
    assert said[0][1]["error"]["code"] == "overloaded"


def test_a_connection_goes_on_after_a_quick_refusal() -> None:
    async def work(door: Door) -> None:
        reader, writer = await door.send(HEAD)
        assert (await _answer(reader))[0][0].startswith(b"HTTP/1.1 429")  # before the body has come
        for piece in (b"he", b"llo", HEAD + b"hello", b"POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        assert (await _answer(reader))[0][0].startswith(b"HTTP/1.1 429")
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        writer.close()

    run(work, shedder=shedder())


def test_a_body_without_an_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_DRAINED", 1 << 16)
    monkeypatch.setattr(Connection, "_arm", lambda *_: None)  # it is the bytes that are counted here, not the seconds

    async def work(door: Door) -> None:
        _, writer = await door.send(HEAD.replace(b"Length: 5", b"Length: 900000"))
        for _ in range(64):
            writer.write(b"x" * 4096)
            await asyncio.sleep(0.001)  # server and client share this loop: it turns for both
        for _ in range(100):
            await asyncio.sleep(0.001)
        assert not door.state.connections  # cut

    run(work, app=never, shedder=shedder())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/v1/predict", "/v1/domains"),
        ("POST", "PUT"),
        (TOKEN, "wrong"),
        ("127.0.0.1", "evil.example"),
        ("application/json", "text/html"),
        ("Length: 5", "Length: 2000000"),
        ("HTTP/1.1", "HTTP/1.0"),
        ("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"),
    ],
    ids=["path", "method", "token", "host", "type", "length", "closing", "expecting"],
)
def test_whatever_is_not_plainly_a_prediction_goes_to_the_application(old: str, new: str) -> None:
    async def work(door: Door) -> None:
        reader, writer = await door.send(HEAD.decode().replace(old, new).encode() + b"hello")
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        writer.close()

    run(work, shedder=shedder())


def test_nobody_is_refused_while_there_is_room() -> None:
    async def work(door: Door) -> None:
        reader, writer = await door.send(HEAD + b"hello")
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        writer.close()

    run(work, shedder=shedder(free))
