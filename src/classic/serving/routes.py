"""What all routes share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from classic.serving.answers import ErrorAnswer
from classic.serving.batcher import ComputeError
from classic.serving.problems import ApiError, bug
from classic.serving.service import Service

Value = TypeVar("Value")
_EVERYWHERE = (403, 500)
_MEANINGS = {
    400: "The body is not what its headers say",
    401: "No token or a wrong one",
    403: "Host or Origin is not allowed",
    404: "There is no such thing",
    408: "The body came too slowly",
    409: "The store or the job is not in the state for it",
    413: "The body is too large",
    415: "The content type is not accepted",
    422: "A field or a row is wrong",
    429: "Too much is waiting already; see Retry-After",
    500: "A bug",
    503: "Not ready, or ending",
    504: "Not done within the deadline",
    507: "The disk is full or cannot be written",
}

bearer = HTTPBearer(auto_error=False, description="The token `classic serve` prints.")
NeedsToken = Security(bearer)  # for the description; the guard does the checking


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors a route may answer with, besides those that any may."""
    return {
        status: {"model": ErrorAnswer, "description": _MEANINGS[status]} for status in sorted({*_EVERYWHERE, *statuses})
    }


def the_service(request: Request) -> Service:
    """The service behind a request."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


TheService = Annotated[Service, Depends(the_service)]


async def unless_gone(request: Request, work: Coroutine[Any, Any, Value], until: float) -> Value | None:
    """The result of some work, or None if the client went away; then the work is dropped."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, timeout=max(0.0, until - time.monotonic()), return_when="FIRST_COMPLETED")
        if not task.done():
            if gone.done():
                return None
            raise TimeoutError
        return task.result()
    except TimeoutError:
        raise ApiError(504, "deadline", "the answer was not ready in time", fix="ask again, or for less") from None
    except ComputeError as error:
        raise bug(error.cause) from None
    finally:
        task.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
