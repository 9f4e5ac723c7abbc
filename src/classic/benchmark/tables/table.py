"""Tables beside the paper's: what each cell says, as a function of the result files and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from classic.benchmark.runs.encoder_files import name_of
from classic.benchmark.runs.spec import Budget
from classic.benchmark.runs.suites import TABLES, Selection, TableName
from classic.benchmark.runs.trials import trials_of
from classic.benchmark.tables import paper
from classic.benchmark.tables.numbers import MISSING, decimal, p_value, ranges, rounded, signed, size, with_deviation
from classic.benchmark.tables.rows import MARKS, TableRow, rows_of
from classic.benchmark.tables.statistics import deviation, mean
from classic.errors import ClassicError, InputError, unknown_name
from classic.evaluation.matrix import METRICS

TITLES: dict[TableName, str] = {
    "main": "The paper's main table: domain after domain, nobody says the domain (DIL)",
    "til": "Domain after domain, the domain is given (TIL)",
    "ablation": "CLASSIC without some of its losses, and without what we added (DIL)",
    "std": "Deviation over seeds (DIL)",
    "cost": "What systems cost",
    "search": "Settings that were tried",
}
SCORED: tuple[TableName, ...] = ("main", "til", "ablation")  # tables of final scores, which have a short form
SCORES_NOTE = (
    "macro-F1 is over the classes in truth or answers, as in the paper; own F1 is over the classes each domain has."
)
_PAPER = "Paper: over BERT-base, means of five orders."
_GAP = "Δ: ours minus the paper's."
_QUICK = " (few passes; trained longer, systems come in another order)"
_TEST = (
    "p: Wilcoxon's signed-rank test against CLASSIC, two-sided, on tasks, means over the orders both have; "
    "corrected after Holm over the rows of the table."
)
_SHORT = (
    "It is on own F1, and over the rows of the long table: of every backbone but the adapters only the continual "
    "learner that came out best is shown."
)


@dataclass(frozen=True)
class Column:
    """A column: its title, and whether it holds words or numbers."""

    title: str
    words: bool = False


@dataclass(frozen=True)
class Cell:
    """What stands in a cell; bold if it is the best of its column."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """One line; a rule is drawn where the section changes."""

    cells: tuple[Cell, ...]
    section: str


@dataclass(frozen=True)
class Table:
    """A table ready to be rendered: words only.

    Attributes:
        name: As on the command line.
        title: For people.
        columns, lines: The grid.
        notes: What a reader must know to read it.
        command: What makes it again.
    """

    name: TableName
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    command: str


def make_table(name: str, chosen: Selection, folder: Path, *, short: bool = False) -> Table:
    """A table from a folder of result files.

    Args:
        name: One of TABLES.
        chosen: Which part of it.
        folder: Where the result files are.
        short: Only the systems on adapters and the best one of every other backbone, in fewer columns.
    """
    known = check_name(name)
    if short and known not in SCORED:
        raise InputError(f"the table {name!r} has no short form", fix="leave --short out")
    command = command_of("table", known, chosen) + (" --short" if short else "")
    if known == "search":
        return _search(chosen, folder, command)
    rows = rows_of(known, chosen, folder)
    if known == "cost":
        return _cost(rows, command)
    return _std(rows, command) if known == "std" else _scores(known, rows, command, short)


def check_name(name: str) -> TableName:
    """One of TABLES, or an error that names the nearest."""
    known = next((each for each in TABLES if each == name), None)
    if known is None:
        raise unknown_name("table", name, list(TABLES))
    return known


def command_of(verb: str, name: TableName, chosen: Selection) -> str:
    """The command line that asks for the same."""
    return " ".join(["classic", "bench", verb, name, *options_of(chosen)])


def options_of(chosen: Selection, *, usual: Budget = "quick") -> list[str]:
    """The words of a command line that ask for this part, where ``usual`` is the budget of a command that names none."""
    words = ["--systems", ",".join(chosen.systems)] if chosen.systems else []
    for option, numbers in (("--orders", chosen.orders), ("--seeds", chosen.seeds)):
        words += [option, ranges(numbers).replace("–", "-").replace(" ", "")] if numbers else []
    words += ["--budget", chosen.budget] if chosen.budget != usual else []
    encoder = None if chosen.encoder is None else name_of(chosen.encoder)  # where it lies is nobody's business
    for option, value in (("--backbone", chosen.backbone), ("--first", chosen.first), ("--encoder", encoder)):
        words += [option, str(value)] if value is not None else []
    for key, value in chosen.changes.items():
        words += ["--set", f"{key}={value}"]
    return words


def _scores(name: TableName, rows: list[TableRow], command: str, short: bool) -> Table:
    """Ours, the paper's, the gap between them, and the test against CLASSIC."""
    rows = shortened(rows) if short else rows
    titles = ["accuracy", "macro-F1", "own F1", "paper acc.", "paper F1"]
    titles += ["p", "runs"] if short else ["Δ acc.", "Δ F1", "p acc.", "p own", "runs"]
    best = {metric: _best(rows, metric) for metric in METRICS}
    lines = []
    for row in rows:
        ours = {metric: row.by_order(metric) for metric in METRICS}
        theirs = paper_scores(name, row)
        gaps = [mean(ours[metric]) - value for metric, value in zip(("accuracy", "macro_f1"), theirs, strict=True)]
        cells = [Cell(with_deviation(ours[metric]), bold=row is best[metric]) for metric in METRICS]
        cells += [Cell(decimal(value)) for value in theirs]
        if not short:
            cells += [Cell(signed(gap)) for gap in gaps] + [_tested(row, "accuracy")]
        cells += [_tested(row, "own_f1"), _count(row)]
        lines.append(_line(row, cells))
    notes = [what_was_run(rows), "± is the standard deviation over orders.", SCORES_NOTE]
    notes += [_PAPER, f"{_TEST} {_SHORT}"] if short else [f"{_PAPER} {_GAP}", _TEST]
    return _table(name, titles, lines, [*notes, *legend_of(rows)], command)


