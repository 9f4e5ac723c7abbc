"""Routes of *Teach*: look at a file, learn it, watch, publish or not, go back."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse

from classic.data import DEMO_DOMAINS, load_demo
from classic.data.drafts import as_values
from classic.serving.answers import JobAnswer, JobsAnswer, PreviewAnswer, RollbackAnswer, SamplesAnswer
from classic.serving.guard import DATA_TYPES
from classic.serving.jobs import Job
from classic.serving.problems import ApiError
from classic.serving.requests import DomainName, PublishRequest, RollbackRequest
from classic.serving.routes import NeedsToken, TheService, answers
from classic.serving.service import Service
from classic.serving.uploads import preview

router = APIRouter(tags=["teach"], dependencies=[NeedsToken])

JobId = Annotated[str, PathParameter(pattern="^[0-9a-f]{32}$")]
_EVENT = {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {}} for kind in DATA_TYPES},  # looked at row by row, not by a schema
    }
}


@router.post(
    "/v1/teach/check",
    response_model=PreviewAnswer,
    responses=answers(400, 401, 408, 413, 415, 422, 507),
    openapi_extra=_UPLOAD,
)
async def check(request: Request, service: TheService) -> Response:
    """Every row of a file, good or bad; starts nothing and keeps nothing."""
    file = service.book.folder / "incoming" / uuid.uuid4().hex
    try:
        await _receive(request, file)
        return JSONResponse(await asyncio.to_thread(preview, file))
    finally:
        file.unlink(missing_ok=True)


@router.post(
    "/v1/teach",
    status_code=202,
    response_model=JobAnswer,
    responses=answers(400, 401, 408, 409, 413, 415, 422, 503, 507),
    openapi_extra=_UPLOAD,
)
async def teach(
    request: Request,
    service: TheService,
    domain: Annotated[DomainName, Query(description="Name of the new domain.")],
    publish: Annotated[Literal["ask", "auto"], Query(description="Who publishes.")] = "ask",
    keep_test: Annotated[bool, Query(description="Keep the test rows for the gate of later versions.")] = False,
) -> JSONResponse:
    """Checks every row of a file, then begins to teach it."""
    service.refuse_teaching(domain)
    identity = service.book.prepare()
    try:
        await _receive(request, service.book.path(identity) / "data" / "upload")
        job = await service.teach(identity, domain, publish, keep_test)
    except BaseException:
        service.book.abandon(identity)
        raise
    return JSONResponse(job.public(), 202, {"Location": f"/v1/jobs/{job.id}"})


async def _receive(request: Request, file: Path) -> None:
    """Writes a body to a file as it comes; the guard counts it."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            async for piece in request.stream():
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
    except ClientDisconnect:
        raise ApiError(400, "bad_request", "the connection broke off") from None


@router.get("/v1/jobs", response_model=JobsAnswer, responses=answers(401))
async def jobs(service: TheService) -> dict[str, Any]:
    """All jobs, newest first."""
    return {"jobs": [job.public() for job in list(service.book.jobs.values())[::-1]]}


@router.get("/v1/jobs/{job_id}", response_model=JobAnswer, responses=answers(401, 404, 422))
async def job(job_id: JobId, service: TheService) -> dict[str, Any]:
    """One job."""
    return _find(service, job_id).public()


@router.get(
    "/v1/jobs/{job_id}/events",
    response_class=StreamingResponse,
    responses={**answers(401, 404, 422, 429), 200: {"content": {"text/event-stream": {"schema": _EVENT}}}},
)
async def events(job_id: JobId, service: TheService) -> StreamingResponse:
    """Server-sent events of a job, from its present state to its end."""
    found = _find(service, job_id)
    stream = service.teaching.watchers.join(found.public())
    if not found.open:
        service.teaching.watchers.tell(found.id, "end", found.public())
    return StreamingResponse(stream, media_type="text/event-stream")


@router.post("/v1/jobs/{job_id}/cancel", response_model=JobAnswer, responses=answers(401, 404, 409, 413, 415, 422, 507))
async def cancel(job_id: JobId, service: TheService) -> dict[str, Any]:
    """Ends a job that is being taught; its upload is deleted."""
    found = _find(service, job_id)
    await service.teaching.cancel(found)
    return found.public()


@router.post(
    "/v1/jobs/{job_id}/publish",
    response_model=JobAnswer,
    responses=answers(400, 401, 404, 408, 409, 413, 415, 422, 507),
)
async def publish(job_id: JobId, service: TheService, wanted: PublishRequest | None = None) -> dict[str, Any]:
    """Makes a trained version live; against the gate only with a reason."""
    found = _find(service, job_id)
    wanted = wanted or PublishRequest()
    await service.teaching.publish(found, wanted.override, wanted.reason)
    return found.public()


@router.post(
    "/v1/jobs/{job_id}/discard", response_model=JobAnswer, responses=answers(401, 404, 409, 413, 415, 422, 507)
)
async def discard(job_id: JobId, service: TheService) -> dict[str, Any]:
    """Throws a trained version away; its upload is deleted."""
    found = _find(service, job_id)
    await service.teaching.discard(found)
    return found.public()


@router.post(
    "/v1/rollback", response_model=RollbackAnswer, responses=answers(400, 401, 404, 408, 409, 413, 415, 422, 507)
)
async def rollback(wanted: RollbackRequest, service: TheService) -> dict[str, int]:
    """Makes a version live that exists: one pointer move."""
    if wanted.version not in await asyncio.to_thread(service.store.numbers):
        raise ApiError(404, "not_found", "there is no such version", fix="see GET /v1/versions")
    before = await service.teaching.rollback(wanted.version, wanted.reason)
    return {"version": wanted.version, "before": before}


@router.get("/v1/samples", response_model=SamplesAnswer, responses=answers(401))
def samples(service: TheService) -> dict[str, Any]:
    """Demo domains to try teaching with."""
    learned = service.store.domains()
    found = [(name, load_demo(name)) for name in DEMO_DOMAINS]
    rows = [(name, len(task.train) + len(task.valid) + len(task.test)) for name, task in found]
    return {"samples": [{"name": name, "rows": count, "learned": name in learned} for name, count in rows]}


@router.get(
    "/v1/samples/{name}",
    response_class=Response,
    responses={**answers(401, 404), 200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}},
)
def sample(name: str) -> Response:
    """One of them as JSONL."""
    if name not in DEMO_DOMAINS:
        raise ApiError(404, "not_found", "there is no such sample", fix="see GET /v1/samples")
    task = load_demo(name)
    rows = [
        {name: value for name, value in as_values(example).items() if value is not None}
        for example in task.train + task.valid + task.test
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return Response(text, media_type="application/jsonl")


def _find(service: Service, job_id: str) -> Job:
    found = service.book.jobs.get(job_id)
    if found is None:
        raise ApiError(404, "not_found", "there is no such job", fix="see GET /v1/jobs")
    return found
