"""A table and its pictures as one page for the browser: nothing is fetched, the chart library is inside."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from classic.benchmark import transfer
from classic.benchmark.figures import BACKBONE_STYLES, METRIC_NAMES, OTHER_STYLE, capacity_parts
from classic.benchmark.plots import alone_rows, drawn_rows, forward_transfers, line_name
from classic.benchmark.rendering import html_part
from classic.benchmark.rows import Row, Run
from classic.benchmark.statistics import deviation, mean
from classic.benchmark.suites import Selection
from classic.benchmark.tables import make_table, paper_scores
from classic.errors import InputError

Chart = dict[str, Any]  # a figure as plotly.js takes it: data and layout, and our words around it
_MARKERS = {"o": "circle", "s": "square", "D": "diamond", "^": "triangle-up", "v": "triangle-down", "X": "x"}
_MARGIN = {"l": 10, "r": 10, "t": 36, "b": 10}  # above, the buttons
# ColorBrewer's, from loss over white to gain; plotly's own of this name goes through grey.
_RED_TO_BLUE = [[0, "#b2182b"], [0.25, "#f4a582"], [0.5, "#ffffff"], [0.75, "#92c5de"], [1, "#2166ac"]]
_LIGHT_TO_DARK = [[0, "#ffffd9"], [0.25, "#c7e9b4"], [0.5, "#41b6c4"], [0.75, "#225ea8"], [1, "#081d58"]]
_BOTH = ("accuracy", "fair_f1")


def render_page(name: str, chosen: Selection, folder: Path) -> str:
    """The page as HTML. Equal result files give equal pages."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise InputError("the page needs Plotly", fix="pip install 'classic-asc[bench]'") from None
    rows = drawn_rows(name, chosen, folder)
    table = make_table(name, chosen, folder)
    alone = alone_rows(rows, chosen, folder)
    learners = [row for row in rows if row.method != "one"]
    charts = [
        _against_cost(rows),
        _beside_the_paper(rows, [paper_scores(table.name, row) for row in rows]),
        *_curves(rows),
        *_maps("Backward transfer", "at the end minus right after learning", learners, transfer.backward_transfer),
        *_maps("Forgetting", "the best before the end minus at the end", learners, transfer.forgetting, bad=True),
    ]
    for metric in _BOTH:
        says = "right after learning minus a network of the task's own (ONE)"
        charts += _difference_map("Forward transfer", says, metric, forward_transfers(rows, alone, metric))
    runs = [{"name": _run_name(row, run), "charts": _charts_of(run)} for row in rows for run in row.runs]
    # Names in result files came from outside: nothing reaches the page unescaped.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = files("classic") / "templates"
    numbers = json.dumps({"charts": charts, "runs": runs}, sort_keys=True, allow_nan=False).replace("<", "\\u003c")
    return environment.from_string((template / "bench.html.j2").read_text("utf-8")).render(
        title=table.title,
        table=Markup(html_part(table)),  # escaped where it is made
        numbers=Markup(numbers),  # cannot end its script element
        script=Markup((template / "bench.js").read_text("utf-8")),  # ours
        library=Markup(get_plotlyjs()),  # the plotly package's
    )


def _run_name(row: Row, run: Run) -> str:
    return f"{line_name(row)}, order {run.spec.order}, seed {run.spec.seed}"


def _chart(title: str, says: str, data: list[dict[str, Any]], height: int, **layout: Any) -> Chart:
    shared = {
        "height": height,
        "margin": _MARGIN,
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "colorway": [colour for colour, _ in BACKBONE_STYLES.values()],
    }
    return {"title": title, "says": says, "data": data, "layout": shared | layout}


def _axis(title: str = "", **more: Any) -> dict[str, Any]:
    return {"title": {"text": title}, "automargin": True, **more}


def _number(value: float) -> float | None:
    """As strict JSON has it; four digits are what the tables show."""
    return None if math.isnan(value) else round(value, 4)


def _style(backbone: str) -> dict[str, Any]:
    colour, marker = BACKBONE_STYLES.get(backbone, OTHER_STYLE)
    return {"color": colour, "symbol": _MARKERS[marker], "size": 9}


def _against_cost(rows: Sequence[Row]) -> Chart:
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
                "y": scores["fair_f1"],
                "text": [row.label if row.section == "classic" else "" for row in mine],
                "textposition": "top center",
                "customdata": [
                    [row.label, *values] for row, *values in zip(mine, scores["accuracy"], scores["f1"], strict=True)
                ],
                "hovertemplate": "<b>%{customdata[0]}</b>, " + backbone + "<br>macro-F1, own classes %{y:.4f}<br>"
                "macro-F1 %{customdata[2]:.4f}<br>accuracy %{customdata[1]:.4f}<br>%{x:.1f} s per task<extra></extra>",
                "marker": _style(backbone),
            }
        )
    x, y = _axis("CPU seconds of training per task", type="log"), _axis(METRIC_NAMES["fair_f1"], tickformat=".0%")
    return _chart("Scores against cost", "up and to the left is better", data, 520, xaxis=x, yaxis=y)


