"""What learning one task does to others, per task, by the usual definitions.

R[t, u] is the score on task u after learning task t, T the last task.

- Backward transfer of task u is R[T, u] - R[u, u]; its negative is forgetting as Avalanche defines it.
- Forgetting after Chaudhry et al. (2018) is max_{t < T} R[t, u] - R[T, u]; where only the diagonal and the last row
  were tested it is Avalanche's.
- Forward transfer against ONE is R[u, u] minus the score of a network that learned task u alone. Avalanche's forward
  transfer (a task's score just before it is learned, minus that of the untaught network) is another measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from classic.benchmark.tables.rows import Run, TableRow
from classic.benchmark.tables.statistics import mean

Scores = dict[str, float]


def backward_transfer(row: TableRow, metric: str) -> Scores:
    """Backward transfer of every task but the last, means over runs."""

    def of_run(run: Run) -> Scores:
        final, forward = run.by_task(metric), run.by_task(metric, "forward")
        return {task: final[task] - forward[task] for task in run.matrix.tasks[:-1]}

    return _means(map(of_run, row.runs))


def forgetting(row: TableRow, metric: str) -> Scores:
    """Forgetting after Chaudhry et al., means over the runs that were tested after every task; others say less."""
    return _means(run.matrix.forgetting_by_task(metric) for run in row.runs if is_full(run))


def forward_transfer(row: TableRow, alone: TableRow, metric: str) -> Scores:
    """What a task gains from those before it: the score right after learning it minus ONE's, where both are there."""
    ours, theirs = replace(row, when="forward").by_task(metric), alone.by_task(metric)
    return {task: value - theirs[task] for task, value in ours.items() if task in theirs}


def is_full(run: Run) -> bool:
    """Whether every task learned so far was tested after every task."""
    size = len(run.matrix.tasks)
    return not any(math.isnan(value) for t in range(size) for value in run.matrix.row("accuracy", t))


def learning_curve(row: TableRow, metric: str) -> list[float]:
    """The average over the tasks learned so far after each task, means over the runs that know it."""
    curves = [run.matrix.curve(metric) for run in row.runs if is_full(run)]
    return [mean(values) for values in zip(*curves, strict=False)]


def _means(scores: Iterable[Mapping[str, float]]) -> Scores:
    found: dict[str, list[float]] = {}
    for each in scores:
        for task, value in each.items():
            found.setdefault(task, []).append(value)
    return {task: mean(values) for task, values in found.items()}
