"""What the result files say about each system: the runs that answer for it, their scores, and what to be wary of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from classic.benchmark.runs.results import read_results
from classic.benchmark.runs.spec import Spec
from classic.benchmark.runs.suites import UPPER_BOUNDS, Selection, TableName, specs_of
from classic.benchmark.tables.statistics import holm, mean, wilcoxon
from classic.evaluation.matrix import METRICS, ResultMatrix

When = Literal["final", "forward"]
OTHER_CODE, DIRTY, OTHER_MACHINE, OTHER_DATA = "†", "‡", "§", "¶"
MARKS = {
    OTHER_CODE: "made by another version of the code or its settings than this one",
    DIRTY: "made by code with changes that are in no commit",
    OTHER_MACHINE: "made on another type of machine than most",
    OTHER_DATA: "learned from other data of the same name than most",
}
_CLASSIC = "classic@bert_adapter"
_UPPER_BOUNDS = {system.partition("@")[0] for system in UPPER_BOUNDS}  # whatever they are trained over
_NAMES = {"derpp": "DER++", "bcl": "B-CL", "joint": "Joint", "retrain": "Retrain"}


@dataclass(frozen=True)
class Run:
    """One finished run, as its file tells it."""

    spec: Spec
    facts: dict[str, Any]

    @cached_property
    def matrix(self) -> ResultMatrix:
        """The matrix of results: its diagonal and its last row, or all of it where every row was tested."""
        if "matrix" in self.facts:
            return ResultMatrix.from_dict(self.facts["matrix"])
        tasks = self.facts["tasks"]
        matrix = ResultMatrix(list(tasks))
        for index, facts in enumerate(tasks.values()):
            matrix.enter(index, index, facts["forward"])
            matrix.enter(len(tasks) - 1, index, facts["final"])
        return matrix

    def told(self, name: str) -> list[Any]:
        """One fact of every task, in their order; None where there is none."""
        return [facts.get(name) for facts in self.facts["tasks"].values()]

    @property
    def machine(self) -> tuple[str, str]:
        """The type of machine it ran on."""
        around = self.facts["determined_by"]["surroundings"]
        return str(around["machine"]), str(around["cpu"])

    @property
    def cpu_seconds_per_task(self) -> float:
        """CPU time of training, the mean over tasks."""
        return float(self.facts["cpu_seconds"]) / len(self.facts["tasks"])

    @property
    def data(self) -> list[tuple[str, str]]:
        """The tasks it learned and the hash of each one's data."""
        return [(task, facts["data"]) for task, facts in self.facts["tasks"].items()]

    @property
    def settings_and_versions(self) -> tuple[Any, Any]:
        """Every setting of the system, and the versions of the behaviour that ran it."""
        determined = self.facts["determined_by"]
        return _without_precision(determined["system"]), determined["versions"]

    def by_task(self, metric: str, when: When = "final") -> dict[str, float]:
        """Scores of each task: after the last one was learned, or (forward) right after itself was."""
        last = len(self.matrix.tasks) - 1
        return {
            task: self.matrix.value(metric, last if when == "final" else index, index)
            for index, task in enumerate(self.matrix.tasks)
        }


@dataclass(frozen=True)
class TableRow:
    """One line of a table: a system and the runs that answer for it.

    Attributes:
        system: Full name, with scenario.
        wanted: How many runs were asked for.
        runs: Those that are there, by order and seed.
        when: Whether final scores are meant, or forward ones.
        marks: What to be wary of, of MARKS.
        is_reference: Whether it is CLASSIC itself, which the others are tested against.
        p_values: Of the test against CLASSIC, by metric, after Holm's correction.
    """

    system: str
    wanted: int
    runs: tuple[Run, ...] = ()
    when: When = "final"
    marks: str = ""
    is_reference: bool = False
    p_values: dict[str, float] = field(default_factory=dict)

    @property
    def paper_name(self) -> str:
        """The name of its row in the paper: without scenario."""
        return self.system.partition("/")[0]

    @property
    def method(self) -> str:
        """The method's name, without options."""
        return self.system.partition("@")[0].replace("-", "+").partition("+")[0]

    @property
    def backbone(self) -> str:
        """The backbone's name."""
        return self.paper_name.partition("@")[2]

    @property
    def label(self) -> str:
        """For people: ``HAT + last``, ``CLASSIC − CKS``, ``CLASSIC (forward)``."""
        options = self.system.partition("@")[0].removeprefix(self.method)
        for option in ("csc", "ced", "cks"):
            options = options.replace(option, option.upper())
        options = options.replace("+", " + ").replace("-", " − ")
        name = _NAMES.get(self.method, self.method.upper())
        return f"{name}{options}{' (forward)' if self.when == 'forward' else ''}"

    @property
    def section(self) -> str:
        """What it stands together with: the paper's parts of the table."""
        if self.method in _UPPER_BOUNDS:
            return "upper bound"
        return self.method if self.method in {"one", "ncl", "classic"} else self.backbone

    @property
    def competes(self) -> bool:
        """Whether it is a continual learner whose final scores may be called the best."""
        return self.when == "final" and self.section not in {"one", "upper bound"}

    def by_order(self, metric: str) -> list[float]:
        """The mean over tasks of each order; an order with several seeds counts once, by their mean."""
        orders: dict[int, list[float]] = {}
        for run in self.runs:
            orders.setdefault(run.spec.order, []).append(mean(list(run.by_task(metric, self.when).values())))
        return [mean(values) for _, values in sorted(orders.items())]

    def by_task(self, metric: str) -> dict[str, float]:
        """The mean over runs of each task, in the order of the first run."""
        found: dict[str, list[float]] = {}
        for run in self.runs:
            for task, value in run.by_task(metric, self.when).items():
                found.setdefault(task, []).append(value)
        return {task: mean(values) for task, values in found.items()}


