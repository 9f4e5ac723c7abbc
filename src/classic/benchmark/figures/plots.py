"""All pictures of a table, written into a folder: Matplotlib for papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from classic.benchmark.figures import drawing
from classic.benchmark.figures.trials import search_panels
from classic.benchmark.runs.suites import Selection, TableName
from classic.benchmark.runs.trials import searches_of, trials_of
from classic.benchmark.tables import transfer
from classic.benchmark.tables.rows import Run, TableRow, newest_runs, rows_of, select_row
from classic.benchmark.tables.table import check_name, paper_scores
from classic.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picture = tuple[str, "Figure"]
MOVES = ("opened", "closed", "reused")
LOSSES = ("csc", "ced", "cks")


def draw_all(name: str, chosen: Selection, folder: Path, out: Path, form: str = "png") -> Iterator[Path]:
    """Draws every picture there are numbers for.

    Args:
        name: A table.
        chosen: Which part of it.
        folder: Where the result files are.
        out: Where the pictures go; made if it is not there.
        form: One of drawing.FORMATS.

    Yields:
        The files as they are written.
    """
    drawing.check_form(form)
    if (table := check_name(name)) == "search":
        pictures = _pictures_of_searches(drawn_trials(chosen, folder))
    else:
        rows = drawn_rows(name, chosen, folder)
        pictures = _pictures(table, rows, alone_rows(rows, chosen, folder))
    out.mkdir(parents=True, exist_ok=True)
    with drawing.drawing():
        for picture, figure in pictures:
            path = out / f"{picture}.{form}"
            drawing.write_figure(figure, path, form)
            yield path


def drawn_rows(name: str, chosen: Selection, folder: Path) -> list[TableRow]:
    """The rows of a table that have runs, by final scores; no runs at all are an error."""
    rows = [row for row in rows_of(check_name(name), chosen, folder) if row.runs and row.when == "final"]
    if not rows:
        raise nothing_to_draw(name, folder)
    return rows


def nothing_to_draw(name: str, folder: Path) -> InputError:
    """What is said of a part of a table that has no run."""
    return InputError(
        f"{folder} has no finished run of this part of {name!r}",
        fix="make some with `classic bench run`, or choose otherwise (--orders, --budget, --first)",
    )


def drawn_trials(chosen: Selection, folder: Path) -> dict[str, list[Run]]:
    """The trials of every search, the best first; none at all are an error."""
    found = searches_of(trials_of(chosen, folder))
    if not found:
        raise InputError(
            f"{folder} has no finished trial of this choice",
            fix="make some with `classic bench run search`, or choose otherwise (--systems, --budget, --first)",
        )
    return found


def alone_rows(rows: Sequence[TableRow], chosen: Selection, folder: Path) -> dict[str, TableRow]:
    """ONE on the backbones of some rows, under the same choice of orders and seeds, where it was run."""
    runs = newest_runs(folder)
    found = {each: select_row(f"one@{each}/til", "til", chosen, runs) for each in {row.backbone for row in rows}}
    return {backbone: row for backbone, row in found.items() if row.runs}


def forward_transfers(rows: Sequence[TableRow], alone: dict[str, TableRow], metric: str) -> dict[str, transfer.Scores]:
    """Forward transfer of every row that has its ONE; not of ONE itself."""
    found = {
        line_name(row): transfer.forward_transfer(row, alone[row.backbone], metric)
        for row in rows
        if row.backbone in alone and row.method != "one"
    }
    return {name: scores for name, scores in found.items() if scores}


def line_name(row: TableRow) -> str:
    """How a row is called in pictures."""
    return f"{row.label}, {row.backbone}"


def _pictures(table: TableName, rows: Sequence[TableRow], alone: dict[str, TableRow]) -> Iterator[Picture]:
    yield "scores", drawing.beside_the_paper(rows, [paper_scores(table, row) for row in rows])
    yield "cost", drawing.against_cost(rows)
    learners = [row for row in rows if row.method != "one"]  # separate networks neither forget nor transfer
    for backbone in dict.fromkeys(row.backbone for row in learners):
        together = [row for row in learners if row.backbone == backbone]
        yield f"forward-and-final-{backbone}", drawing.forward_and_final(together, "own_f1")
    for metric, ending in (("accuracy", "accuracy"), ("own_f1", "own-classes")):
        says = drawing.METRIC_NAMES[metric]
        if curves := {line_name(row): values for row in rows if (values := transfer.learning_curve(row, metric))}:
            yield f"curve-{ending}", drawing.curves(curves, metric)
        if lines := {line_name(row): found for row in learners if (found := transfer.backward_transfer(row, metric))}:
            title = "Backward transfer: at the end minus right after learning"
            yield f"backward-transfer-{ending}", drawing.differences(lines, title, says)
        if lines := {line_name(row): found for row in learners if (found := transfer.forgetting(row, metric))}:
            title = "Forgetting: the best before the end minus at the end"
            yield f"forgetting-{ending}", drawing.differences(lines, title, says, more_is_better=False)
        if lines := forward_transfers(rows, alone, metric):
            title = "Forward transfer: right after learning minus a network of the task's own (ONE)"
            yield f"forward-transfer-{ending}", drawing.differences(lines, title, says)
    for row in rows:
        yield from _pictures_of_runs(row)


def _pictures_of_searches(searches: dict[str, list[Run]]) -> Iterator[Picture]:
    for name, trials in searches.items():
        yield f"search-{name}", search_panels(trials)


def _pictures_of_runs(row: TableRow) -> Iterator[Picture]:
    for run in row.runs:
        tasks, name = run.matrix.tasks, run.spec.name
        title = f"{line_name(row)}, order {run.spec.order}, seed {run.spec.seed}"
        yield f"matrix-{name}", drawing.result_matrix(run, title)
        if any(run.told("transfer")):
            title_of_map = f"CKS: what each domain draws on\n{title}"
            says = ("attention to", "while learning")
            yield f"attention-{name}", drawing.share_map(run.told("transfer"), tasks, title_of_map, says)
        if any(run.told("overlap")):
            title_of_map = f"Overlap of masks: share of a domain's units that another uses, too\n{title}"
            says = ("are used by", "units of")
            yield f"overlap-{name}", drawing.share_map(run.told("overlap"), tasks, title_of_map, says)
        if any(run.told("capacity")):
            yield f"capacity-{name}", drawing.capacity_bars(run.told("capacity"), tasks, f"Units in use\n{title}")
        if any(run.told("masks")):
            counts = {kind: [(each or {}).get(kind, 0) for each in run.told("masks")] for kind in MOVES}
            title_of_bars = f"Masks: units opened, closed and reused while learning\n{title}"
            yield f"masks-{name}", drawing.bars_side_by_side(counts, tasks, title_of_bars, "units")
        if any(run.told("pulls")):
            counts = {loss: [(each or {}).get(loss, 0.0) for each in run.told("pulls")] for loss in LOSSES}
            title_of_bars = f"How hard each loss pulls on the features, beside the cross-entropy\n{title}"
            yield f"pulls-{name}", drawing.bars_side_by_side(counts, tasks, title_of_bars, "share of the gradient")
