"""One system beside several others: their scores, and how far it is ahead of each, with what chance may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables.numbers import MISSING, p_value, with_deviation
from classic.benchmark.tables.paired import Comparison, compare
from classic.benchmark.tables.rows import Run, TableRow, marked, newest_runs, select_row
from classic.benchmark.tables.statistics import holm
from classic.benchmark.tables.table import SCORES_NOTE, Cell, Column, Line, Table, legend_of, options_of, what_was_run
from classic.errors import InputError
from classic.evaluation.matrix import METRICS

_TITLES = ("accuracy", "macro-F1", "own F1", "all answers", "mixed", "ahead: own F1", "ahead: all answers", "runs")
_NOTES = (
    "± is the standard deviation over orders.",
    SCORES_NOTE,
    "All answers, mixed: the share of right ones over all test sets, and of those about sentences that say different "
    "things about their aspects.",
    "Ahead: percentage points by which {ours} is ahead on the orders both have; of own F1 with the middle 95 % when "
    "sentences are drawn again. p by turning sentences round: a permutation test on own F1, McNemar's exact test on all "
    "answers; corrected after Holm over the rows. It is about these sentences, not about seeds.",
)


@dataclass(frozen=True)
class Lead:
    """How far a system is ahead of another, answer by answer; p-values are corrected."""

    found: Comparison
    p_own: float
    p_answers: float

    @property
    def own_f1(self) -> Cell:
        """Points of own F1, with the interval and p."""
        ours, theirs, low, high = (100 * value for value in self.found.own_f1)
        return Cell(f"{points(ours - theirs)} ({points(low)} to {points(high)}), p {p_value(self.p_own)}")

    @property
    def answers(self) -> Cell:
        """Points of all answers, with p."""
        ours, theirs, number = self.found.parts["all sentences"]
        return Cell(f"{points(100 * (ours - theirs) / number)}, p {p_value(self.p_answers)}")


def lead_table(ours: str, theirs: Sequence[str], chosen: Selection, folder: Path, *, scenario: str = "dil") -> Table:
    """The table of a system and its rivals.

    Args:
        ours: The system that is ahead, or not.
        theirs: The others; what was not run stays visibly missing.
        chosen: Orders, seeds and budget.
        folder: Where the result files are.
        scenario: ``dil`` or ``til``.
    """
    runs = [run for run in newest_runs(folder) if tells_answers(run)]
    row, *rivals = marked([select_row(f"{name}/{scenario}", "main", chosen, runs) for name in (ours, *theirs)])
    if not row.runs:
        raise InputError(f"no run of {ours} is finished", fix=f"classic bench run main --systems {ours}")
    leads = leads_over(row, rivals)
    lines = [_line(row, Cell(""), Cell(""))]
    for rival in rivals:
        lead = leads.get(rival.system)
        lines.append(_line(rival, *((lead.own_f1, lead.answers) if lead else (Cell(MISSING), Cell(MISSING)))))
    columns = (Column("system", words=True), Column("backbone", words=True), *map(Column, _TITLES))
    notes = [what_was_run([row, *rivals]), *(note.replace("{ours}", row.label) for note in _NOTES)]
    return Table(
        "main",
        f"{row.label} beside {len(rivals)} others, answer by answer",
        columns,
        tuple(lines),
        (*notes, *legend_of([row, *rivals])),
        " ".join(["classic bench compare", ours, *theirs, *options_of(chosen, usual="full")]),
    )


def tells_answers(run: Run) -> bool:
    """Whether its file has every single answer, which files of early versions have not."""
    return all("said" in facts["final"] for facts in run.facts["tasks"].values())


def leads_over(row: TableRow, rivals: Sequence[TableRow]) -> dict[str, Lead]:
    """How far a row is ahead of each other one that it has runs in common with, by the other's system."""
    found = {rival.system: compare(row.runs, rival.runs) for rival in rivals if shared_runs(row, rival)}
    own = holm({name: each.permutation for name, each in found.items()})
    answers = holm({name: each.mcnemar for name, each in found.items()})
    return {name: Lead(each, own[name], answers[name]) for name, each in found.items()}


def shared_runs(row: TableRow, rival: TableRow) -> int:
    """How many runs of both have the same order and seed."""
    ours, theirs = ({(run.spec.order, run.spec.seed) for run in each.runs} for each in (row, rival))
    return len(ours & theirs)


def _line(row: TableRow, *leads: Cell) -> Line:
    scores = [Cell(with_deviation(row.by_order(metric))) for metric in METRICS]
    shares = [Cell(_percent(*_answers(row.runs))), Cell(_percent(*_mixed(row.runs)))]
    count = Cell(f"{len(row.runs)} of {row.wanted}")
    return Line((Cell(row.label + row.marks), Cell(row.backbone), *scores, *shares, *leads, count), row.section)


def _answers(runs: Sequence[Run]) -> tuple[int, int]:
    """Right answers and all of them, over all test sets and runs."""
    sets = [facts["final"] for run in runs for facts in run.facts["tasks"].values()]
    right = sum(t == s for each in sets for t, s in zip(each["true"], each["said"], strict=True))
    return right, sum(len(each["true"]) for each in sets)


def _mixed(runs: Sequence[Run]) -> tuple[int, int]:
    sets = [facts["final"]["mixed"] for run in runs for facts in run.facts["tasks"].values()]
    return sum(right for right, _ in sets), sum(number for _, number in sets)


def _percent(right: int, number: int) -> str:
    return f"{100 * right / number:.1f} %" if number else MISSING


def points(value: float) -> str:
    """A difference in percentage points."""
    return f"{value:+.1f}".replace("-", "−")
