"""What the API answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from classic.serving.requests import Polarities, Span


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


class ColumnsAnswer(BaseModel):
    sentence: int | None
    aspect: int | None
    polarity: int | None
    date: int | None
    product: int | None


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
    domains: int = Field(description="Domains that were taught; the starter is not one of them.")
    starter: bool = Field(description="Whether the store began with the starter.")
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
