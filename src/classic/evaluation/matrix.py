"""The matrix of results: how well each task is done after each step of the sequence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from classic.errors import InputError, unknown_name
from classic.evaluation.metrics import accuracy, macro_f1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

METRICS = ("accuracy", "macro_f1", "own_f1")
_NAN = math.nan


class ResultMatrix:
    """R[t, u]: the result on the test set of task u after learning tasks 0 to t; NaN where there is none.

    Three such matrices are kept: ``accuracy``, ``macro_f1`` (the paper's convention) and ``own_f1``
    (macro-F1 over the task's own labels). Means are plain means: a missing value makes them NaN rather than
    quietly smaller.

    Args:
        tasks: Names of the tasks in the order they are learned.
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        if not tasks or len(set(tasks)) != len(tasks):
            raise InputError("a result matrix needs task names, each once", fix="check the order of the tasks")
        self.tasks = tuple(tasks)
        size = len(self.tasks)
        self._values = {metric: [[_NAN] * size for _ in range(size)] for metric in METRICS}

    def record(
        self,
        t: int,
        u: int,
        truth: Sequence[Hashable],
        predicted: Sequence[Hashable],
        labels: Sequence[Hashable],
    ) -> None:
        """Enters the result on task u after learning task t.

        Args:
            t: The task learned last, from 0.
            u: The task tested, at most t.
            truth: True labels.
            predicted: Predicted labels.
            labels: The label set of task u, for own F1.
        """
        if not 0 <= u <= t < len(self.tasks):
            raise IndexError(f"no cell ({t}, {u}) in a matrix of {len(self.tasks)} tasks")
        self._values["accuracy"][t][u] = accuracy(truth, predicted)
        self._values["macro_f1"][t][u] = macro_f1(truth, predicted)
        self._values["own_f1"][t][u] = macro_f1(truth, predicted, labels)

    def enter(self, t: int, u: int, scores: Mapping[str, float]) -> None:
        """Enters scores that were computed before, by the names of METRICS."""
        for metric in METRICS:
            self._values[metric][t][u] = float(scores[metric])

    def without(self, task: str) -> ResultMatrix:
        """The same results but for one task: neither tested nor learned, as far as averages go."""
        left = [place for place, name in enumerate(self.tasks) if name != task]
        matrix = ResultMatrix([self.tasks[place] for place in left])
        matrix._values = {metric: [[rows[t][u] for u in left] for t in left] for metric, rows in self._values.items()}
        return matrix

    def value(self, metric: str, t: int, u: int) -> float:
        """R[t, u] of one metric."""
        return self._of(metric)[t][u]

    @property
    def acc(self) -> NDArray[np.float64]:
        """Accuracy as an array, indexed [t, u]."""
        return self._array("accuracy")

    @property
    def macro_f1(self) -> NDArray[np.float64]:
        """Macro-F1 (the paper's convention) as an array, indexed [t, u]."""
        return self._array("macro_f1")

    @property
    def own_f1(self) -> NDArray[np.float64]:
        """Macro-F1 over the task's own labels as an array, indexed [t, u]."""
        return self._array("own_f1")

    def row(self, metric: str, t: int) -> list[float]:
        """R[t, 0..t]: all tasks learned so far, after task t."""
        return self._of(metric)[t][: t + 1]

    @property
    def learned(self) -> int:
        """How many tasks have been learned: the last row with a value, counted from 1."""
        rows = self._values["accuracy"]
        return max((t + 1 for t, row in enumerate(rows) if not all(map(math.isnan, row))), default=0)

    def final(self, metric: str = "accuracy") -> float:
        """Mean of the last row: (1/T) Σ_u R[T, u]."""
        return _mean(self.row(metric, self.learned - 1)) if self.learned else _NAN

    def forward(self, metric: str = "accuracy") -> float:
        """Mean of the diagonal: (1/T) Σ_t R[t, t], each task right after it was learned."""
        return _mean([self.value(metric, t, t) for t in range(self.learned)])

    def curve(self, metric: str = "accuracy") -> list[float]:
        """Mean of each row: the average over the tasks learned so far, as the sequence goes on."""
        return [_mean(self.row(metric, t)) for t in range(self.learned)]

    def forgetting_by_task(self, metric: str = "accuracy") -> dict[str, float]:
        """For every task but the last: max_{t < T} R[t, u] - R[T, u]. Negative where later tasks helped."""
        last = self.learned - 1
        result: dict[str, float] = {}
        for u in range(max(last, 0)):
            earlier = [self.value(metric, t, u) for t in range(u, last)]
            best = max((each for each in earlier if not math.isnan(each)), default=_NAN)
            result[self.tasks[u]] = best - self.value(metric, last, u)
        return result

    @property
    def forgetting(self) -> float:
        """Mean of ``forgetting_by_task`` in accuracy; NaN before the second task."""
        return _mean(list(self.forgetting_by_task().values()))

    @property
    def backward_transfer(self) -> float:
        """Backward transfer of GEM and Avalanche, in accuracy; NaN before the second task.

        Formula: (1/(T-1)) Σ_{u < T} R[T, u] - R[u, u]
        """
        last = self.learned - 1
        return _mean([self.value("accuracy", last, u) - self.value("accuracy", u, u) for u in range(max(last, 0))])

    @property
    def final_accuracy(self) -> float:
        """Final accuracy."""
        return self.final("accuracy")

    @property
    def final_macro_f1(self) -> float:
        """Final macro-F1, the paper's convention."""
        return self.final("macro_f1")

    @property
    def final_own_f1(self) -> float:
        """Final macro-F1 over each task's own labels."""
        return self.final("own_f1")

    @property
    def forward_accuracy(self) -> float:
        """Forward accuracy."""
        return self.forward("accuracy")

    @property
    def forward_macro_f1(self) -> float:
        """Forward macro-F1, the paper's convention."""
        return self.forward("macro_f1")

    @property
    def forward_own_f1(self) -> float:
        """Forward macro-F1 over each task's own labels."""
        return self.forward("own_f1")

    def to_dict(self) -> dict[str, object]:
        """As strict JSON: NaN becomes null."""
        matrices = {
            metric: [[None if math.isnan(value) else value for value in row] for row in rows]
            for metric, rows in self._values.items()
        }
        return {"tasks": list(self.tasks), **matrices}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> ResultMatrix:
        """The inverse of ``to_dict``; anything else is refused."""
        if unknown := set(data) - {"tasks", *METRICS}:
            raise unknown_name("key of a result matrix", sorted(unknown)[0], ["tasks", *METRICS])
        tasks = data.get("tasks")
        if not isinstance(tasks, list) or not all(isinstance(name, str) for name in tasks):
            raise InputError("a result matrix without a list of task names", fix="write the file again")
        matrix = cls(tasks)
        for metric in METRICS:
            matrix._values[metric] = _rows_from_json(data.get(metric), metric, len(tasks))
        return matrix

    def table(self, metric: str = "accuracy") -> Table:
        """The matrix as a table for the terminal, coloured from red (0) to green (1)."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"{metric} on each task (column) after learning each task (row)", pad_edge=False)
        table.add_column("after")
        for name in self.tasks:
            table.add_column(Text(name), justify="right")
        table.add_column("mean", justify="right", style="bold")
        for t, mean in enumerate(self.curve(metric)):
            cells = [_cell(value) for value in self._of(metric)[t]]
            table.add_row(Text(self.tasks[t]), *(Text(text, style=style) for text, style in cells), _cell(mean)[0])
        return table

    def _array(self, metric: str) -> NDArray[np.float64]:
        # Imported here so that scoring needs nothing but the standard library.
        import numpy as np

        return np.array(self._of(metric), dtype=np.float64)

    def _of(self, metric: str) -> list[list[float]]:
        if metric not in self._values:
            raise unknown_name("metric", metric, list(METRICS))
        return self._values[metric]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else _NAN


def _cell(value: float) -> tuple[str, str]:
    if math.isnan(value):
        return "", ""
    share = min(max(value, 0.0), 1.0)
    return f"{100 * value:.1f}", f"rgb({round(220 * (1 - share))},{round(180 * share)},60)"


def _rows_from_json(rows: object, metric: str, size: int) -> list[list[float]]:
    problem = InputError(
        f"{metric} of a result matrix is not {size} rows of {size} numbers or null",
        fix="write the file again",
    )
    if not isinstance(rows, list) or len(rows) != size:
        raise problem
    result: list[list[float]] = []
    for row in rows:
        if not isinstance(row, list) or len(row) != size:
            raise problem
        for value in row:
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
                raise problem
            if value is not None and not math.isfinite(value):
                raise problem
        result.append([_NAN if value is None else float(value) for value in row])
    return result
