"""Routes of *Try*: ask the model, see what it knows, see whether it is well."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classic._version import __version__
from classic.data import DEMO_DOMAINS
from classic.data.readers.row import MAX_TEXT
from classic.data.starter import STARTER
from classic.prediction.predictor import Predictor
from classic.runtime.sentences import sentences_of
from classic.serving import examples, versions
from classic.serving.answers import DomainsAnswer, ExamplesAnswer, PredictAnswer, ReadyAnswer, StatusAnswer
from classic.serving.batcher import ComputeError
from classic.serving.guard import PREDICT_BYTES, TEACH_BYTES
from classic.serving.model import Question, as_question
from classic.serving.problems import ApiError, detail, invalid
from classic.serving.requests import (
    LEAST_CONFIDENCE,
    MOST_ASPECTS,
    MOST_EXPLAINED,
    MOST_IN_ALL,
    MOST_INPUTS,
    PredictRequest,
)
from classic.serving.routes import NeedsToken, TheService, answers, unless_gone
from classic.serving.service import Service
from classic.serving.uploads import MOST_ROWS
from classic.systems.system import METHODS
from classic.types import POLARITIES, Found, Prediction, Scenario

router = APIRouter(tags=["try"])

Answered = tuple[list[Prediction], list[list[tuple[int, int, float]] | None]]
"""Predictions, and the words that spoke for each."""

_READY_SECONDS = 5.0
_EXAMPLE_SECONDS = 30.0


@router.post(
    "/v1/predict",
    response_model=PredictAnswer,
    responses=answers(400, 401, 408, 409, 413, 415, 422, 429, 503, 504),
    dependencies=[NeedsToken],
)
async def predict(asked: PredictRequest, request: Request, service: TheService) -> Response:
    """The polarity of each aspect of each sentence, by one version; where no aspects are given, of those it finds."""
    until = time.monotonic() + asked.deadline_ms / 1000
    predictor = service.live.get()
    questions = _questions(asked, predictor)
    blank = [each.sentence for each in asked.inputs if each.aspects is None]
    if blank:
        must_find(predictor)

    async def work() -> tuple[Answered, list[list[Found]]]:
        said = await _answer(service, predictor, questions, asked.attributions, until)
        found = await service.live.find(predictor, blank, LEAST_CONFIDENCE, asked.domain, until - time.monotonic())
        return said, found

    done = await unless_gone(request, work(), until)
    if done is None:
        return Response(status_code=499)  # nobody is there to read it
    (said, words), found = done
    given = iter([as_answer(one, word, asked.attributions) for one, word in zip(said, words, strict=True)])
    seen = iter(found)
    results = [
        {
            "aspects": [next(given) for _ in each.aspects]
            if each.aspects is not None
            else found_answers(next(seen), each.sentence)
        }
        for each in asked.inputs
    ]
    return JSONResponse({"version": predictor.version, "results": results})


def _questions(asked: PredictRequest, predictor: Predictor) -> list[Question]:
    total = sum(len(each.aspects or ()) for each in asked.inputs)
    most = MOST_EXPLAINED if asked.attributions else MOST_IN_ALL
    if total > most:
        raise invalid(f"{total} aspects in one request", fix=f"ask about at most {most} at once")
    if asked.attributions and any(each.aspects is None for each in asked.inputs):
        raise invalid("only aspects that are given can be explained", fix="find them first, then ask about them")
    check_domain(asked.domain, predictor)
    return [
        as_question(
            each.sentence,
            aspect if isinstance(aspect, str) else (aspect.start, aspect.end),
            asked.domain,
            f"inputs.{number}.aspects.{place}",
        )
        for number, each in enumerate(asked.inputs)
        for place, aspect in enumerate(each.aspects or ())
    ]


def check_domain(domain: str | None, predictor: Predictor) -> None:
    """Refuses a domain the store does not know, or the lack of one where it must be told."""
    if domain is None and predictor.learner.config.scenario is Scenario.TIL:
        raise invalid("this store learns task-incrementally: it must be told the domain", fix="give the field domain")
    if domain is not None and domain not in predictor.domains:
        problem = [detail("the live version has not learned it", where="domain")]
        raise invalid("this store does not know the domain", fix="see GET /v1/domains", details=problem)


def must_find(predictor: Predictor) -> None:
    """Refuses a version that was taught without a finder."""
    if not predictor.finds:
        raise ApiError(
            409,
            "no_finder",
            "the live version cannot find aspects: it was taught without a finder, or before there was one",
            fix="name the aspects; a store that is made anew finds them itself",
        )


async def _answer(
    service: Service, predictor: Predictor, questions: list[Question], explain: bool, until: float
) -> Answered:
    if not questions:
        return [], []
    said = await service.live.ask(predictor, questions, until - time.monotonic())
    words: list[list[tuple[int, int, float]] | None] = [None] * len(said)
    if explain:
        for place, (question, prediction) in enumerate(zip(questions, said, strict=True)):
            words[place] = await service.live.explain(predictor, question, prediction, until - time.monotonic())
    return said, words


def as_answer(prediction: Prediction, words: list[tuple[int, int, float]] | None, explain: bool) -> dict[str, Any]:
    """An aspect as it is answered."""
    shares = dict(zip(map(str, POLARITIES), prediction.probabilities, strict=True))
    return {
        "aspect": prediction.aspect,
        "span": prediction.span,
        "confidence": None,
        "sentence": None,
        "polarity": str(prediction.polarity),
        "probabilities": shares,
        "nearest_domain": prediction.nearest_domain,
        "unfamiliar": prediction.unfamiliar,
        "truncated": prediction.truncated,
        "words": None if words is None else [{"start": s, "end": e, "weight": weight} for s, e, weight in words],
        "too_long_to_explain": explain and words is None,
    }


def found_answers(found: Sequence[Found], text: str) -> list[dict[str, Any]]:
    """Aspects that were found in a text, each with its place there, and that of the sentence it was judged by."""
    answers = []
    escaped = (
        list(sentences_of(text)) if found and "&" in text else []
    )  # these were judged unescaped, so lengths differ
    for each in found:
        said = each.prediction
        first = each.start - (said.span[0] if said.span else 0)
        last = first + len(said.sentence)
        if escaped:
            first, piece = max((start, piece) for start, piece in escaped if start <= each.start)
            last = first + len(piece)
        place = {"span": (each.start, each.end), "sentence": (first, last)}
        answers.append(as_answer(said, None, False) | place | {"confidence": each.confidence})
    return answers


@router.get("/v1/domains", response_model=DomainsAnswer, responses=answers(401), dependencies=[NeedsToken])
def domains(service: TheService) -> dict[str, Any]:
    """What the live version has learned."""
    live = service.live.version
    return {"version": live, "domains": versions.domains(service.store, live, service.book)}


@router.get(
    "/v1/examples",
    response_model=ExamplesAnswer,
    responses=answers(401, 409, 429, 503, 504),
    dependencies=[NeedsToken],
)
async def example_reviews(request: Request, service: TheService) -> Response:
    """Reviews to try the live version with, which it answers rightly; none of what people taught."""
    predictor = service.live.get()
    if service.examples is None or service.examples[0] is not predictor:
        found = await unless_gone(request, examples.examples(service.live), time.monotonic() + _EXAMPLE_SECONDS)
        if found is None:
            return Response(status_code=499)
        service.examples = predictor, found
    return JSONResponse({"version": predictor.version, "examples": service.examples[1]})


@router.get("/v1/status", response_model=StatusAnswer, responses=answers(401), dependencies=[NeedsToken])
async def status(service: TheService) -> dict[str, Any]:
    """The service at a glance."""
    store, config, predictor = service.store, service.config, service.live.predictor
    known = predictor.domains if predictor else []
    learned = sum(name != STARTER for name in known)
    demo = set(DEMO_DOMAINS[: config.demo])
    job = service.book.open_job
    return {
        "program": __version__,
        "store": store.path.resolve().name,
        "version": service.live.version,
        "domains": learned,
        "starter": STARTER in known,
        "method": store.settings["system"]["method"],
        "scenario": store.settings["system"]["scenario"],
        "finds": predictor is not None and predictor.finds,
        "keeps_texts": METHODS[store.settings["system"]["method"]].build.keeps_data,
        "ready": predictor is not None and not service.draining,
        "batching": config.limits.together,
        "waiting": service.live.batcher.waiting,
        "open_job": job.id if job else None,
        "demo": {"wanted": config.demo, "learned": len(demo.intersection(known))} if config.demo else None,
        "gate": {"margin": config.margin},
        "limits": {
            "predict_bytes": PREDICT_BYTES,
            "inputs": MOST_INPUTS,
            "aspects": MOST_ASPECTS,
            "text": MAX_TEXT,
            "teach_bytes": TEACH_BYTES,
            "teach_rows": MOST_ROWS,
        },
    }


@router.get("/readyz", response_model=ReadyAnswer, responses=answers(503), tags=["operate"])
async def readyz(service: TheService) -> dict[str, Any]:
    """Whether the live version answers: a real forward pass, through the queue."""
    code, message = "not_ready", "the model does not answer"
    if service.draining:
        code, message = "draining", "the service is ending"
    else:
        try:
            return {"ready": True, "version": await service.live.probe(_READY_SECONDS)}
        except (ApiError, TimeoutError, ComputeError):
            pass
    raise ApiError(503, code, message, fix="wait", headers={"Retry-After": "2"})