def _std(rows: list[TableRow], command: str) -> Table:
    """Deviations over seeds beside the paper's."""
    titles = ["accuracy", "±", "paper ±", "macro-F1", "±", "paper ±", "own F1", "±", "runs"]
    lines = []
    for row in rows:
        theirs = _deviation_of_paper(row)
        cells = []
        for metric, printed in zip(METRICS, (*theirs, None), strict=True):
            values = [mean(list(run.by_task(metric).values())) for run in row.runs]
            cells += [Cell(decimal(mean(values))), Cell(decimal(deviation(values)))]
            cells += [Cell(decimal(printed))] if printed is not None else []
        lines.append(_line(row, [*cells, _count(row)]))
    notes = [
        what_was_run(rows),
        "± is the standard deviation over the runs; the paper's is over five seeds.",
        SCORES_NOTE,
    ]
    return _table("std", titles, lines, [*notes, *legend_of(rows)], command)


def _cost(rows: list[TableRow], command: str) -> Table:
    """Size, time, memory, and what is kept between tasks."""
    titles = [
        "parameters",
        "paper",
        "CPU s/task",
        "paper s/task",
        "peak memory",
        "kept per task",
        "kept in all",
        "runs",
    ]
    lines = []
    for row in rows:
        parameters, seconds = _paper_cost(row)
        kept = [run.told("bytes_kept") for run in row.runs if any(run.told("bytes_kept"))]
        texts = [
            rounded(_parameters(row.system) / 1e6, 1, "M"),
            rounded(parameters, 1, "M"),
            rounded(mean([run.cpu_seconds_per_task for run in row.runs]), 1),
            rounded(seconds, 0),
            size(max((run.facts["peak_memory_bytes"] for run in row.runs), default=math.nan)),
            size(mean([each[-1] / len(each) for each in kept])),
            size(mean([each[-1] for each in kept])),
        ]
        lines.append(_line(row, [*map(Cell, texts), _count(row)]))
    notes = [
        what_was_run(rows),
        "Parameters: counted on networks of BERT-base size after 19 tasks, trained or not; GPT-2 is not counted.",
        "CPU seconds are of training, means over tasks; the paper's seconds are of a GPU.",
        "Kept: bytes a method keeps between tasks besides the network and its heads, after the last task.",
    ]
    return _table("cost", titles, lines, [*notes, *legend_of(rows)], command)


def _search(chosen: Selection, folder: Path, command: str) -> Table:
    """Every run with settings of its own, the best first."""
    runs = trials_of(chosen, folder)
    keys = sorted({key for run in runs for key in run.spec.changes})
    columns = [Column("system", words=True), *(Column(key.partition(".")[2]) for key in keys)]
    columns += map(Column, ("accuracy", "macro-F1", "own F1", "order", "tasks", "scored on"))
    lines = []
    for run in runs:
        texts = [run.spec.system, *(str(run.spec.changes.get(key, MISSING)) for key in keys)]
        texts += [decimal(mean(list(run.by_task(metric).values()))) for metric in METRICS]
        texts += [str(run.spec.order), str(len(run.matrix.tasks)), "validation" if run.spec.valid else "test"]
        lines.append(Line(tuple(map(Cell, texts)), ""))
    notes = (f"{len(runs)} trials, the best by own F1 first; {MISSING}: as the budget has it.", SCORES_NOTE)
    return Table("search", TITLES["search"], tuple(columns), tuple(lines), notes, command)


