"""Routes of *Inspect*: versions, scores, the matrix, cards, exports, the audit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi import Path as PathParameter
from starlette.responses import FileResponse, JSONResponse, Response

from classic.report.page import report_numbers
from classic.serving import versions
from classic.serving.answers import AuditAnswer, ExportsAnswer, MetricsAnswer, VersionAnswer, VersionsAnswer
from classic.serving.problems import ApiError
from classic.serving.routes import NeedsToken, TheService, answers
from classic.serving.service import Service
from classic.store.archive import pack

router = APIRouter(tags=["inspect"], dependencies=[NeedsToken])

Number = Annotated[int, PathParameter(ge=1, lt=10**9, description="A version; 0, the untaught model, has none.")]
_MOST_ENTRIES = 500


def _passing(service: TheService) -> Iterator[Path]:
    """A file that is gone when the answer is, whichever answer it was."""
    file = service.book.folder / "incoming" / uuid.uuid4().hex
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


@router.get("/v1/versions", response_model=VersionsAnswer, responses=answers(401))
def list_versions(service: TheService) -> dict[str, Any]:
    """All versions, oldest first, with those a rollback left behind."""
    live = service.live.version
    return {"live": live, "versions": versions.versions(service.store, live)}


@router.get("/v1/versions/{number}", response_model=VersionAnswer, responses=answers(401, 404, 422))
def version(number: Number, service: TheService) -> dict[str, Any]:
    """Everything about one version."""
    _need(service, number)
    return versions.details(service.store, number, service.live.version)


@router.get("/v1/versions/{number}/metrics", response_model=MetricsAnswer, responses=answers(401, 404, 422))
def metrics(number: Number, service: TheService) -> dict[str, Any]:
    """How a version does on each of its domains, before and after."""
    _need(service, number)
    return versions.metrics(service.store, number)


@router.get(
    "/v1/versions/{number}/card",
    response_class=Response,
    responses={**answers(401, 404, 422), 200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
def card(number: Number, service: TheService) -> Response:
    """A version's model card, as Markdown."""
    _need(service, number)
    return Response(service.store.card(number), media_type="text/markdown; charset=utf-8")


@router.get("/v1/matrix", responses=answers(401, 409))
def matrix(service: TheService) -> JSONResponse:
    """The numbers of the report on the version in use."""
    service.live.get()
    return JSONResponse(report_numbers(service.store))


@router.get("/v1/exports", response_model=ExportsAnswer, responses=answers(401))
def exports(service: TheService) -> dict[str, Any]:
    """What can be taken away."""
    reason = _why_not(service)
    entry = {"format": "pack", "file": _file_name(service), "title": "Packed store"}
    return {"exports": [entry | {"available": reason is None, "reason": reason.message if reason else None}]}


@router.get(
    "/v1/exports/{form}",
    response_class=Response,
    responses={
        **answers(401, 404, 409),
        200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}},
    },
)
def export(form: str, service: TheService, file: Annotated[Path, Depends(_passing)]) -> FileResponse:
    """The version in use, and what it is made of, in one file."""
    if form != "pack":
        raise ApiError(404, "not_found", "there is no such format", fix="see GET /v1/exports")
    if reason := _why_not(service):
        raise reason
    pack(service.store, file)
    return FileResponse(file, media_type="application/zip", filename=_file_name(service))


@router.get("/v1/audit", response_model=AuditAnswer, responses=answers(401))
def audit(service: TheService) -> dict[str, Any]:
    """What people decided, newest first."""
    return {"entries": service.book.audit(_MOST_ENTRIES)}


def _need(service: Service, number: int) -> None:
    if number not in service.store.numbers():
        raise ApiError(404, "not_found", "there is no such version", fix="see GET /v1/versions")


def _why_not(service: Service) -> ApiError | None:
    predictor = service.live.predictor
    if predictor is None:
        return ApiError(409, "untaught", "this store has not learned any domain yet", fix="teach it one")
    if predictor.learner.method.keeps_data:
        return ApiError(
            409,
            "keeps_texts",
            "the method keeps training texts, which would travel along",
            fix="use `classic store pack`",
        )
    return None


def _file_name(service: Service) -> str:
    return f"{service.store.path.resolve().name}.v{service.live.version}.pack"
