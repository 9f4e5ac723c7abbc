"""Routes of *Try* and *Overview*: aspects that the model finds, what many say together, which column of a file is what."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classic.data.readers.columns import FIELD_NAMES, unique_names
from classic.runtime.sentences import unescaped
from classic.serving.answers import ColumnsAnswer, PredictAnswer, SummaryAnswer
from classic.serving.problems import overloaded
from classic.serving.requests import ColumnsRequest, FindRequest, FoundAspect, SummaryRequest
from classic.serving.routes import NeedsToken, TheService, answers, unless_gone
from classic.serving.routes_predict import check_domain, found_answers, must_find
from classic.summary.columns import Columns, column_called, date_column, product_column, text_column
from classic.summary.counting import describe
from classic.summary.nearness import nearness
from classic.summary.page import render_page
from classic.summary.summary import summarise
from classic.summary.survey import as_review, survey_rows
from classic.summary.tally import Tally
from classic.summary.writing import to_csv, to_dict
from classic.types import Found, Polarity, Prediction, Probabilities

router = APIRouter(tags=["try"])

ASPECT = (*FIELD_NAMES["aspect"], "target", "feature", "topic")
POLARITY = (*FIELD_NAMES["polarity"], "stars", "star", "rating", "score")
"""What columns are called that may be these; the reader of the page decides."""

_SUMMARY_SECONDS = 60.0


@router.post(
    "/v1/find",
    response_model=PredictAnswer,
    responses=answers(400, 401, 408, 409, 413, 415, 422, 429, 503, 504),
    dependencies=[NeedsToken],
)
async def find(asked: FindRequest, request: Request, service: TheService) -> Response:
    """The aspects of whole reviews and what is said about each, by one version."""
    until = time.monotonic() + asked.deadline_ms / 1000
    predictor = service.live.get()
    check_domain(asked.domain, predictor)
    must_find(predictor)
    work = service.live.find(predictor, asked.texts, asked.min_confidence, asked.domain, until - time.monotonic())
    found = await unless_gone(request, work, until)
    if found is None:
        return Response(status_code=499)  # nobody is there to read it
    results = [{"aspects": found_answers(each, text)} for each, text in zip(found, asked.texts, strict=True)]
    return JSONResponse({"version": predictor.version, "results": results})


@router.post(
    "/v1/summary",
    response_model=SummaryAnswer,
    responses=answers(400, 401, 408, 409, 413, 415, 422, 429, 504),
    dependencies=[NeedsToken],
)
async def summary(asked: SummaryRequest, request: Request, service: TheService) -> Response:
    """What was found in the reviews of a file, put together: aspects grouped and counted, as JSON, page and table.

    Nothing is kept. One is made at a time.
    """
    predictor = service.live.get()
    if service.summarising.locked():
        raise overloaded(2.0)
    async with service.summarising:
        work = asyncio.to_thread(_summarise, asked, describe(predictor))
        made = await unless_gone(request, work, time.monotonic() + _SUMMARY_SECONDS)
    return Response(status_code=499) if made is None else JSONResponse({"version": predictor.version} | made)


@router.post(
    "/v1/columns",
    response_model=ColumnsAnswer,
    responses=answers(400, 401, 408, 413, 415, 422),
    dependencies=[NeedsToken],
)
def columns(asked: ColumnsRequest) -> dict[str, int | None]:
    """Which columns of a table are probably what, counted from 0: as `classic summarise` finds them."""
    names = unique_names(asked.columns)
    rows = [dict[str, object](zip(names, row, strict=False)) for row in asked.rows]
    text = text_column(rows, names)
    rest = [name for name in names if name != text]
    date = date_column(rows, rest)
    found = {
        "sentence": text,
        "aspect": column_called(ASPECT, rest),
        "polarity": column_called(POLARITY, rest),
        "date": date,
        "product": product_column(rows, [name for name in rest if name != date]),
    }
    return {field: None if name is None else names.index(name) for field, name in found.items()}


def _summarise(asked: SummaryRequest, model: str) -> dict[str, Any]:
    """In a thread of its own."""
    rows = [(row.line, {"text": "-", "date": row.date, "product": row.product}) for row in asked.rows]
    survey = survey_rows((fields for _, fields in rows), _columns(asked), Path(asked.source))
    tally = Tally()
    for (line, fields), row in zip(rows, asked.rows, strict=True):
        tally.add(as_review(line, fields, survey), [_found(each) for each in row.aspects])
    made = summarise(tally, survey, title=asked.title, model=model, similarity=nearness())
    return {"summary": to_dict(made), "html": render_page(made), "csv": to_csv(made)}


def _columns(asked: SummaryRequest) -> Columns:
    def given(name: str) -> str | None:
        return name if any(getattr(row, name) is not None for row in asked.rows) else None

    return Columns("text", given("date"), given("product"))


def _found(each: FoundAspect) -> Found:
    polarity = Polarity(each.polarity)
    rest = (1 - each.probability) / 2
    shares = Probabilities(*(each.probability if polarity is other else rest for other in Polarity))
    sentence, places = unescaped(each.sentence)
    span = (bisect_left(places, each.start), bisect_left(places, each.end))
    said = Prediction(sentence, each.aspect, span, polarity, shares, "", each.unfamiliar)
    return Found(each.aspect, *span, each.confidence, said)