def rows_of(table: TableName, chosen: Selection, folder: Path) -> list[TableRow]:
    """The rows of a table in the paper's order, with what a folder of result files has for them.

    Where several files answer for one run the one finished last does.
    """
    newest = newest_runs(folder)
    specs = specs_of(table, chosen)
    rows = [_row(system, specs, newest) for system in dict.fromkeys(spec.system for spec in specs)]
    reference = select_row(_reference(table, [row.system for row in rows]), table, chosen, newest)
    place = next((index for index, row in enumerate(rows) if row.system == reference.system), None)
    if table in ("main", "til") and place is not None:
        rows.insert(place + 1, replace(rows[place], when="forward"))
    return marked(_compared(rows, reference))


def _reference(table: TableName, systems: Sequence[str]) -> str:
    """The system that the others are tested against: CLASSIC on adapters, or the CLASSIC that a table without it shows."""
    usual = f"{_CLASSIC}/{'til' if table == 'til' else 'dil'}"
    shown = [system for system in systems if system.startswith("classic@")]
    return usual if usual in systems or not shown else shown[0]


def newest_runs(folder: Path) -> list[Run]:
    """The finished runs of a folder, one of each kind: the one finished last."""
    found: dict[str, Run] = {}
    for facts in read_results(folder):  # oldest first
        spec = Spec(**facts["spec"])
        found[repr(spec.anywhere())] = Run(spec, facts)
    return list(found.values())


def select_row(system: str, table: TableName, chosen: Selection, runs: Sequence[Run]) -> TableRow:
    """A system under a choice of orders and seeds that may have left it out."""
    return _row(system, specs_of(table, replace(chosen, systems=(system,), backbone=None)), runs)


def _row(system: str, specs: Iterable[Spec], runs: Sequence[Run]) -> TableRow:
    wanted = [spec for spec in specs if spec.system == system]
    found = [Run(spec, run.facts) for spec in wanted for run in runs if run.spec.anywhere() == spec.anywhere()]
    found.sort(key=lambda run: (run.spec.order, run.spec.seed))
    return TableRow(system, len(wanted), tuple(found))


def _compared(rows: list[TableRow], reference: TableRow) -> list[TableRow]:
    """Adds p-values: a pair is a task, its mean scores over the orders and seeds both have."""
    others = {row.system: row for row in rows if row.when == "final" and row.system != reference.system}
    corrected: dict[str, dict[str, float]] = {}
    for metric in METRICS:
        tested = {name: wilcoxon(*_pairs(row, reference, metric)) for name, row in others.items()}
        corrected[metric] = holm({name: p for name, p in tested.items() if not math.isnan(p)})
    found = []
    for row in rows:
        mine = {metric: corrected[metric][row.system] for metric in METRICS if row.system in corrected[metric]}
        found.append(replace(row, p_values=mine, is_reference=row.system == reference.system))
    return found


def _pairs(row: TableRow, reference: TableRow, metric: str) -> tuple[list[float], list[float]]:
    sides: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
    there = [{(run.spec.order, run.spec.seed): run for run in each.runs} for each in (row, reference)]
    for order, seed in sorted(there[0].keys() & there[1].keys()):
        for side, runs in zip(sides, there, strict=True):
            for task, value in runs[order, seed].by_task(metric).items():
                side.setdefault(task, []).append(value)
    shared = [task for task in sides[0] if task in sides[1]]
    return [mean(sides[0][task]) for task in shared], [mean(sides[1][task]) for task in shared]


def marked(rows: list[TableRow]) -> list[TableRow]:
    """The rows with what to be wary of."""
    runs = [run for row in rows if row.when == "final" for run in row.runs]
    machines = _most_common(("machine", run.machine) for run in runs)
    data = _most_common(pair for run in runs for pair in run.data)
    current = _settings_and_versions({run.spec.system: run for run in runs})
    found = []
    for row in rows:
        wary = {
            OTHER_CODE: any(run.settings_and_versions != current[run.spec.system] for run in row.runs),
            DIRTY: any(run.facts["dirty"] for run in row.runs),
            OTHER_MACHINE: any(run.machine != machines["machine"] for run in row.runs),
            OTHER_DATA: any(data[task] != digest for run in row.runs for task, digest in run.data),
        }
        found.append(replace(row, marks="".join(mark for mark, said in wary.items() if said)))
    return found


def _most_common(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """For every name the value it has most often; of equally frequent ones the first in order."""
    counts: dict[str, Counter[Any]] = {}
    for name, value in pairs:
        counts.setdefault(name, Counter())[value] += 1
    return {name: max(sorted(counter), key=counter.__getitem__) for name, counter in counts.items()}


def _settings_and_versions(runs: dict[str, Run]) -> dict[str, tuple[Any, Any]]:
    """What would determine a run of each system now."""
    from classic.benchmark.runs.outside import load

    load(run.spec.outside for run in runs.values())
    found = {}
    for system, run in runs.items():
        determined = run.spec.determined_by(tasks=(), threads=1)
        found[system] = _without_precision(determined["system"]), determined["versions"]
    return found


def _without_precision(system: dict[str, Any]) -> dict[str, Any]:
    """The settings but for the precision, which the machine decides where the recipe says ``fastest``; § tells of that."""
    return system | {"train": {name: value for name, value in system["train"].items() if name != "precision"}}
