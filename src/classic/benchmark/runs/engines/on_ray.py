"""Jobs on a Ray cluster: a running one, or one of this machine's cores that is started for the purpose."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from classic.benchmark.runs.job import BenchJob, claimed, clean_up, execute
from classic.cluster import enough_room, start_ray
from classic.errors import TrainingError
from classic.types import Task

_RETRIES = 5  # of a job whose machine was lost; it goes on where it stopped if the work folder is shared


class OnRay:
    """A Ray cluster. Ray schedules, retries what a lost machine was at, and keeps the number of threads per job.

    A cluster started here listens on loopback only and asks for a token that nobody else has. A running cluster is
    joined with the token its owner gave (``RAY_AUTH_TOKEN``); its machines need this package, not the data: tasks travel
    with the jobs.

    Args:
        address: Of a running cluster; None starts one.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address

    def run(
        self, jobs: Sequence[BenchJob], tell: Callable[[dict[str, Any]], None], done: Callable[[BenchJob], bool]
    ) -> Iterator[list[dict[str, Any]]]:
        """See `Engine`."""
        jobs = [job for job in jobs if not done(job)]
        if not jobs:
            return
        ray = start_ray(self.address, os.cpu_count() or 1, extra="bench")
        try:
            with enough_room(ray):
                yield from self._work(ray, jobs, tell)
        finally:
            ray.shutdown()

    def _work(
        self, ray: Any, jobs: Sequence[BenchJob], tell: Callable[[dict[str, Any]], None]
    ) -> Iterator[list[dict[str, Any]]]:
        news = ray.remote(num_cpus=0, max_restarts=-1)(_News).remote()
        shipped: dict[str, Any] = {}
        waiting: dict[Any, BenchJob] = {}
        for job in jobs:
            first = job.specs[0]
            sequence = json.dumps([first.order, first.first, first.valid])
            if sequence not in shipped:
                shipped[sequence] = ray.put(first.tasks())
            # max_calls: a fresh process per job, so that its memory is measured by itself.
            gpus = 0 if job.device == "cpu" else 1
            remote = ray.remote(num_cpus=job.threads, num_gpus=gpus, max_retries=_RETRIES, max_calls=1)(_on_a_worker)
            pinned = remote.options(runtime_env={"env_vars": {"OMP_NUM_THREADS": str(job.threads)}})
            waiting[pinned.remote(asdict(job), shipped[sequence], news)] = job
        failed: list[str] = []
        while waiting:
            ready, _ = ray.wait(list(waiting), timeout=1.0)
            with contextlib.suppress(ray.exceptions.RayError):  # news are nice to have; results are not lost with them
                for event in ray.get(news.drain.remote(), timeout=5.0):
                    tell(event)
            for reference in ready:
                job = waiting.pop(reference)
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayError as error:
                    failed.append(job.name)
                    tell({"run": job.name, "note": f"failed: {error}"})
        if failed:
            raise TrainingError(f"{len(failed)} jobs failed: {', '.join(failed)}", fix="see above; run again to go on")


class _News:
    """Where workers say how they get on, and the driver listens."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def say(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    def drain(self) -> list[dict[str, Any]]:
        events, self.events = self.events, []
        return events


def _on_a_worker(plain: dict[str, Any], tasks: list[Task], news: Any) -> list[dict[str, Any]]:
    job = BenchJob.from_dict(plain)
    from classic.benchmark.runs.outside import load

    load(spec.outside for spec in job.specs)
    # A worker that was given up may still be alive for a moment: wait until it has let go of the store.
    with claimed(job, wait=True):
        results = execute(job, tasks, news.say.remote)
        clean_up(job)
    return results
