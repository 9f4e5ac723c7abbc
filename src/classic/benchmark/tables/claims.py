"""The paper's claims about CLASSIC, each with its figures and a verdict, from the result files and nothing else."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from classic.benchmark.runs.suites import Selection, systems_of
from classic.benchmark.tables.lead import leads_over, points, shared_runs, tells_answers
from classic.benchmark.tables.numbers import MISSING, decimal, p_value
from classic.benchmark.tables.rows import Run, TableRow, marked, newest_runs, select_row
from classic.benchmark.tables.statistics import mean, wilcoxon
from classic.benchmark.tables.table import Cell, Column, Line, Table, legend_of, options_of, what_was_run
from classic.errors import InputError

_TITLES = ("ours", "theirs", "difference, points (95 %)", "p", "all answers", "runs")
_NOTES = (
    "Own F1: macro-F1 over the classes each domain has, the mean over domains; on the orders and seeds both have.",
    "Better: sentences are drawn again, or turned round, with all that was answered about them; p of own F1 by permutation, "
    "of all answers by McNemar's exact test, both corrected after Holm over the rows of a part.",
    "Forward: right after a domain was learned, against a network that learned it alone and is told the domain. Backward: "
    "at the end, against right after. Domains are drawn again; p by Wilcoxon's signed-rank test over them.",
    "The verdict is on own F1. Holds: ahead with p below 0.05. Fails: behind with p below 0.05. Anything else is not shown, "
    "either way. p is about sentences or domains, not about seeds.",
)
_BELIEVED, _DRAWS = 0.05, 2000
_LOSSES = ("csc", "cks", "ced")


@dataclass(frozen=True)
class Claim:
    """One line: what is claimed, and what the files say.

    Attributes:
        section: Which claim of the paper it belongs to.
        text: The claim.
        ours, theirs: Own F1, the mean over domains and runs; NaN where a run is missing.
        interval: The middle 95 % of the difference.
        p: Of the difference.
        answers: The same about the share of all answers, where single answers were paired.
        runs: How many were compared.
    """

    section: str
    text: str
    ours: float = math.nan
    theirs: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    p: float = math.nan
    answers: str = ""
    runs: int = 0

    @property
    def verdict(self) -> str:
        """What may be said: no more than the figures do."""
        if not self.runs:
            return "not run"
        ahead = self.ours > self.theirs
        if self.p < _BELIEVED:
            return "holds" if ahead else "fails"
        return f"not shown ({'ahead' if ahead else 'behind'} within chance)"

    @property
    def line(self) -> Line:
        """As a line of the table."""
        if not self.runs:
            return Line((*map(Cell, (self.text, self.verdict)), *(Cell(MISSING) for _ in _TITLES)), self.section)
        low, high = (points(100 * value) for value in self.interval)
        difference = f"{points(100 * (self.ours - self.theirs))} ({low} to {high})"
        texts = (decimal(self.ours), decimal(self.theirs), difference, p_value(self.p), self.answers, str(self.runs))
        return Line(tuple(map(Cell, (self.text, self.verdict, *texts))), self.section)


def claims_table(ours: str, chosen: Selection, folder: Path, *, scenario: str = "dil") -> Table:
    """Every claim with its figures.

    Args:
        ours: A CLASSIC, such as ``classic@bert``.
        chosen: Orders, seeds and budget.
        folder: Where the result files are.
        scenario: ``dil`` or ``til``.
    """
    runs = [run for run in newest_runs(folder) if tells_answers(run)]

    def row_of(system: str) -> TableRow:
        return select_row(system, "main", chosen, runs)

    row = row_of(f"{ours}/{scenario}")
    if row.method != "classic":
        raise InputError(f"the paper claims nothing about {ours}", fix="name a CLASSIC, such as classic@bert_adapter")
    if not row.runs:
        raise InputError(f"no run of {ours} is finished", fix=f"classic bench run main --systems {ours}")
    rivals = marked([row_of(system) for system in _rivals(row, runs)])
    without = marked(
        [row_of(f"classic-{loss}@{row.backbone}/{scenario}") for loss in (*_LOSSES, "-".join(sorted(_LOSSES)))]
    )
    everything = marked([row_of(f"joint@{row.backbone}/{scenario}")])
    alone = row_of(f"one@{row.backbone}/til")
    there = [rival for rival in rivals if shared_runs(row, rival)]
    found = [
        *_better("better than the baselines", row, there),
        *_better("as good as all data at once", row, everything),
        _forward(row, alone),
        _backward(row),
        *_better("each loss helps", row, without),
    ]
    (mine,) = marked([row])
    shown = [mine, *there, *everything, *without, *marked([alone])]
    missing = [rival.paper_name for rival in rivals if not shared_runs(row, rival)]
    notes = [what_was_run(shown), *_NOTES, *([f"Not run: {', '.join(missing)}."] if missing else []), *legend_of(shown)]
    return Table(
        "main",
        f"The paper's claims about {row.label}, on {row.backbone}",
        (Column("claim", words=True), Column("verdict", words=True), *map(Column, _TITLES)),
        tuple(claim.line for claim in found),
        tuple(notes),
        " ".join(["classic bench claims", ours, *options_of(chosen, usual="full")]),
    )


def _rivals(row: TableRow, runs: Iterable[Run]) -> list[str]:
    """The continual learners of the paper's table, and those on our backbone that somebody ran; ours first."""
    here = sorted({run.spec.system for run in runs if run.spec.system.endswith(row.system.partition("@")[2])})
    known = [name for name in systems_of("til" if row.system.endswith("/til") else "main") if name not in here]
    rows = [TableRow(system, 0) for system in (*here, *known)]
    return [
        each.system for each in rows if each.competes and each.method != "classic" and "+starter" not in each.system
    ]