def _table(name: TableName, titles: Sequence[str], lines: list[Line], notes: Iterable[str], command: str) -> Table:
    columns = (Column("system", words=True), Column("backbone", words=True), *map(Column, titles))
    return Table(name, TITLES[name], columns, tuple(lines), tuple(notes), command)


def _line(row: TableRow, cells: Iterable[Cell]) -> Line:
    return Line((Cell(row.label + row.marks), Cell(row.backbone), *cells), row.section)


def shortened(rows: Sequence[TableRow]) -> list[TableRow]:
    """Systems on adapters, and of every other backbone the continual learner with the best own-class macro-F1."""
    others = {row.backbone for row in rows} - {"bert_adapter"}
    kept = [_best([row for row in rows if row.backbone == backbone], "own_f1") for backbone in others]
    return [row for row in rows if row.backbone == "bert_adapter" or any(row is each for each in kept)]


def _best(rows: Iterable[TableRow], metric: str) -> TableRow | None:
    scored = [(mean(row.by_order(metric)), row) for row in rows if row.competes and row.runs]
    return max(scored, key=lambda pair: pair[0])[1] if scored else None


def paper_scores(name: TableName, row: TableRow) -> tuple[float, float]:
    """The paper's accuracy and macro-F1; NaN where it has none."""
    scenario = "til" if name == "til" else "dil"
    printed = _paper_row(row.paper_name)
    if row.when == "forward":
        return paper.FORWARD[scenario] if printed else (math.nan, math.nan)
    pair = None if printed is None else printed.til if scenario == "til" else printed.dil
    return pair or (math.nan, math.nan)


def _deviation_of_paper(row: TableRow) -> tuple[float, float]:
    printed = _paper_row(row.paper_name)
    return (printed.deviation if printed else None) or (math.nan, math.nan)


def _paper_cost(row: TableRow) -> tuple[float, float]:
    """Millions of parameters and seconds per task; HAT's stand for HAT + last and HAT + ent, which train the same."""
    printed = _paper_row(row.paper_name.replace("+last", "").replace("+ent", ""))
    if printed is None or printed.parameters is None or printed.seconds is None:
        return math.nan, math.nan
    return printed.parameters, printed.seconds


def _paper_row(name: str) -> paper.PaperRow | None:
    return next((row for row in (*paper.ROWS, *paper.ABLATIONS) if row.system == name), None)


def _parameters(system: str) -> float:
    from classic.systems.size import count_parameters

    try:
        return count_parameters(system)
    except ClassicError:  # GPT-2, or a method from outside without a counterpart of the paper's size
        return math.nan


def what_was_run(rows: Sequence[TableRow]) -> str:
    """How many of the runs that were asked for are there, and of which kind."""
    runs = [run for row in rows for run in row.runs if row.when == "final"]
    if not runs:
        return "No run of this table is finished."
    encoders = sorted({str(run.facts["encoder"]["encoder"]) for run in runs})
    orders, seeds = sorted({run.spec.order for run in runs}), sorted({run.spec.seed for run in runs})
    tasks = sorted({len(run.matrix.tasks) for run in runs})
    budget = runs[0].spec.budget
    return (
        f"{len(runs)} of {sum(row.wanted for row in rows if row.when == 'final')} runs; "
        f"budget {budget}{_QUICK if budget == 'quick' else ''}; "
        f"order {ranges(orders)}, seed {ranges(seeds)}; {ranges(tasks)} tasks; over {', '.join(encoders)}. "
        f"{MISSING}: not run, or not in the paper."
    )


def legend_of(rows: Iterable[TableRow]) -> list[str]:
    """The meaning of every mark that some row has."""
    used = {mark for row in rows for mark in row.marks}
    return [f"{mark}: {meaning}." for mark, meaning in MARKS.items() if mark in used]


def _tested(row: TableRow, metric: str) -> Cell:
    return Cell("" if row.is_reference else p_value(row.p_values.get(metric, math.nan)))


def _count(row: TableRow) -> Cell:
    return Cell(f"{len(row.runs)} of {row.wanted}")
