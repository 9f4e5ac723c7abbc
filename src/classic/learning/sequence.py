"""A whole sequence of tasks through a store, tested after every task. Resumable: the store remembers what is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from classic.config import to_dict
from classic.data.tasks import task_hash
from classic.errors import InputError
from classic.evaluation.matrix import ResultMatrix
from classic.evaluation.scores import expand
from classic.learning.learner import Learner, load_learner, open_or_create
from classic.learning.teach import teach
from classic.learning.testing import confusion
from classic.store.store import Store, Version
from classic.systems.system import SystemConfig
from classic.training.loop import Watcher
from classic.types import Task, TaskId

Rows = Literal["all", "last"]


def learn_sequence(
    path: Path | str,
    tasks: Sequence[Task],
    config: SystemConfig,
    *,
    seed: int = 0,
    rows: Rows = "all",
    rule: TaskId | None = None,
    device: str = "cpu",
    watcher: Watcher | None = None,
    on_task: Callable[[Version, ResultMatrix], None] | None = None,
) -> tuple[Store, ResultMatrix]:
    """Learns tasks in order and fills the result matrix.

    Args:
        path: The store; made if there is none, taken up where it stands if there is one.
        tasks: The tasks in order.
        config: The system.
        seed: Root of all randomness.
        rows: Test every task so far after each task (``all``), or each task when it was learned and all of them at the
            end (``last``), which is what final and forward scores need.
        rule: How the task of a test example is found, if not as the system's configuration says; training is the same.
        device: Where to compute.
        watcher: Who looks on while a task is trained.
        on_task: Called after each task was tested.
    """
    store = open_or_create(path, config, seed)
    matrix = ResultMatrix([task.name for task in tasks])
    learner: Learner | None = None
    for index, task in enumerate(tasks):
        learned = store.domains()
        if index < len(learned):  # done by an earlier process
            version = store.chain()[index]
            if version.domain != task.name or version.record["data"] != task_hash(task):
                raise InputError(
                    f"{path} learned {version.domain!r} as its domain {index + 1}, not {task.name!r} from these data",
                    fix="give the tasks the store was begun with, or another store",
                )
        if index >= len(learned) - 1:  # the newest one, too: its process may have died before it cleaned up
            ready = learner if learner and learner.method.learned == index else None
            version, learner = teach(store, task, device=device, watcher=watcher, learner=ready)
        wanted = [u for u in range(index + 1) if rows == "all" or u == index or index == len(tasks) - 1]
        stored = store.read_scores(version.number)
        scores = _own_scores(version) | stored
        place = {u: _score_name(tasks[u].name, rule) for u in wanted}
        if any(place[u] not in scores for u in wanted):
            if learner is None or learner.method.learned != index + 1:
                learner = load_learner(store, version.number, device)
            for u in wanted:
                if place[u] not in scores:
                    learner.method.model.backbone.prepare(tasks[u].test, dataset=True)
                    scores[place[u]] = confusion(learner, tasks[u].name, tasks[u].test, rule)
        if scores != stored:
            store.write_scores(version.number, scores)
        for u in wanted:
            true, said = expand(scores[place[u]])
            matrix.record(index, u, true, said, [polarity.column for polarity in tasks[u].classes])
        if on_task:
            on_task(version, matrix)
    return store, matrix


def _own_scores(version: Version) -> dict[str, Any]:
    """What a version answered on its own domain's test set when it was taught: no need to ask again."""
    tested = version.record["scores"].get("test", {})
    return {version.domain: {"pairs": tested["pairs"]}} if "pairs" in tested else {}


def _score_name(domain: str, rule: TaskId | None) -> str:
    return f"{domain} (by entropy)" if rule is TaskId.ENTROPY else domain


def summary(store: Store, matrix: ResultMatrix, *, rule: TaskId | None = None) -> dict[str, Any]:
    """A result as plain JSON: scores, cost, and everything that determines them."""
    chain = store.chain()
    runs = [version.run for version in chain]
    answers = store.read_scores(chain[-1].number)
    return {
        "scores": {
            f"{when}_{metric}": getattr(matrix, f"{when}_{metric}")
            for when in ("final", "forward")
            for metric in ("accuracy", "macro_f1", "own_f1")
        },
        "matrix": matrix.to_dict(),
        "final_answers": {task: answers[_score_name(task, rule)] for task in matrix.tasks},
        "bytes_kept": [version.record.get("bytes_kept") for version in chain],
        "capacity": [version.record.get("capacity") for version in chain],
        "overlap": [version.record.get("overlap") for version in chain],
        "transfer": [version.record.get("transfer") for version in chain],
        "seconds": sum(run["seconds"] for run in runs),
        "cpu_seconds": sum(run["cpu_seconds"] for run in runs),
        "seconds_per_task": [run["seconds"] for run in runs],
        "cpu_seconds_per_task": [run["cpu_seconds"] for run in runs],
        "peak_memory_bytes": max(run["peak_memory_bytes"] for run in runs),
        "surroundings": runs[-1]["surroundings"],
        "system": to_dict(SystemConfig.from_dict(store.settings["system"])),
        "seed": store.settings["seed"],
        "encoder": store.settings["encoder"],
        "data": [version.record["data"] for version in chain],
        "store_sha256": store.digest(),
    }
