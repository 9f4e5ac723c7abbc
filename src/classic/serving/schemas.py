"""Requests and answers as the API describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from classic.data.readers.row import MAX_TEXT

MOST_INPUTS, MOST_ASPECTS, MOST_IN_ALL, MOST_EXPLAINED = 256, 64, 1024, 16
MOST_SENTENCES, MOST_SUMMARISED = 2048, 20_000
LEAST_CONFIDENCE = 0.5


def _plain(text: str) -> str:
    """Refuses what no tokenizer should see."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("NUL or half a surrogate pair")
    return text


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("control characters, or white space at an end")
    return text


Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S"), AfterValidator(_plain)]
DomainName = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_printable)]
Reason = Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S"), AfterValidator(_plain)]
Place = Annotated[int, Field(ge=0, le=MAX_TEXT, strict=True)]
Polarities = Literal["positive", "negative", "neutral"]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Span(_Request):
    """Characters of the sentence: code points from 0, the end exclusive."""

    start: Place
    end: Place


class PredictInput(_Request):
    """A sentence and its aspects; a text of any number of sentences where they are to be found."""

    sentence: Text
    aspects: Annotated[list[Text | Span], Field(min_length=1, max_length=MOST_ASPECTS)] | None = None


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


class PublishRequest(_Request):
    """Against the gate only with a reason."""

    override: Annotated[bool, Field(strict=True)] = False
    reason: Reason | None = None


class RollbackRequest(_Request):
    """The version to make live."""

    version: Annotated[int, Field(ge=0, lt=10**9, strict=True)]
    reason: Reason | None = None


# --- answers ---------------------------------------------------------------------------------------------------------


class Detail(BaseModel):
    where: str | None
    line: int | None
    column: int | None
    problem: str


class Problem(BaseModel):
    code: str
    message: str
    fix: str
    details: list[Detail]


class ErrorAnswer(BaseModel):
    """What every error looks like."""

    error: Problem


class Word(BaseModel):
    start: int
    end: int
    weight: float


class Probabilities(BaseModel):
    positive: float
    negative: float
    neutral: float


class AspectAnswer(BaseModel):
    aspect: str
    span: tuple[int, int] | None
    confidence: float | None
    sentence: tuple[int, int] | None
    polarity: Polarities
    probabilities: Probabilities
    nearest_domain: str
    unfamiliar: bool
    truncated: bool
    words: list[Word] | None
    too_long_to_explain: bool


class PredictResult(BaseModel):
    aspects: list[AspectAnswer]


class PredictAnswer(BaseModel):
    version: int
    results: list[PredictResult]


class SummaryAnswer(BaseModel):
    version: int
    summary: dict[str, Any]
    html: str
    csv: str


class ExampleReview(BaseModel):
    domain: str
    subject: str
    sentence: str
    aspects: list[Span]


class ExamplesAnswer(BaseModel):
    version: int
    examples: list[ExampleReview]


class Scores(BaseModel):
    accuracy: float
    macro_f1: float
    own_f1: float
    examples: int


class DomainEntry(BaseModel):
    name: str
    version: int
    classes: list[Polarities]
    examples: int
    learned: Scores | None
    now: Scores | None
    keeps_test: bool


class DomainsAnswer(BaseModel):
    version: int
    domains: list[DomainEntry]


class Limits(BaseModel):
    predict_bytes: int
    inputs: int
    aspects: int
    text: int
    teach_bytes: int
    teach_rows: int


class Demo(BaseModel):
    wanted: int
    learned: int


class GateSetting(BaseModel):
    margin: float


class StatusAnswer(BaseModel):
    program: str
    store: str
    version: int
    domains: int
    method: str
    scenario: str
    finds: bool
    keeps_texts: bool
    ready: bool
    batching: bool
    waiting: int
    open_job: str | None
    demo: Demo | None
    gate: GateSetting
    limits: Limits


class FileError(BaseModel):
    line: int | None
    column: int | None
    problem: str
    expected: str
    fix: str


class RowError(FileError):
    field: str | None


class PreviewRow(BaseModel):
    line: int
    sentence: str | int | None
    aspect: str | int | None
    polarity: str | int | None
    start: str | int | None
    end: str | int | None
    errors: list[RowError]


class Finding(BaseModel):
    kind: str
    severity: str
    line: int | None
    message: str


class PreviewAnswer(BaseModel):
    format: str | None
    usable: bool
    count: int
    bad: int
    counts: dict[str, int]
    rows: list[PreviewRow]
    more: int
    file_error: FileError | None
    findings: list[Finding]


class JobError(BaseModel):
    message: str
    fix: str


class Override(BaseModel):
    reason: str
    at: str


class JobAnswer(BaseModel):
    """A job; `progress`, `epochs` and `gate` as docs/service.md says."""

    id: str
    domain: str
    state: str
    publish: str
    keep_test: bool
    demo: bool
    created: str
    changed: str
    counts: dict[str, int]
    threads: int
    base: int
    version: int | None
    sha256: str | None
    progress: dict[str, Any] | None
    epochs: list[dict[str, Any]]
    gate: dict[str, Any] | None
    error: JobError | None
    override: Override | None


class JobsAnswer(BaseModel):
    jobs: list[JobAnswer]


class RollbackAnswer(BaseModel):
    version: int
    before: int


class Sample(BaseModel):
    name: str
    rows: int
    learned: bool


class SamplesAnswer(BaseModel):
    samples: list[Sample]


class VersionEntry(BaseModel):
    version: int
    parent: int | None
    domain: str
    domains: list[str]
    live: bool
    in_use: bool
    written: str
    examples: int
    test: Scores | None
    capacity: dict[str, float] | None
    seconds: float | None
    sha256: str


class VersionsAnswer(BaseModel):
    live: int
    versions: list[VersionEntry]


class VersionAnswer(VersionEntry):
    counts: dict[str, dict[str, int]]
    classes: list[Polarities]
    epochs: list[dict[str, Any]]
    temperature: float
    keeps_texts: bool
    overlap: list[float] | None
    transfer: list[float] | None
    memory_bytes: int | None


class DomainMetrics(BaseModel):
    domain: str
    before: Scores | None
    after: Scores | None
    learned: Scores | None
    best: float | None
    forgetting: float | None


class Means(BaseModel):
    accuracy: float
    macro_f1: float
    own_f1: float


class MetricsAnswer(BaseModel):
    version: int
    parent: int | None
    domains: list[DomainMetrics]
    mean: Means | None
    forgetting: float | None


class Export(BaseModel):
    format: str
    file: str
    title: str
    available: bool
    reason: str | None


class ExportsAnswer(BaseModel):
    exports: list[Export]


class AuditEntry(BaseModel):
    at: str
    action: str
    job: str | None
    version: int | None
    before: int | None
    domain: str | None
    reason: str | None
    override: bool


class AuditAnswer(BaseModel):
    entries: list[AuditEntry]


class HealthAnswer(BaseModel):
    live: bool


class ReadyAnswer(BaseModel):
    ready: bool
    version: int
