"""The drawing of single charts for the browser, as plotly.js takes them: plain data, nothing is computed there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from classic.benchmark.figures.drawing import BACKBONE_STYLES, METRIC_NAMES, OTHER_STYLE, capacity_parts
from classic.benchmark.figures.plots import line_name
from classic.benchmark.figures.trials import BEST, CAUTION, LEVEL, TRIAL, moved, shifts
from classic.benchmark.runs.trials import Setting, changes_of, score_of, search_name, settings_of, value_of
from classic.benchmark.tables import transfer
from classic.benchmark.tables.rows import Run, TableRow
from classic.benchmark.tables.statistics import deviation, mean

Chart = dict[str, Any]  # a figure as plotly.js takes it: data and layout, and our words around it
BOTH = ("accuracy", "own_f1")
_MARKERS = {"o": "circle", "s": "square", "D": "diamond", "^": "triangle-up", "v": "triangle-down", "X": "x"}
_MARGIN = {"l": 10, "r": 10, "t": 36, "b": 10}  # above, the buttons
# ColorBrewer's, from loss over white to gain; plotly's own of this name goes through grey.
_RED_TO_BLUE = [[0, "#b2182b"], [0.25, "#f4a582"], [0.5, "#ffffff"], [0.75, "#92c5de"], [1, "#2166ac"]]
_CELL = 46  # pixels a number in a map needs
_LIGHT_TO_DARK = [[0, "#ffffd9"], [0.25, "#c7e9b4"], [0.5, "#41b6c4"], [0.75, "#225ea8"], [1, "#081d58"]]


def _chart(
    title: str, says: str, data: list[dict[str, Any]], layout: dict[str, Any], height: int, width: int = 0
) -> Chart:
    """A chart; narrower than ``width`` pixels it could not be read, and is scrolled sideways instead."""
    shared = {
        "height": height,
        "margin": _MARGIN,
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "colorway": [colour for colour, _ in BACKBONE_STYLES.values()],
    }
    return {"title": title, "says": says, "data": data, "layout": shared | layout, "width": width}


def _axis(title: str = "", **more: Any) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 12}, "automargin": True, **more}


def _number(value: float) -> float | None:
    """As strict JSON has it; four digits are what the tables show."""
    return None if math.isnan(value) else round(value, 4)


def _style(backbone: str) -> dict[str, Any]:
    colour, marker = BACKBONE_STYLES.get(backbone, OTHER_STYLE)
    return {"color": colour, "symbol": _MARKERS[marker], "size": 9}


def against_cost(rows: Sequence[TableRow]) -> Chart:
    data = []
    for backbone in dict.fromkeys(row.backbone for row in rows):
        mine = [row for row in rows if row.backbone == backbone]
        seconds = [mean([run.cpu_seconds_per_task for run in row.runs]) for row in mine]
        scores = {metric: [_number(mean(row.by_order(metric))) for row in mine] for metric in METRIC_NAMES}
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": backbone,
                "x": [round(value, 2) for value in seconds],
                "y": scores["own_f1"],
                "text": [row.label if row.section == "classic" else "" for row in mine],
                "textposition": "top left",  # the costly stand at the right edge
                "customdata": [
                    [row.label, *values]
                    for row, *values in zip(mine, scores["accuracy"], scores["macro_f1"], strict=True)
                ],
                "hovertemplate": "<b>%{customdata[0]}</b>, " + backbone + "<br>own F1 %{y:.4f}<br>"
                "macro-F1 %{customdata[2]:.4f}<br>accuracy %{customdata[1]:.4f}<br>%{x:.1f} s per task<extra></extra>",
                "marker": _style(backbone),
            }
        )
    x = _axis("CPU seconds of training per task", type="log", dtick="D2")
    y = _axis(METRIC_NAMES["own_f1"], tickformat=".0%")
    return _chart("Scores against cost", "up and to the left is better", data, {"xaxis": x, "yaxis": y}, 520)


def beside_the_paper(rows: Sequence[TableRow], printed: Sequence[tuple[float, float]]) -> Chart:
    names = [line_name(row) for row in rows]
    data: list[dict[str, Any]] = []
    for place, metric in enumerate(("accuracy", "macro_f1")):
        ours = [row.by_order(metric) for row in rows]
        axis = {"xaxis": f"x{place + 1 if place else ''}", "y": names, "type": "scatter", "mode": "markers"}
        spread = [_number(deviation(values)) or 0 for values in ours]
        hover = f"%{{y}}<br>{METRIC_NAMES[metric]} %{{x:.4f}}"
        data += [
            axis
            | {
                "name": "ours",
                "x": [_number(mean(values)) for values in ours],
                "error_x": {"type": "data", "array": spread, "thickness": 1},
                "marker": {"color": "#0072B2", "size": 8},
                "hovertemplate": f"{hover} ± %{{error_x.array:.4f}}<extra>ours</extra>",
                "showlegend": not place,
            },
            axis
            | {
                "name": "the paper",
                "x": [_number(pair[place]) for pair in printed],
                "marker": {"color": "#000", "symbol": "line-ns-open", "size": 11, "line": {"width": 2}},
                "hovertemplate": f"{hover}<extra>the paper</extra>",
                "showlegend": not place,
            },
        ]
    left = _axis("accuracy", domain=[0, 0.48], tickformat=".0%")
    right = _axis("macro-F1", domain=[0.52, 1], tickformat=".0%")
    y = _axis(autorange="reversed", dtick=1)
    height = 160 + 19 * len(rows)
    says = "over another encoder than the paper's; bars are deviations over orders"
    axes = {"xaxis": left, "xaxis2": right, "yaxis": y}
    return _chart("Beside the paper", says, data, axes, height, 600)


def curves(rows: Sequence[TableRow]) -> list[Chart]:
    found = []
    for metric in BOTH:
        lines = {line_name(row): values for row in rows if (values := transfer.learning_curve(row, metric))}
        data = [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": list(range(1, len(values) + 1)),
                "y": list(map(_number, values)),
            }
            for name, values in lines.items()
        ]
        axes = {"xaxis": _axis("tasks learned"), "yaxis": _axis(METRIC_NAMES[metric], tickformat=".0%")}
        says = "the average over the tasks learned so far"
        found += [_chart(f"Learning curve, {METRIC_NAMES[metric]}", says, data, axes, 460)] if data else []
    return found


def maps(title: str, says: str, rows: Sequence[TableRow], measure: Any, *, bad: bool = False) -> list[Chart]:
    found: list[Chart] = []
    for metric in BOTH:
        lines = {line_name(row): scores for row in rows if (scores := measure(row, metric))}
        found += difference_map(title, says, metric, lines, bad=bad)
    return found


def difference_map(
    title: str, says: str, metric: str, lines: Mapping[str, Mapping[str, float]], *, bad: bool = False
) -> list[Chart]:
    """Systems against tasks, in percentage points; gains blue, losses red."""
    if not lines:
        return []
    tasks = list(dict.fromkeys(task for scores in lines.values() for task in scores))
    grid = [[_number(scores.get(task, math.nan)) for task in tasks] for scores in lines.values()]
    for row, scores in zip(grid, lines.values(), strict=True):
        row.append(_number(mean(list(scores.values()))))
    extent = max((abs(value) for row in grid for value in row if value is not None), default=0.0)
    extent, columns = max(extent, 0.05), [*tasks, "mean"]
    data = _heat(grid, columns, list(lines), -extent, extent, _RED_TO_BLUE, text="%{z:+.1%}")
    data["reversescale"] = bad
    whole = f"{title}, {METRIC_NAMES[metric]}"
    axes = {"xaxis": _axis(tickangle=-45, dtick=1), "yaxis": _axis(autorange="reversed", dtick=1)}
    width = 240 + _CELL * len(columns)
    return [_chart(whole, f"{says}, in percentage points", [data], axes, 150 + 19 * len(lines), width)]


def _heat(
    grid: Sequence[Sequence[float | None]],
    columns: Sequence[str],
    rows: Sequence[str],
    low: float,
    high: float,
    colours: str | list[list[Any]],
    text: str,
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": [list(row) for row in grid],
        "x": list(columns),
        "y": list(rows),
        "zmin": low,
        "zmax": high,
        "colorscale": colours,
        "texttemplate": text,
        "textfont": {"size": 9},
        "hovertemplate": f"%{{y}} → %{{x}}: {text}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"tickformat": ".0%", "thickness": 12},
    }


def charts_of(run: Run) -> list[Chart]:
    tasks = run.matrix.tasks
    size = len(tasks)
    square = {
        "xaxis": _axis("tested on", tickangle=-45, dtick=1),
        "yaxis": _axis("after learning", autorange="reversed", dtick=1),
    }
    shape = (200 + 20 * size, 200 + _CELL * size)
    charts = []
    for metric in BOTH:
        grid = [[_number(run.matrix.value(metric, t, u)) for u in range(size)] for t in range(size)]
        low = min(value for row in grid for value in row if value is not None)
        data = _heat(grid, tasks, tasks, low, 1.0, "Cividis", text="%{z:.0%}")
        says = "what was not tested is blank"
        charts.append(_chart(f"Result matrix, {METRIC_NAMES[metric]}", says, [data], square, *shape))
    charts.append(_forward_and_final(run))
    for key, title, says, axes in (
        ("transfer", "CKS: what each domain draws on", "shares of attention", ("attention to", "while learning")),
        (
            "overlap",
            "Overlap of masks",
            "share of a domain's units that another uses, too",
            ("are used by", "units of"),
        ),
    ):
        if any(run.told(key)):
            grid = [[_number(value) for value in row or ()] for row in run.told(key)]
            data = _heat(grid, tasks, tasks, 0.0, 1.0, _LIGHT_TO_DARK, text="%{z:.0%}")
            layout = {
                "xaxis": _axis(axes[0], tickangle=-45, dtick=1),
                "yaxis": _axis(axes[1], autorange="reversed", dtick=1),
            }
            charts.append(_chart(title, says, [data], layout, *shape))
    if any(run.told("capacity")):
        charts.append(_capacity(run))
    return charts


def _forward_and_final(run: Run) -> Chart:
    data = []
    for when, name, marker in (
        ("forward", "right after learning", {"symbol": "circle-open", "color": "#000", "size": 9}),
        ("final", "at the end", {"symbol": "circle", "color": "#0072B2", "size": 9}),
    ):
        scores = run.by_task("own_f1", "forward" if when == "forward" else "final")
        y = list(map(_number, scores.values()))
        data.append({"type": "scatter", "mode": "markers", "name": name, "x": list(scores), "y": y, "marker": marker})
    axes = {"xaxis": _axis(tickangle=-45, dtick=1), "yaxis": _axis(METRIC_NAMES["own_f1"], tickformat=".0%")}
    width = 100 + 22 * len(run.matrix.tasks)
    return _chart("Each task, then and at the end", "in the order they were learned", data, axes, 420, width)


def _capacity(run: Run) -> Chart:
    data: list[dict[str, Any]] = []
    for label, colour, heights in capacity_parts(run.told("capacity")):
        x, y = list(run.matrix.tasks), list(map(_number, heights))
        data.append({"type": "bar", "name": label, "x": x, "y": y, "marker": {"color": colour}})
    axes = {"xaxis": _axis(tickangle=-45, dtick=1), "yaxis": _axis("share of units", tickformat=".0%", range=[0, 1])}
    width = 100 + 22 * len(run.matrix.tasks)
    return _chart("Units in use", "of the layers that can run out", data, axes | {"barmode": "stack"}, 420, width)


def trial_panels(trials: Sequence[Run]) -> Chart:
    """A panel for each setting of a search, the one that moved the score furthest first; trials come best first."""
    settings = settings_of(trials)
    share = [1.2 + len(setting.levels) for setting in settings]
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": []}
    for place, setting in enumerate(settings):
        number, left = str(place + 1) if place else "", sum(share[:place]) / sum(share)
        right = left + (share[place] - 0.35) / sum(share)
        layout[f"xaxis{number}"] = _axis(
            domain=[left, right],
            tickvals=list(range(len(setting.levels))),
            ticktext=list(setting.levels),
            range=[-0.6, len(setting.levels) - 0.4],
            showgrid=False,
            zeroline=False,
        )
        words = f"<b>{escape(setting.name)}</b><br>{moved(setting)}"
        where = {"x": left, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
        layout["annotations"].append(where | {"text": words, "align": "left", "showarrow": False})
        data += [trace | {"xaxis": f"x{number}", "showlegend": not place} for trace in _traces(setting, trials)]
    tested = "validation" if trials[0].spec.valid else "test"
    layout["yaxis"] = _axis(f"{METRIC_NAMES['own_f1']}, {tested} sets", tickformat=".1%")
    layout["margin"] = _MARGIN | {"t": 84}
    layout["legend"] = {"orientation": "h", "x": 0, "y": -0.12, "yanchor": "top"}
    title = f"What moved the score: {search_name(trials[0])}"
    width = 80 + round(42 * sum(share))
    return _chart(title, f"{len(trials)} trials. {CAUTION}", data, layout, 460, width) | {"linked": True}


def _traces(setting: Setting, trials: Sequence[Run]) -> list[dict[str, Any]]:
    names = list(setting.levels)
    columns = [names.index(value_of(trial, setting.key)) for trial in trials]
    rest = len(trials) - 1
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "a trial; the star is the best",
        "x": [round(column + shift, 4) for column, shift in zip(columns, shifts(columns), strict=True)],
        "y": [_number(score_of(trial)) for trial in trials],
        "text": [escape(changes_of(trial)).replace(", ", "<br>") for trial in trials],
        "hovertemplate": "<b>%{y:.4f}</b><br>%{text}<extra></extra>",
        "marker": {
            "color": [BEST, *[TRIAL] * rest],
            "symbol": ["star", *["circle"] * rest],
            "size": [15, *[8] * rest],
            "opacity": 0.8,
        },
        "selected": {"marker": {"color": "#D55E00", "opacity": 1, "size": 16}},
        "unselected": {"marker": {"opacity": 0.25}},
    }
    levels = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "with this value",
        "x": list(range(len(names))),
        "y": [_number(level) for level in setting.levels.values()],
        "hovertemplate": f"{escape(setting.name)} %{{text}}: %{{y:.4f}}<extra></extra>",
        "text": [escape(name) for name in names],
        "line": {"color": "#c4cad1", "width": 1},
        "marker": {"symbol": "line-ew-open", "size": 22, "color": LEVEL, "line": {"width": 2, "color": LEVEL}},
    }
    return [levels, points]
