"""A table and its pictures as one page for the browser: nothing is fetched, the chart library is inside."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from classic.benchmark.figures import page_charts
from classic.benchmark.figures.page_charts import BOTH, Chart
from classic.benchmark.figures.plots import alone_rows, drawn_rows, drawn_trials, forward_transfers, line_name
from classic.benchmark.runs.suites import Selection
from classic.benchmark.runs.trials import changes_of, score_of
from classic.benchmark.tables import transfer
from classic.benchmark.tables.rendering import html_part
from classic.benchmark.tables.rows import Run, TableRow
from classic.benchmark.tables.table import check_name, make_table, paper_scores
from classic.errors import InputError

RunCharts = dict[str, Any]  # the name of a run and its charts


def render_page(name: str, chosen: Selection, folder: Path) -> str:
    """The page as HTML. Equal result files give equal pages."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise InputError("the page needs Plotly", fix="pip install 'classic-asc[bench]'") from None
    searched = check_name(name) == "search"
    charts, runs = _of_searches(chosen, folder) if searched else _of_rows(name, chosen, folder)
    table = make_table(name, chosen, folder)
    # Names in result files came from outside: nothing reaches the page unescaped.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = files("classic.report") / "templates"
    numbers = json.dumps({"charts": charts, "runs": runs}, sort_keys=True, allow_nan=False).replace("<", "\\u003c")
    return environment.from_string((template / "bench.html.j2").read_text("utf-8")).render(
        title=table.title,
        table=Markup(html_part(table)),  # escaped where it is made
        choice="One trial" if searched else "One run",
        numbers=Markup(numbers),  # cannot end its script element
        script=Markup((template / "bench.js").read_text("utf-8")),  # ours
        library=Markup(get_plotlyjs()),  # the plotly package's
    )


def _of_rows(name: str, chosen: Selection, folder: Path) -> tuple[list[Chart], list[RunCharts]]:
    rows = drawn_rows(name, chosen, folder)
    learners = [row for row in rows if row.method != "one"]
    charts = [
        page_charts.against_cost(rows),
        page_charts.beside_the_paper(rows, [paper_scores(check_name(name), row) for row in rows]),
        *page_charts.curves(rows),
        *page_charts.maps(
            "Backward transfer", "at the end minus right after learning", learners, transfer.backward_transfer
        ),
        *page_charts.maps(
            "Forgetting", "the best before the end minus at the end", learners, transfer.forgetting, bad=True
        ),
    ]
    alone = alone_rows(rows, chosen, folder)
    for metric in BOTH:
        says = "right after learning minus a network of the task's own (ONE)"
        lines = forward_transfers(rows, alone, metric)
        charts += page_charts.difference_map("Forward transfer", says, metric, lines)
    return charts, [_one_run(_run_name(row, run), run) for row in rows for run in row.runs]


def _of_searches(chosen: Selection, folder: Path) -> tuple[list[Chart], list[RunCharts]]:
    searches = drawn_trials(chosen, folder)
    charts = [page_charts.trial_panels(trials) for trials in searches.values()]
    return charts, [_one_run(_trial_name(trial), trial) for trials in searches.values() for trial in trials]


def _one_run(name: str, run: Run) -> RunCharts:
    return {"name": name, "charts": page_charts.charts_of(run)}


def _run_name(row: TableRow, run: Run) -> str:
    return f"{line_name(row)}, order {run.spec.order}, seed {run.spec.seed}"


def _trial_name(trial: Run) -> str:
    spec = trial.spec
    return f"{score_of(trial):.4f}: {changes_of(trial)} ({spec.system}, order {spec.order}, seed {spec.seed})"