def _better(section: str, row: TableRow, rivals: Sequence[TableRow]) -> Iterator[Claim]:
    """Ours against others, answer by answer."""
    leads = leads_over(row, rivals)
    for rival in rivals:
        text = f"better than {rival.label}{rival.marks}" + (
            f", {rival.backbone}" if rival.backbone != row.backbone else ""
        )
        lead = leads.get(rival.system)
        if lead is None:
            yield Claim(section, text)
            continue
        ours, theirs, low, high = lead.found.own_f1
        yield Claim(section, text, ours, theirs, (low, high), lead.p_own, lead.answers.text, shared_runs(row, rival))


def _forward(row: TableRow, alone: TableRow) -> Claim:
    shared = {run.spec.order for run in row.runs} & {run.spec.order for run in alone.runs}
    ours, theirs = (
        replace(each, when="forward", runs=tuple(run for run in each.runs if run.spec.order in shared))
        for each in (row, alone)
    )
    return _transfer("knowledge is transferred", "forward: better than a network for each domain", ours, theirs)


def _backward(row: TableRow) -> Claim:
    return _transfer(
        "knowledge is transferred", "backward: better at the end than right after", row, replace(row, when="forward")
    )


def _transfer(section: str, text: str, ours: TableRow, theirs: TableRow) -> Claim:
    """Two rows of the same domains, domain by domain."""
    if not (ours.runs and theirs.runs):
        return Claim(section, text)
    mine, others = ours.by_task("own_f1"), theirs.by_task("own_f1")
    pairs = [(value, others[task]) for task, value in mine.items()]
    gaps, draw = [a - b for a, b in pairs], random.Random(0)
    drawn = sorted(mean(draw.choices(gaps, k=len(gaps))) for _ in range(_DRAWS))
    place = int(0.025 * _DRAWS)
    first, second = zip(*pairs, strict=True)
    return Claim(
        section,
        text,
        mean(first),
        mean(second),
        (drawn[place], drawn[-place - 1]),
        wilcoxon(first, second),
        "",
        len(ours.runs),
    )
