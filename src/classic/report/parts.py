"""The parts of the report page, each as plain data for its template."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from classic.evaluation.matrix import ResultMatrix
from classic.report.charts import (
    MISSING,
    HeatCell,
    around_zero,
    band,
    fit_scale,
    heat_range,
    heat_style,
    known,
    percent,
    points,
    shorten,
    stack,
    trace,
)

_PLOT_HEIGHT, _PANEL_HEIGHT = 190.0, 46.0
_SLANTED = 8  # with more domains, labels under a chart stand upright
_LEAST_LIMIT = 0.01  # a tenth of a point must not fill a bar chart from edge to edge


def cells(matrix: ResultMatrix, metric: str) -> list[float]:
    """All values of the lower triangle, NaN where there is none."""
    return [value for t in range(len(matrix.tasks)) for value in matrix.row(metric, t)]


def coverage(matrix: ResultMatrix) -> dict[str, Any]:
    """How much of the lower triangle was tested, and of which kind what is there is."""
    count = len(matrix.tasks)
    tested = {(t, u) for t in range(count) for u in range(t + 1) if not math.isnan(matrix.value("accuracy", t, u))}
    everything = count * (count + 1) // 2
    kind = "some"
    if len(tested) == everything:
        kind = "all"
    elif not tested:
        kind = "none"
    elif all(t == u for t, u in tested):
        kind = "diagonal"
    return {"kind": kind, "tested": len(tested), "of": everything}


def result_heat(matrix: ResultMatrix, metric: str) -> list[dict[str, Any]]:
    """Rows of the heat map of results: after each domain, all domains, and the average."""
    low, high = heat_range(cells(matrix, metric))
    rows = []
    for t, after in enumerate(matrix.tasks):
        row = []
        for u, tested in enumerate(matrix.tasks):
            value = matrix.value(metric, t, u)
            if u > t:
                row.append(HeatCell("", "later", f"{tested} was not learned yet"))
            elif math.isnan(value):
                row.append(HeatCell(MISSING, "missing", f"{tested} was not tested after {after}"))
            else:
                style = heat_style(value, low, high) + (" diagonal" if u == t else "")
                row.append(HeatCell(percent(value), style, f"{tested} after learning {after}: {percent(value)} %"))
        values = matrix.row(metric, t)
        mean = math.fsum(values) / len(values)
        rows.append({"name": after, "cells": row, "mean": percent(mean)})
    return rows


def forgetting(matrix: ResultMatrix, metric: str) -> dict[str, float]:
    """Loss since the best earlier result, by domain; empty if the newest version was not tested."""
    return matrix.forgetting_by_task(metric) if matrix.learned == len(matrix.tasks) else {}


def backward(matrix: ResultMatrix, metric: str) -> dict[str, float]:
    """Gain since the domain was learned, by domain; empty if the newest version was not tested."""
    last = len(matrix.tasks) - 1
    if matrix.learned <= last:
        return {}
    return {
        name: matrix.value(metric, last, u) - matrix.value(metric, u, u) for u, name in enumerate(matrix.tasks[:last])
    }


def change_bars(matrix: ResultMatrix, metric: str) -> dict[str, Any] | None:
    """Bars of forgetting and backward transfer; None if there is nothing to show."""
    lost, gained = forgetting(matrix, metric), backward(matrix, metric)
    found = known([*lost.values(), *gained.values()])
    if not found:
        return None
    limit = max(_LEAST_LIMIT, *(abs(value) for value in found))
    rows = []
    for name in lost:
        pair = (lost[name], gained[name])
        rows.append(
            {
                "name": name,
                "values": [points(value) for value in pair],
                "bars": [None if math.isnan(value) else around_zero(value, limit) for value in pair],
            }
        )
    return {"rows": rows, "limit": limit}


def curve_chart(matrix: ResultMatrix, metric: str, averages: Sequence[float], name: str) -> dict[str, Any]:
    """The learning curve: the average over the domains so far, and each domain when it was learned."""
    count = len(matrix.tasks)
    fresh = [matrix.value(metric, t, t) for t in range(count)]
    scale = fit_scale([*averages, *fresh], _PLOT_HEIGHT)
    decimals = 0 if round(scale.step * 100, 6).is_integer() else 1
    upright = count > _SLANTED
    labels = [shorten(task, 24 if upright else 16) for task in matrix.tasks]
    reach = max(map(len, labels)) * (6.6 if upright else 4.9)  # how far down the turned labels go, in pixels
    return {
        "height": _PLOT_HEIGHT,
        "total": math.ceil(_PLOT_HEIGHT + 22 + reach),
        "ticks": [(scale.y(value), f"{100 * value:.{decimals}f}") for value in scale.ticks()],
        "labels": [(band(index, count), label, matrix.tasks[index]) for index, label in enumerate(labels)],
        "upright": upright,
        "series": [
            trace(
                "right after it was learned",
                "fresh",
                fresh,
                scale,
                [
                    f"{task}, right after it was learned: {percent(v)} %"
                    for task, v in zip(matrix.tasks, fresh, strict=True)
                ],
            ),
            trace(
                "average over all domains so far",
                "average",
                averages,
                scale,
                [f"average after {task}: {percent(v)} %" for task, v in zip(matrix.tasks, averages, strict=True)],
            ),
        ],
        "rows": [
            (task, percent(average), percent(own))
            for task, average, own in zip(matrix.tasks, averages, fresh, strict=True)
        ],
        "about": _curve_in_words(name, averages, fresh),
    }


def _curve_in_words(name: str, averages: Sequence[float], fresh: Sequence[float]) -> str:
    own = known(fresh)
    words = f"{name} right after learning: {percent(min(own))} to {percent(max(own))} percent. " if own else ""
    if math.isnan(averages[-1]):
        return words + "The average over all domains at the end is not known."
    return words + f"The average over all {len(averages)} domains at the end is {percent(averages[-1])} percent."


def capacity_bars(domains: Sequence[str], records: Sequence[dict[str, float] | None]) -> list[dict[str, Any]]:
    """One stacked bar per domain: units new, shared, kept by earlier domains only, free. Empty if none are counted."""
    rows = []
    for name, record in zip(domains, records, strict=True):
        if not record:
            continue
        new, shared, free = record["new"], record["shared"], record["free"]
        shares = [new, shared, max(0.0, 1 - new - shared - free), free]
        rows.append({"name": name, "shares": [percent(share) for share in shares], "bars": stack(shares)})
    return rows


def share_map(domains: Sequence[str], rows: Sequence[Sequence[float] | None]) -> dict[str, Any] | None:
    """A heat map of shares that each new domain has on the domains so far.

    Args:
        domains: Names in order.
        rows: One list per domain, the domain itself last; None or too short where nothing was measured.
    """
    shown = [
        (t, row) for t, row in enumerate(rows) if t > 0 and row is not None and len(row) == t + 1
    ]  # the first domain has nobody to look at
    if not shown:
        return None
    # A domain's share on itself is far larger: coloured, it would make all others look the same.
    low, high = heat_range([0.0, *(value for t, row in shown for value in row[:t])])
    result = []
    for t, row in shown:
        best = max(row[:t])
        line = []
        for u, other in enumerate(domains):
            if u > t:
                line.append(HeatCell("", "later", f"{other} was not learned yet"))
                continue
            style = heat_style(row[u], low, high) if u < t else "own"
            marked = " most" if u < t and row[u] == best > 0 else ""
            line.append(
                HeatCell(f"{100 * row[u]:.0f}", style + marked, f"{domains[t]} on {other}: {percent(row[u])} %")
            )
        result.append({"name": domains[t], "cells": line})
    return {"rows": result, "ends": (low, high)}


def training_panels(domains: Sequence[str], logs: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """Small charts of validation loss and F1 by epoch, all on the same two scales."""
    losses = [[float(epoch.get("valid_loss", math.nan)) for epoch in log] for log in logs]
    scores = [[float(epoch.get("valid_f1", math.nan)) for epoch in log] for log in logs]
    loss_scale = fit_scale([value for each in losses for value in each], _PANEL_HEIGHT, least=0.1, most=math.inf)
    score_scale = fit_scale([value for each in scores for value in each], _PANEL_HEIGHT, least=0.1)
    panels = []
    for name, log, loss, score in zip(domains, logs, losses, scores, strict=True):
        chosen = max((place for place, epoch in enumerate(log) if epoch.get("best")), default=len(log) - 1)
        validated = bool(known(loss))
        panels.append(
            {
                "name": name,
                "epochs": len(log),
                "chosen": chosen,
                "x": band(chosen, len(log)) if log else 50.0,
                "validated": validated,
                "charts": [
                    trace("loss", "loss", loss, loss_scale, _by_epoch("loss", [f"{value:.3f}" for value in loss])),
                    trace("F1", "score", score, score_scale, _by_epoch("F1", [percent(value) for value in score])),
                ],
                "at": (f"{loss[chosen]:.3f}", percent(score[chosen])) if validated else (MISSING, MISSING),
                "rows": [
                    {
                        "epoch": n + 1,
                        "loss": MISSING if math.isnan(loss[n]) else f"{loss[n]:.4f}",
                        "f1": percent(score[n]),
                        "terms": ", ".join(f"{term} {value:.3f}" for term, value in epoch.get("terms", {}).items()),
                        "chosen": n == chosen,
                    }
                    for n, epoch in enumerate(log)
                ],
            }
        )
    return {
        "panels": panels,
        "height": _PANEL_HEIGHT,
        "loss_ends": (f"{loss_scale.low:g}", f"{loss_scale.high:g}"),
        "score_ends": (f"{100 * score_scale.low:g}", f"{100 * score_scale.high:g}"),
        "any": any(panel["validated"] for panel in panels),
    }


def _by_epoch(name: str, values: Sequence[str]) -> list[str]:
    return [f"epoch {number}: {name} {value}" for number, value in enumerate(values, start=1)]
