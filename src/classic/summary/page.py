"""The summary as one HTML file: no script, no request, nothing beside it. Made to be sent round."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from classic._version import __version__
from classic.report.charts import HeatCell, Scale, heat_style, percent, points, shorten, stack, trace
from classic.summary.summary import LEAST, AspectSummary, Cell, Summary
from classic.types import POLARITIES, Polarity

MOST_SHOWN = 25
_MOST_QUOTED = 20
_IN_BRIEF = 5
_OVER_TIME = 12
_LINE = 44.0  # pixels of a small line chart
_UNFAMILIAR = 0.3  # share of mentions from which on the page warns


def render_page(summary: Summary) -> str:
    """The page. Equal summaries give equal pages."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    # Reviews come from outside: nothing reaches the page unescaped.
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "points": points, "whole": lambda value: f"{100 * value:.0f}"}
    shown = summary.aspects[:MOST_SHOWN]
    everything = summary.everything
    return environment.get_template("summary.html.j2").render(
        summary=summary,
        program=__version__,
        shown=shown,
        hidden=summary.aspects[MOST_SHOWN:],
        bars=_bars(shown),
        liked=stands_out(summary, Polarity.POSITIVE),
        criticised=stands_out(summary, Polarity.NEGATIVE),
        quoted=shown[:_MOST_QUOTED],
        lines=_lines(summary),
        change=[aspect for aspect in summary.aspects if aspect.change and aspect.change.sure],
        heat=_heat(summary),
        unfamiliar=everything.unfamiliar / everything.mentions if everything.mentions else 0.0,
        warn_from=_UNFAMILIAR,
        least=LEAST,
        polarities=[str(polarity) for polarity in POLARITIES],
        pieces=_pieces,
    )


def stands_out(summary: Summary, polarity: Polarity) -> list[AspectSummary]:
    """The aspects that are clearly more often liked, or criticised, than all aspects together: the clearest first."""
    usual = summary.everything.share(polarity).value
    clear = [each for each in summary.aspects if each.mentions >= LEAST and each.share(polarity).low > usual]
    return sorted(clear, key=lambda aspect: -aspect.share(polarity).low)[:_IN_BRIEF]


def _bars(aspects: Sequence[AspectSummary]) -> list[dict[str, Any]]:
    """Stacked bars, as long as the aspect is frequent; positive, neutral, negative, so that praise and blame lie apart."""
    most = max((aspect.mentions for aspect in aspects), default=1)
    order = (Polarity.POSITIVE, Polarity.NEUTRAL, Polarity.NEGATIVE)
    return [
        {
            "aspect": aspect,
            "parts": list(zip(order, stack([aspect.counts[p.column] / most for p in order]), strict=True)),
            "counts": {str(p): aspect.counts[p.column] for p in order},
        }
        for aspect in aspects
    ]


def _lines(summary: Summary) -> list[dict[str, Any]]:
    """The positive share over time, of all aspects together and of the most frequent ones."""
    if not summary.periods:
        return []
    scale = Scale(0.0, 1.0, _LINE, 0.5)
    rows = []
    for aspect in (summary.everything, *summary.aspects[:_OVER_TIME]):
        known = [cell.positive for cell in aspect.periods]
        labels = [_told(cell) for cell in aspect.periods]
        values = [at.value if at else float("nan") for at in known]
        series = trace("positive", "score", values, scale, labels)
        there = [at for at in known if at]
        ends = [(mark.x, scale.y(at.high), scale.y(at.low)) for mark, at in zip(series.marks, there, strict=True)]
        rows.append({"aspect": aspect, "series": series, "ends": ends, "height": _LINE})
    return rows if any(row["ends"] for row in rows) else []


def _heat(summary: Summary) -> list[dict[str, Any]]:
    """The positive share by aspect and product."""
    rows = []
    for aspect in (summary.everything, *summary.aspects[:MOST_SHOWN]) if summary.products else ():
        cells = []
        for cell in aspect.products:
            at, told = cell.positive, f"{aspect.name or 'all aspects'}, {_told(cell)}"
            shown = ("–", "missing") if at is None else (f"{100 * at.value:.0f}", heat_style(at.value, 0.0, 1.0))
            cells.append(HeatCell(*shown, told))
        if any(cell.style != "missing" for cell in cells):
            rows.append({"name": shorten(aspect.name or "all aspects", 40), "cells": cells})
    return rows


def _told(cell: Cell) -> str:
    """A cell in words."""
    at = cell.positive
    if at is None:
        return f"{cell.name}: {cell.mentions} mentions, too few"
    return f"{cell.name}: {percent(at.value)} % positive ({percent(at.low)} to {percent(at.high)}), {cell.mentions} mentions"


def _pieces(sentence: str, start: int, end: int) -> tuple[str, str, str]:
    """A sentence before, at and behind its aspect."""
    return sentence[:start], sentence[start:end], sentence[end:]


def _template(name: str) -> str | None:
    for room in ("classic.summary", "classic.report"):  # style and charts are the report's
        file = files(room).joinpath("templates", name)
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None