def _beside_the_paper(rows: Sequence[Row], printed: Sequence[tuple[float, float]]) -> Chart:
    names = [line_name(row) for row in rows]
    data: list[dict[str, Any]] = []
    for place, metric in enumerate(("accuracy", "f1")):
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
    return _chart("Beside the paper", says, data, height, xaxis=left, xaxis2=right, yaxis=y)


def _curves(rows: Sequence[Row]) -> list[Chart]:
    found = []
    for metric in _BOTH:
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
        found += [_chart(f"Learning curve, {METRIC_NAMES[metric]}", says, data, 460, **axes)] if data else []
    return found


def _maps(title: str, says: str, rows: Sequence[Row], measure: Any, *, bad: bool = False) -> list[Chart]:
    found: list[Chart] = []
    for metric in _BOTH:
        lines = {line_name(row): scores for row in rows if (scores := measure(row, metric))}
        found += _difference_map(title, says, metric, lines, bad=bad)
    return found


def _difference_map(
    title: str, says: str, metric: str, lines: Mapping[str, Mapping[str, float]], *, bad: bool = False
) -> list[Chart]:
    """Systems against tasks, in percentage points; gains blue, losses red."""
    if not lines:
        return []
    tasks = list(dict.fromkeys(task for scores in lines.values() for task in scores))
    grid = [[_number(scores.get(task, math.nan)) for task in tasks] for scores in lines.values()]
    extent = max((abs(value) for row in grid for value in row if value is not None), default=0.0)
    data = _heat(grid, tasks, list(lines), -max(extent, 0.05), max(extent, 0.05), _RED_TO_BLUE, text="%{z:+.1%}")
    data["reversescale"] = bad
    whole = f"{title}, {METRIC_NAMES[metric]}"
    axes = {"xaxis": _axis(tickangle=-45), "yaxis": _axis(autorange="reversed", dtick=1)}
    return [_chart(whole, says, [data], 150 + 19 * len(lines), **axes)]


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


def _charts_of(run: Run) -> list[Chart]:
    tasks = run.matrix.tasks
    size = len(tasks)
    square = {
        "xaxis": _axis("tested on", tickangle=-45),
        "yaxis": _axis("after learning", autorange="reversed", dtick=1),
    }
    charts = []
    for metric in _BOTH:
        grid = [[_number(run.matrix.value(metric, t, u)) for u in range(size)] for t in range(size)]
        low = min(value for row in grid for value in row if value is not None)
        data = _heat(grid, tasks, tasks, low, 1.0, "Cividis", text="%{z:.0%}")
        says = "what was not tested is blank"
        charts.append(_chart(f"Result matrix, {METRIC_NAMES[metric]}", says, [data], 200 + 20 * size, **square))
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
        if any(run.facts[key]):
            grid = [[_number(value) for value in row or ()] for row in run.facts[key]]
            data = _heat(grid, tasks, tasks, 0.0, 1.0, _LIGHT_TO_DARK, text="%{z:.0%}")
            layout = {
                "xaxis": _axis(axes[0], tickangle=-45),
                "yaxis": _axis(axes[1], autorange="reversed", dtick=1),
            }
            charts.append(_chart(title, says, [data], 200 + 20 * size, **layout))
    if any(run.facts["capacity"]):
        charts.append(_capacity(run))
    return charts


def _forward_and_final(run: Run) -> Chart:
    data = []
    for when, name, marker in (
        ("forward", "right after learning", {"symbol": "circle-open", "color": "#000", "size": 9}),
        ("final", "at the end", {"symbol": "circle", "color": "#0072B2", "size": 9}),
    ):
        scores = run.by_task("fair_f1", "forward" if when == "forward" else "final")
        y = list(map(_number, scores.values()))
        data.append({"type": "scatter", "mode": "markers", "name": name, "x": list(scores), "y": y, "marker": marker})
    axes = {"xaxis": _axis(tickangle=-45), "yaxis": _axis(METRIC_NAMES["fair_f1"], tickformat=".0%")}
    return _chart("Each task, then and at the end", "in the order they were learned", data, 420, **axes)


def _capacity(run: Run) -> Chart:
    data: list[dict[str, Any]] = []
    for label, colour, heights in capacity_parts(run.facts["capacity"]):
        x, y = list(run.matrix.tasks), list(map(_number, heights))
        data.append({"type": "bar", "name": label, "x": x, "y": y, "marker": {"color": colour}})
    axes = {"xaxis": _axis(tickangle=-45), "yaxis": _axis("share of units", tickformat=".0%", range=[0, 1])}
    return _chart("Units in use", "of the layers that can run out", data, 420, barmode="stack", **axes)
