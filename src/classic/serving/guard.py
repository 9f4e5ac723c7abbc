"""What stands before every route: who may ask, how much, how fast; and what every answer carries.

Written on the raw ASGI scope, so that nothing is parsed before it is allowed.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classic.serving.problems import ApiError, explain, overloaded
from classic.serving.telemetry import Telemetry

log = logging.getLogger("classic.serving")

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
PREDICT_BYTES = 1 << 20
TEACH_BYTES = 16 << 20
SUMMARY_BYTES = 8 << 20
SMALL_BYTES = 64 << 10
BODY_SECONDS = 60.0
STRANGERS_PER_SECOND = 50
STRANGERS_AT_ONCE = 100
STRANGERS_WAIT = 1.0  # seconds
DATA_TYPES = (
    "text/csv",
    "text/tab-separated-values",
    "application/jsonl",
    "application/x-ndjson",
    "application/json",
    "application/xml",
    "text/xml",
    "application/octet-stream",
)
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_COMPUTED = frozenset({"/v1/predict", "/v1/find"})  # refused while too much waits
_CAPS = {
    "/v1/predict": PREDICT_BYTES,
    "/v1/find": PREDICT_BYTES,
    "/v1/columns": PREDICT_BYTES,
    "/v1/summary": SUMMARY_BYTES,
    "/v1/teach": TEACH_BYTES,
    "/v1/teach/check": TEACH_BYTES,
}
_CLOSE = {"Connection": "close"}  # to a body without an end: nobody reads it any further
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_PRIVATE = re.compile(r"/(v1|metrics)(/|$)")


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes:
        token: What a request must bear; None lets everybody in who can reach the port.
        hosts: Names the service answers to, besides the loopback ones.
    """

    token: str | None
    hosts: frozenset[str] = frozenset()

    def check(self, scope: Scope) -> None:
        """Refuses a request by its headers."""
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or not self._knows(hosts[0]):
            raise ApiError(403, "forbidden", "the header Host is not allowed", fix="start with --allow-host NAME")
        if origins and origins not in ([f"http://{hosts[0]}"], [f"https://{hosts[0]}"]):
            raise ApiError(403, "forbidden", "the header Origin is not allowed", fix="ask from the service's own page")
        if _PRIVATE.match(scope["path"]) and not self.trusts(scope):
            raise ApiError(
                401,
                "unauthorized",
                "no token or a wrong one",
                fix="send the header Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def trusts(self, scope: Scope) -> bool:
        """Whether a request bears the token; without one, every request for what the token would guard does."""
        if self.token is None:
            return _PRIVATE.match(scope["path"]) is not None
        given = _values(scope, b"authorization")
        kind, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        return kind.casefold() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token.encode())

    def _knows(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = (found[1] or found[2]).casefold() if found else ""
        return name in LOOPBACK or name in self.hosts


class Pace:
    """What is asked without the token shares a number of answers a second: more has to wait, and at last is refused.

    Whoever asks in a loop then waits, and the loop of the service turns for those who bear the token.
    """

    def __init__(self) -> None:
        self._due = 0.0

    async def wait(self) -> None:
        """Until it is this request's turn."""
        now = time.monotonic()
        self._due = max(self._due, now - STRANGERS_AT_ONCE / STRANGERS_PER_SECOND)
        late = self._due - now
        if late > STRANGERS_WAIT:
            await asyncio.sleep(STRANGERS_WAIT)
            raise overloaded(late)
        self._due += 1 / STRANGERS_PER_SECOND
        if late > 0:
            await asyncio.sleep(late)


class Guard:
    """The outermost layer of the application.

    Args:
        app: What it guards.
        access: Who may ask.
        telemetry: Where to count.
        admit: Refuses predictions while too much waits: before their body is read, so that refusing costs little.
    """

    def __init__(self, app: ASGIApp, access: Access, telemetry: Telemetry, admit: Callable[[], None]) -> None:
        self.app, self.access, self.telemetry, self.admit = app, access, telemetry, admit
        self.pace = Pace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send, scope["path"])
        began = time.perf_counter()
        try:
            if not self.access.trusts(scope):
                await self.pace.wait()
            self.access.check(scope)
            check_body_headers(scope)
            if scope["path"] in _COMPUTED:
                self.admit()
            await self.app(scope, _limited(receive, _cap(scope["path"])), answer.send)
        except Exception as error:
            await answer.refuse(explain(error), scope)
        self.telemetry.request(scope, answer.status, time.perf_counter() - began)


class _Answer:
    """Adds the headers every answer carries, and remembers whether it has begun."""

    def __init__(self, send: Send, path: str) -> None:
        self._send, self._path, self.status = send, path, 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            for name, value in carried(self._path).items():
                if name.encode() not in present:
                    message["headers"].append((name.encode(), value.encode()))
        await self._send(message)

    async def refuse(self, error: ApiError, scope: Scope) -> None:
        if not self.status:
            await error.response()(scope, _nothing, self.send)


def carried(path: str) -> dict[str, str]:
    """Headers of every answer to a request for a path."""
    return {**_HEADERS, "cache-control": "no-store" if _PRIVATE.match(path) else "no-cache"}


def check_body_headers(scope: Scope) -> None:
    """Refuses a body by what its headers say of it."""
    if (encoded := _values(scope, b"content-encoding")) and encoded != ["identity"]:
        raise ApiError(415, "media_type", "the body is compressed", fix="send it plain")
    kind = "".join(_values(scope, b"content-type")).partition(";")[0].strip().casefold()
    if scope["method"] == "POST" and scope["path"].startswith("/v1/"):
        allowed = DATA_TYPES if scope["path"].startswith("/v1/teach") else ("application/json",)
        if kind not in allowed and (kind or scope["path"] in _CAPS or allowed is DATA_TYPES):
            raise ApiError(415, "media_type", "this content type is not accepted", fix=f"send {' or '.join(allowed)}")
    length = "".join(_values(scope, b"content-length"))
    if length.isdecimal() and int(length) > _cap(scope["path"]):
        raise _too_large(_cap(scope["path"]))


def _cap(path: str) -> int:
    return _CAPS.get(path, SMALL_BYTES)


def _limited(receive: Receive, cap: int) -> Receive:
    """Counts the bytes of a body as they come, and the seconds."""
    seen, done = 0, False
    until = time.monotonic() + BODY_SECONDS

    async def limited() -> Message:
        nonlocal seen, done
        if done:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            late = f"the body did not arrive within {BODY_SECONDS:.0f} s"
            raise ApiError(408, "too_slow", late, headers=_CLOSE) from None
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            done = not message.get("more_body", False)
            if seen > cap:
                raise _too_large(cap, _CLOSE)
        return message

    return limited


def _too_large(cap: int, headers: dict[str, str] | None = None) -> ApiError:
    message = f"the body is larger than {cap:,} bytes"
    return ApiError(413, "too_large", message, fix="send less at once", headers=headers)


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key.lower() == name]


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
