"""What the API is asked, and how much of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from classic.data.readers.row import MAX_TEXT
from classic.summary.columns import SAMPLE

MOST_INPUTS, MOST_ASPECTS, MOST_IN_ALL, MOST_EXPLAINED = 256, 64, 1024, 16
MOST_SENTENCES, MOST_SUMMARISED = 2048, 20_000
MOST_COLUMNS = 1024
LEAST_CONFIDENCE = 0.5
NOT_BLANK = r"\S"
A_TERM, A_SPAN = "a term", "a span"
"""How an aspect is read; errors leave it out of the place they name."""


def _plain(text: str) -> str:
    """Refuses what no tokenizer should see."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("NUL or half a surrogate pair")
    return text


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("control characters, or white space at an end")
    return text


Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=NOT_BLANK), AfterValidator(_plain)]
DomainName = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_printable)]
Reason = Annotated[str, Field(min_length=1, max_length=500, pattern=NOT_BLANK), AfterValidator(_plain)]
Place = Annotated[int, Field(ge=0, le=MAX_TEXT, strict=True)]
Polarities = Literal["positive", "negative", "neutral"]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Span(_Request):
    """Characters of the sentence: code points from 0, the end exclusive."""

    start: Place
    end: Place


def _kind(aspect: object) -> str:
    return A_SPAN if isinstance(aspect, dict | Span) else A_TERM


Aspect = Annotated[Annotated[Text, Tag(A_TERM)] | Annotated[Span, Tag(A_SPAN)], Discriminator(_kind)]


class PredictInput(_Request):
    """A sentence and its aspects; a text of any number of sentences where they are to be found."""

    sentence: Text
    aspects: Annotated[list[Aspect], Field(min_length=1, max_length=MOST_ASPECTS)] | None = None


class PredictRequest(_Request):
    """One sentence or many."""

    inputs: Annotated[list[PredictInput], Field(min_length=1, max_length=MOST_INPUTS)]
    domain: DomainName | None = None
    attributions: Annotated[bool, Field(strict=True)] = False
    deadline_ms: Annotated[int, Field(ge=100, le=60_000, strict=True)] = 10_000


Deadline = Annotated[int, Field(ge=100, le=60_000, strict=True)]
Confidence = Annotated[float, Field(ge=0, le=1, strict=True)]
Cell = Annotated[str, Field(max_length=1000), AfterValidator(_plain)]


class FindRequest(_Request):
    """Whole reviews, whose aspects are to be found and judged."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=MOST_INPUTS)]
    domain: DomainName | None = None
    min_confidence: Confidence = LEAST_CONFIDENCE
    deadline_ms: Deadline = 10_000


class FoundAspect(_Request):
    """An aspect of a review, as `find` answered it; the sentence it stands in, and its place there."""

    aspect: Cell
    sentence: Cell
    start: Place
    end: Place
    confidence: Confidence
    polarity: Polarities
    probability: Confidence
    unfamiliar: Annotated[bool, Field(strict=True)] = False


class SummaryRow(_Request):
    """A review that was read: where it stands, when, of what, and what was found in it."""

    line: Annotated[int, Field(ge=0, lt=10**9, strict=True)]
    date: Cell | None = None
    product: Cell | None = None
    aspects: Annotated[list[FoundAspect], Field(max_length=MOST_ASPECTS)]


class SummaryRequest(_Request):
    """What was found in the reviews of one file."""

    title: Annotated[Cell, Field(min_length=1)]
    source: Annotated[Cell, Field(min_length=1)]
    rows: Annotated[list[SummaryRow], Field(min_length=1, max_length=MOST_SUMMARISED)]


class ColumnsRequest(_Request):
    """The head of a table: the names of its columns, and its first rows, a cell for each column."""

    columns: Annotated[list[Cell], Field(min_length=1, max_length=MOST_COLUMNS)]
    rows: Annotated[list[Annotated[list[Cell], Field(max_length=MOST_COLUMNS)]], Field(max_length=SAMPLE)]


class PublishRequest(_Request):
    """Against the gate only with a reason."""

    override: Annotated[bool, Field(strict=True)] = False
    reason: Reason | None = None


class RollbackRequest(_Request):
    """The version to make live."""

    version: Annotated[int, Field(ge=0, lt=10**9, strict=True)]
    reason: Reason | None = None
