"""Carrying out runs: a store is taught the tasks in order, and what comes out is one small JSON per system."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from classic.benchmark.runs.encoder_files import name_of
from classic.benchmark.runs.results import FORMAT, without_nulls
from classic.benchmark.runs.spec import Spec, key_of, training_key
from classic.types import Task, TaskId

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class BenchJob:
    """Runs that train the same and differ only in their task-id rule.

    Attributes:
        specs: The runs.
        threads: Of torch.
        work: Where the store and token states are kept meanwhile, so that a killed job goes on where it was.
        training: The address of what is trained.
        keys: The address of every run.
        device: Where torch computes.
    """

    specs: tuple[Spec, ...]
    threads: int
    work: str
    training: str
    keys: tuple[str, ...]
    device: str = "cpu"

    @classmethod
    def make(
        cls, specs: Sequence[Spec], facts: Sequence[dict[str, Any]], threads: int, work: Path, device: str
    ) -> BenchJob:
        """The job of runs that train the same, from everything that determines them."""
        return cls(
            tuple(specs), threads, str(work), training_key(facts[0]), tuple(key_of(each) for each in facts), device
        )

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> BenchJob:
        """The inverse of `asdict`, for who gets it from another process."""
        return cls(**plain | {"specs": tuple(Spec(**spec) for spec in plain["specs"]), "keys": tuple(plain["keys"])})

    @property
    def name(self) -> str:
        """For people."""
        return " + ".join(spec.name for spec in self.specs)


def execute(
    job: BenchJob, tasks: Sequence[Task] | None = None, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Trains once and tests under every rule asked for.

    Args:
        job: What to run.
        tasks: The tasks, where they are at hand already; a machine of a cluster has no data of its own.
        progress: Told after every task, in plain values.

    Returns:
        One result per run, as plain JSON values.
    """
    import torch

    from classic.benchmark.runs.outside import load
    from classic.learning.sequence import learn_sequence, summary, task_facts
    from classic.learning.starter import fits

    torch.set_num_threads(job.threads)
    load(spec.outside for spec in job.specs)
    tasks = tasks if tasks is not None else job.specs[0].tasks()
    facts = [spec.determined_by(tasks, job.threads, job.device) for spec in job.specs]
    work = Path(job.work)
    folder = work / job.training[:16]
    results = []
    clock = time.process_time()
    for spec, determined in zip(job.specs, facts, strict=True):
        config = spec.config()
        if "cache_folder" in config.backbone_config:
            cached = config.backbone_config | {"cache_folder": str(work / "states")}
            config = replace(config, backbone_config=cached)
        trained = replace(config, task_id=TaskId.LAST) if config.task_id is TaskId.ENTROPY else config

        assert not spec.starter or fits(trained), "a run that is called +starter begins with it"

        def tell(version: Any, matrix: Any, name: str = spec.name) -> None:
            scores = {m: matrix.value(m, matrix.learned - 1, matrix.learned - 1) for m in ("accuracy", "own_f1")}
            if progress:
                progress({"run": name, "task": version.domain, "done": matrix.learned, "of": len(tasks)} | scores)

        store, matrix = learn_sequence(
            folder,
            tasks,
            trained,
            seed=spec.seed,
            starter=spec.starter,
            rows="last",
            ordered=True,
            rule=config.task_id,
            device=job.device,
            on_task=tell,
        )
        encoder = store.settings["encoder"]
        found = task_facts(store, tasks, rule=config.task_id)
        results.append(
            {
                "format": FORMAT,
                "spec": _told(spec.anywhere()),
                "key": key_of(determined),
                "determined_by": {k: v for k, v in determined.items() if k not in {"tasks", "data"}},
                "encoder": encoder | {"encoder": name_of(encoder["encoder"])},
                **summary(store, matrix),
                "tasks": {task: without_nulls(each) | _exact(each) for task, each in found.items()},
                "cpu_seconds_with_tests": time.process_time() - clock,
                "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }
        )
    return results


def _told(spec: Spec) -> dict[str, Any]:
    """A run in plain values, without those that are as usual."""
    usual = asdict(Spec(spec.system))
    return {key: value for key, value in asdict(spec).items() if key == "system" or value != usual[key]}


def _exact(facts: dict[str, Any]) -> dict[str, Any]:
    """Scores keep all of their digits."""
    return {key: facts[key] for key in ("forward", "final")}


def clean_up(job: BenchJob) -> None:
    """Throws a finished job's store away; token states stay, other jobs want them."""
    shutil.rmtree(Path(job.work) / job.training[:16], ignore_errors=True)


@contextmanager
def claimed(job: BenchJob, *, wait: bool = False) -> Iterator[bool]:
    """Whether this process may work on a store: no other process on this machine does so now.

    Args:
        job: What is to be worked on.
        wait: Whether to wait until it may.
    """
    import fcntl

    work = Path(job.work)
    work.mkdir(parents=True, exist_ok=True)
    with (work / f"{job.training[:16]}.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
