"""A whole sequence of tasks through a store, tested after every task. Resumable: the store remembers what is done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from classic.data.starter import STARTER
from classic.data.tasks import task_hash
from classic.errors import InputError, StoreError
from classic.evaluation.matrix import METRICS, ResultMatrix
from classic.evaluation.scores import expand, own_columns, score
from classic.learning.learner import begin, load_learner
from classic.learning.teach import teach
from classic.learning.testing import confusion
from classic.store.store import Store
from classic.store.versions import Version
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
    starter: bool = False,
    finder: bool = False,
    rows: Rows = "all",
    ordered: bool = False,
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
        starter: Whether a new store begins with the starter, if its system has one; it is no task of the sequence.
        finder: Whether a new store learns to find aspects, too.
        rows: Test every task so far after each task (``all``), or each task when it was learned and all of them at the
            end (``last``), which is what final and forward scores need.
        ordered: Whether the last row tells every answer by itself, too, for paired tests.
        rule: How the task of a test example is found, if not as the system's configuration says; training is the same.
        device: Where to compute.
        watcher: Who looks on while a task is trained.
        on_task: Called after each task was tested.
    """
    store, learner = begin(path, config, seed, device, starter=starter, finder=finder)
    before = 1 if store.settings.get("start") == STARTER else 0  # domains that were there before the first task
    matrix = ResultMatrix([task.name for task in tasks])
    for index, task in enumerate(tasks):
        learned = store.domains()[before:]
        if index < len(learned):  # done by an earlier process
            version = store.chain()[before + index]
            if version.domain != task.name or version.record["data"] != task_hash(task):
                raise InputError(
                    f"{path} learned {version.domain!r} as its domain {index + 1}, not {task.name!r} from these data",
                    fix="give the tasks the store was begun with, or another store",
                )
        if index >= len(learned) - 1:  # the newest one, too: its process may have died before it cleaned up
            ready = learner if learner and learner.method.learned == before + index else None
            version, learner = teach(store, task, device=device, watcher=watcher, learner=ready)
        wanted = [u for u in range(index + 1) if rows == "all" or u == index or index == len(tasks) - 1]
        stored = store.read_scores(version.number)
        scores = _own_scores(version) | stored
        place = {u: _score_name(tasks[u].name, rule) for u in wanted}
        one_by_one = ordered and index == len(tasks) - 1
        asked = [u for u in wanted if place[u] not in scores or (one_by_one and "said" not in scores[place[u]])]
        if asked:
            if learner is None or learner.method.learned != before + index + 1:
                learner = load_learner(store, version.number, device)
            for u in asked:
                learner.method.model.backbone.prepare(tasks[u].test, dataset=True)
                scores[place[u]] = confusion(learner, tasks[u].name, tasks[u].test, rule, ordered=one_by_one)
        if scores != stored:
            store.write_scores(version.number, scores)
        for u in wanted:
            true, said = expand(scores[place[u]])
            matrix.record(index, u, true, said, own_columns(tasks[u].classes, scores[place[u]]))
        if on_task:
            on_task(version, matrix)
    return store, matrix


def _own_scores(version: Version) -> dict[str, Any]:
    """What a version answered on its own domain's test set when it was taught: no need to ask again."""
    tested = version.record["scores"].get("test", {})
    return {version.domain: {"pairs": tested["pairs"]}} if "pairs" in tested else {}


def _score_name(domain: str, rule: TaskId | None) -> str:
    return f"{domain} (by entropy)" if rule is TaskId.ENTROPY else domain


def summary(store: Store, matrix: ResultMatrix) -> dict[str, Any]:
    """A sequence in a few numbers: mean scores, cost, and a digest of all trained tensors."""
    runs = [_cost(store, version) for version in store.chain()[-matrix.learned :]]  # a starter cost nothing here
    return {
        "scores": {
            f"{when}_{metric}": getattr(matrix, when)(metric) for when in ("final", "forward") for metric in METRICS
        },
        "cpu_seconds": sum(run["cpu_seconds"] for run in runs),
        "seconds": sum(run["seconds"] for run in runs),
        "peak_memory_bytes": max(run["peak_memory_bytes"] for run in runs),
        "tensors_sha256": tensors_digest(store.tensors()),
    }


def _cost(store: Store, version: Version) -> dict[str, Any]:
    """What a version cost; a result must not be made without it."""
    if not {"seconds", "cpu_seconds", "peak_memory_bytes"} <= version.run.keys():
        raise StoreError(
            f"what version {version.number} of {store.path} cost is not known: its run.json is missing or damaged",
            fix="run the sequence again in a new store",
        )
    return version.run


def task_facts(store: Store, tasks: Sequence[Task], *, rule: TaskId | None = None) -> dict[str, dict[str, Any]]:
    """What is to be told of every task of a sequence: data, scores with the counts they come from, cost, what is kept."""
    chain = store.chain()
    last = _own_scores(chain[-1]) | store.read_scores(chain[-1].number)
    found: dict[str, dict[str, Any]] = {}
    for task, version in zip(tasks, chain[-len(tasks) :], strict=True):
        name = _score_name(task.name, rule)
        then = (_own_scores(version) | store.read_scores(version.number))[name]
        found[task.name] = {
            "data": version.record["data"],
            "forward": score(then, task.classes) | then,
            "final": score(last[name], task.classes) | last[name],
            "seconds": _cost(store, version)["seconds"],
            "cpu_seconds": _cost(store, version)["cpu_seconds"],
            "pulls": _pulls(version),
        } | {name: version.record.get(name) for name in ("bytes_kept", "capacity", "overlap", "transfer", "masks")}
    return found


def _pulls(version: Version) -> dict[str, float] | None:
    """How hard each further loss pulled beside the cross-entropy: the mean over the epochs of a task."""
    measured = [epoch["shares"] for epoch in version.record["epochs"] if epoch.get("shares")]
    if not measured:
        return None
    return {name: sum(each.get(name, 0.0) for each in measured) / len(measured) for name in measured[-1]}


def tensors_digest(tensors: dict[str, Any]) -> str:
    """One sha256 over tensors by name."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(f"{name} {tuple(tensors[name].shape)} {tensors[name].dtype};".encode())
        total.update(tensors[name].contiguous().view(-1).numpy().tobytes())
    return total.hexdigest()
