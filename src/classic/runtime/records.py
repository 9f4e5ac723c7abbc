"""Predictions as lines of JSONL or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from classic.data.writers import safe_cell
from classic.types import Prediction

_COLUMNS = (
    *("sentence", "aspect", "polarity", "positive", "negative", "neutral"),
    *("nearest_domain", "unfamiliar", "truncated", "version", "start", "end"),
)


def record(answer: Prediction) -> dict[str, Any]:
    """A prediction as plain JSON values."""
    return {
        "sentence": answer.sentence,
        "aspect": answer.aspect,
        "span": list(answer.span) if answer.span else None,
        "polarity": str(answer.polarity),
        "positive": round(answer.probabilities[0], 6),
        "negative": round(answer.probabilities[1], 6),
        "neutral": round(answer.probabilities[2], 6),
        "nearest_domain": answer.nearest_domain,
        "unfamiliar": answer.unfamiliar,
        "truncated": answer.truncated,
        "version": answer.version,
    }


def header(form: str) -> str:
    """What stands before the first prediction."""
    return "" if form == "jsonl" else ",".join(_COLUMNS) + "\n"


def lines(answers: Iterable[Prediction], form: str) -> str:
    """Predictions as text, one line each unless a sentence has several."""
    if form == "jsonl":
        return "".join(json.dumps(record(answer), ensure_ascii=False) + "\n" for answer in answers)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    for answer in answers:
        values = record(answer)
        span = values.pop("span")
        values |= {"start": span[0] if span else "", "end": span[1] if span else ""}
        # A spreadsheet must not take a review for a formula.
        writer.writerow({key: safe_cell(value) if isinstance(value, str) else value for key, value in values.items()})
    return text.getvalue()
