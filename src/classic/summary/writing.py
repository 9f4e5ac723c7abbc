"""The summary as JSON and as a table; the page is in `classic.summary.page`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from classic.data.writers import safe_cell
from classic.errors import InputError
from classic.files import json_bytes, write_bytes
from classic.summary.page import render_page
from classic.summary.summary import AspectSummary, Cell, Summary
from classic.types import POLARITIES

FORMS = (".html", ".json", ".csv")


def write_summary(summary: Summary, path: Path) -> None:
    """Writes the summary in the form the file's name asks for; replaces what is there."""
    form = path.suffix.casefold()
    made = {".html": lambda: render_page(summary).encode(), ".json": lambda: json_bytes(to_dict(summary))}
    try:
        write_bytes(path, made.get(form, lambda: to_csv(summary).encode())())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", fix="choose another place") from None


def check_target(path: Path, source: Path) -> None:
    """Refuses a place that cannot be meant, before anything is computed."""
    if path.suffix.casefold() not in FORMS:
        raise InputError(f"{path} is no page, JSON or CSV", fix="name a file that ends in .html, .json or .csv")
    if path.is_dir() or not path.resolve().parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"the summary cannot be written: {wrong}", fix="name a file in a folder that exists")
    if path.exists() and source.exists() and path.samefile(source):
        raise InputError("input and output are the same file", fix="choose another name for --out")


def to_csv(summary: Summary) -> str:
    """A row per aspect."""
    names = [str(polarity) for polarity in POLARITIES]
    ends = ("share", "low", "high")
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    head = ["aspect", "also", "mentions", *names, *(f"{name}_{end}" for name in names for end in ends), "unfamiliar"]
    table.writerow([*head, *(f"typical_{name}" for name in names)])
    for aspect in summary.aspects:
        shares = [round(value, 4) for each in aspect.shares for value in (each.value, each.low, each.high)]
        typical = [safe_cell(quotes[0].sentence) if quotes else "" for quotes in aspect.quotes]
        known = safe_cell(aspect.name), safe_cell("; ".join(aspect.names))
        table.writerow([*known, aspect.mentions, *aspect.counts, *shares, aspect.unfamiliar, *typical])
    return text.getvalue()


def to_dict(summary: Summary) -> dict[str, Any]:
    """The summary as plain JSON values."""
    return {
        "title": summary.title,
        "source": summary.source,
        "model": summary.model,
        "columns": dict(summary.columns),
        "reviews": summary.reviews,
        "reviews_without_aspect": summary.silent,
        "rows_without_text": summary.empty,
        "reviews_without_date": summary.undated,
        "mentions": summary.everything.mentions,
        "unfamiliar_mentions": summary.everything.unfamiliar,
        "everything": _as_dict(summary.everything, names=False),
        "aspects": [_as_dict(aspect) for aspect in summary.aspects],
        "rare": {"names": summary.rare[0], "mentions": summary.rare[1]},
        "period_unit": summary.unit,
        "halves_at": summary.periods[summary.cut] if summary.periods else None,
    }


def _as_dict(aspect: AspectSummary, *, names: bool = True) -> dict[str, Any]:
    said = {str(polarity): polarity.column for polarity in POLARITIES}
    plain: dict[str, Any] = {"aspect": aspect.name, "also": list(aspect.names)} if names else {}
    plain |= {
        "mentions": aspect.mentions,
        "counts": {name: aspect.counts[column] for name, column in said.items()},
        "shares": {name: vars(aspect.shares[column]) for name, column in said.items()},
        "unfamiliar": aspect.unfamiliar,
    }
    if aspect.periods:
        plain["periods"] = [_cell(cell, said) for cell in aspect.periods]
        plain["change"] = None if aspect.change is None else vars(aspect.change) | {"sure": aspect.change.sure}
    if aspect.products:
        plain["products"] = [_cell(cell, said) for cell in aspect.products]
    if names:
        plain["typical"] = {
            name: [
                {"sentence": q.sentence, "line": -q.line, "start": q.start, "end": q.end} for q in aspect.quotes[column]
            ]
            for name, column in said.items()
        }
    return plain


def _cell(cell: Cell, said: Mapping[str, int]) -> dict[str, Any]:
    positive = cell.positive
    return {
        "name": cell.name,
        "counts": {name: cell.counts[column] for name, column in said.items()},
        "positive": None if positive is None else vars(positive),
    }
