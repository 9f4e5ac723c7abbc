"""Uploads: every row looked at, the good and the bad, before anything starts. A file is read once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from classic.data.check import check_rows
from classic.data.drafts import Draft, faulty_field, read_drafts
from classic.data.readers import FORMATS, Row, detect_format
from classic.data.readers.row import STARS
from classic.data.tasks import split_task
from classic.errors import DataError, InputError
from classic.learning.teach import check_task
from classic.serving.problems import detail, invalid, problem_of
from classic.types import POLARITIES, Example, Task

MOST_ROWS = 50_000
_MOST_LISTED = 5_000
_MOST_FINDINGS = 200
_MOST_DETAILS = 100
_TEXT_FORMATS = ("authors-json", "semeval-xml", "hu-liu", "csv", "jsonl", "json-list", "pyabsa", "tuples")
_HERE = {
    STARS: "of a table, the form “Which column is what?” on the page asks from how many stars on a row is positive",
    "`classic find`": "POST /v1/find, on the page Overview",
    ", ".join(FORMATS): ", ".join(_TEXT_FORMATS),
}
"""What readers say to somebody at a terminal, and what is said here instead."""
_FIELDS = ("sentence", "aspect", "polarity", "start", "end")


def preview(path: Path) -> dict[str, Any]:
    """All that is known of an upload; see `POST /v1/teach/check`."""
    rows: list[dict[str, Any]] = []
    good: list[Row] = []
    counts: Counter[str] = Counter()
    total = bad = more = 0
    problem: dict[str, Any] | None = None
    form = None
    try:
        form = _text_format(path)
        for draft in read_drafts(path):
            total += 1
            if total > MOST_ROWS:
                continue  # only counted
            if draft.error:
                bad += 1
            elif draft.example:
                good.append(Row(draft.example, draft.line))
                counts[str(draft.example.polarity)] += 1
            if total <= _MOST_LISTED or draft.error:
                rows.append(_row(draft))
            else:
                more += 1
    except DataError as error:
        problem = _file_error(error)
    if problem is None and total > MOST_ROWS:
        problem = _problem(f"the file has {total:,} rows, and {MOST_ROWS:,} may be sent at once", fix="split it")
    findings: list[dict[str, Any]] = []
    if problem is None and not bad:
        refused = _refusal(split_task("new", (row.example for row in good)))
        if refused:
            problem = _problem(refused[0], fix=refused[1])
        else:
            findings = _findings(good)
    return {
        "format": form,
        "usable": problem is None and not bad,
        "count": total,
        "bad": bad,
        "counts": {str(polarity): counts[str(polarity)] for polarity in POLARITIES},
        "rows": rows,
        "more": more,
        "file_error": problem,
        "findings": findings,
    }


def read_upload(domain: str, path: Path) -> Task:
    """The task an upload makes.

    Raises:
        ApiError: 422, with the places of the bad rows.
    """
    details: list[dict[str, Any]] = []
    good: list[Example] = []
    total = 0
    try:
        _text_format(path)
        for draft in read_drafts(path):
            total += 1
            if total > MOST_ROWS:
                raise invalid(f"the file has more than {MOST_ROWS:,} rows", fix="split it")
            if draft.example:
                good.append(draft.example)
            elif draft.error and len(details) < _MOST_DETAILS:
                details.append(_detail(draft.error))
    except DataError as error:
        details.append(_detail(error))
    if details:
        raise invalid(
            "rows of the file cannot be used", fix="mend them; POST /v1/teach/check shows them all", details=details
        )
    task = split_task(domain, good)
    if refused := _refusal(task):
        raise invalid(refused[0], fix=refused[1])
    return task


def _text_format(path: Path) -> str:
    """The format of an upload, if it is text: then it holds no more than its size.

    A packed one may hold a thousand times as much: 1,099 bytes of Parquet became a gigabyte in memory.
    """
    form = detect_format(path)
    if form not in _TEXT_FORMATS:
        raise DataError(
            f"{form} is not accepted over HTTP: a small file of it may hold very much",
            path=path.name,
            expected="text, as CSV, JSONL or XML",
            fix="save it as CSV, or use `classic learn` on the machine itself",
        )
    return form


def _refusal(task: Task) -> tuple[str, str] | None:
    """Why good rows can still not be learned, and what to do; None if they can."""
    try:
        check_task(task)
    except InputError as error:
        few = len(task.train) < 2
        return "there are too few training rows" if few else "all training rows have one polarity", error.fix
    return None


def _row(draft: Draft) -> dict[str, Any]:
    errors = []
    if draft.error:
        field = faulty_field(draft.values)
        errors.append({"field": field} | _file_error(draft.error))
    return {"line": draft.line, **{name: _shown(draft.values.get(name)) for name in _FIELDS}, "errors": errors}


def _shown(value: object) -> str | int | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be sent
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _file_error(error: DataError) -> dict[str, Any]:
    return _problem(error.problem, _here(error.expected), _here(error.fix), error.line, error.column)


def _here(text: str) -> str:
    for said, here in _HERE.items():
        text = text.replace(said, here)
    return text


def _problem(
    problem: str, expected: str = "", fix: str = "", line: int | None = None, column: int | None = None
) -> dict[str, Any]:
    return {"line": line, "column": column, "problem": problem, "expected": expected, "fix": fix}


def _detail(error: DataError) -> dict[str, Any]:
    return detail(problem_of(error), line=error.line, column=error.column)


def _findings(rows: list[Row]) -> list[dict[str, Any]]:
    worth = [finding for finding in check_rows("new", rows).findings if finding.severity != "info"]
    return [
        {"kind": finding.kind, "severity": finding.severity, "line": finding.line, "message": finding.message}
        for finding in worth[:_MOST_FINDINGS]
    ]
