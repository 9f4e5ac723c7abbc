"""What all routes share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from classic.serving.schemas import ErrorAnswer
from classic.serving.service import Service

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
