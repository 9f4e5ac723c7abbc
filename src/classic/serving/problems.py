"""Errors of the service: one form for all of them, and never a word of the request in it."""

from __future__ import annotations

import logging
import re
import traceback
from json import JSONDecodeError
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from classic.errors import BusyError, ClassicError, DataError, DiskError, InputError
from classic.files import disk_error, is_disk_error
from classic.serving.requests import A_SPAN, A_TERM, NOT_BLANK

log = logging.getLogger("classic.serving")

_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "media_type"}
_MESSAGES = {400: "the body cannot be read"}
_FIXES = {400: "send JSON in UTF-8", 404: "see /openapi.json for what there is", 405: "see the header Allow"}
_OURS = frozenset({"literal_error", "string_pattern_mismatch"})
"""Kinds of errors that quote the API, and nothing of the request."""
_QUOTED = re.compile(r"""(, did you mean)?\s*('[^']*'|"[^"]*")\??""")


class ApiError(Exception):
    """An answer that is not a success.

    Args:
        status: The HTTP status.
        code: One word a program can act on.
        message: What was wrong, in one sentence.
        fix: What to do about it.
        details: Places and problems, each ``{"where", "line", "column", "problem"}``.
        headers: Such as Retry-After.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        fix: str = "",
        details: list[dict[str, Any]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.fix = status, code, message, fix
        self.details, self.headers = details or [], headers or {}

    def response(self) -> JSONResponse:
        """The answer."""
        body = {"code": self.code, "message": self.message, "fix": self.fix, "details": self.details}
        return JSONResponse({"error": body}, self.status, self.headers)


def overloaded(seconds: float) -> ApiError:
    """The queue is full; `seconds` is when it might not be."""
    wait = str(max(1, round(seconds)))
    return ApiError(
        429, "overloaded", "too much is waiting already", fix="try again later", headers={"Retry-After": wait}
    )


def invalid(message: str, *, fix: str = "", details: list[dict[str, Any]] | None = None) -> ApiError:
    """A field or a row is wrong."""
    return ApiError(422, "invalid", message, fix=fix, details=details)


def detail(
    problem: str, *, where: str | None = None, line: int | None = None, column: int | None = None
) -> dict[str, Any]:
    """One entry of an error's details."""
    return {"where": where, "line": line, "column": column, "problem": problem}


def problem_of(error: DataError) -> str:
    """What a reader found, without the few words of the file it may quote."""
    return _QUOTED.sub("", error.problem).strip()


def install_handlers(app: FastAPI) -> None:
    """Turns every error into its answer."""

    async def api_error(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ApiError)
        return error.response()

    async def validation(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return _from_validation(error).response()

    async def http(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, ApiError):  # the body was cut off by the guard while it was being read
            return error.__cause__.response()
        code = _CODES.get(error.status_code, "bad_request")
        message = _MESSAGES.get(error.status_code, code.replace("_", " "))
        answer = ApiError(error.status_code, code, message, fix=_FIXES.get(error.status_code, "")).response()
        answer.headers.update(error.headers or {})
        return answer

    async def domain(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ClassicError)
        return from_classic(error).response()

    app.add_exception_handler(ApiError, api_error)
    app.add_exception_handler(RequestValidationError, validation)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(ClassicError, domain)


def from_classic(error: ClassicError) -> ApiError:
    """The answer to an error that the library explains; paths of the host stay here."""
    log.warning("%s", type(error).__name__)
    if isinstance(error, DiskError):
        message = f"the disk of the service cannot be written: {error.reason}"
        return ApiError(507, "disk", message, fix="make room on it or make it writable; nothing that was there is lost")
    if isinstance(error, BusyError):
        return ApiError(409, "busy", "another process is changing the store", fix="try again")
    if isinstance(error, InputError):
        return invalid("the request cannot be fulfilled as it is", fix=_QUOTED.sub("", error.fix))
    return bug(error)


def explain(error: BaseException) -> ApiError:
    """The answer to whatever was raised."""
    if isinstance(error, ApiError):
        return error
    if is_disk_error(error):
        assert isinstance(error, OSError)
        return from_classic(disk_error(error))
    return from_classic(error) if isinstance(error, ClassicError) else bug(error)


def bug(error: BaseException) -> ApiError:
    """Our fault. The log gets the kind of error and the place in the code, never the message: it may hold a text."""
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames[::-1][:6])
    log.error("%s at %s", type(error).__name__, place)
    return ApiError(500, "bug", "something went wrong inside the service", fix="see its log")


def _from_validation(error: RequestValidationError) -> ApiError:
    if isinstance(error.__cause__, JSONDecodeError):
        wrong = error.__cause__
        place = detail(_QUOTED.sub("", wrong.msg), line=wrong.lineno, column=wrong.colno)
        return invalid("the body is no JSON", fix="see details", details=[place])
    details = []
    for entry in error.errors()[:100]:
        # A location may hold names the client made up; what follows the first few known parts is left out.
        where = [str(part) for part in entry["loc"] if part not in ("body", A_TERM, A_SPAN)]
        if entry["type"] == "extra_forbidden":
            where = where[:-1]
        details.append(detail(_problem(entry), where=".".join(where) or None))
    return invalid("the request is not as the API describes it", fix="see details and /openapi.json", details=details)


def _problem(entry: dict[str, Any]) -> str:
    """What is wrong with a field, in the words of pydantic where they are good enough."""
    told = entry.get("ctx", {})
    if told.get("pattern") == NOT_BLANK:
        return "nothing but white space"
    if entry["type"] == "missing" and entry["loc"] == ("body",):
        return "the body is empty"
    if entry["type"] == "value_error":
        return str(told["error"])
    message = str(entry["msg"])
    return message if entry["type"] in _OURS else _QUOTED.sub("", message)
