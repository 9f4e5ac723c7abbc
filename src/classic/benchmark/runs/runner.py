"""From a list of runs to result files: what is finished is never repeated, what was interrupted goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from classic.benchmark.runs.job import BenchJob
from classic.benchmark.runs.outside import load
from classic.benchmark.runs.results import path_of, read_results, write_result, write_tidy
from classic.benchmark.runs.spec import Spec, key_of, training_key
from classic.data.tasks import load_domain
from classic.systems.effects import refuse_idle
from classic.systems.system import refuse_unfit


class Engine(Protocol):
    """Where jobs are carried out."""

    def run(
        self, jobs: Sequence[BenchJob], tell: Callable[[dict[str, Any]], None], done: Callable[[BenchJob], bool]
    ) -> Iterator[list[dict[str, Any]]]:
        """Results of each job as it finishes, in any order.

        Args:
            jobs: What to run.
            tell: Is told how they get on.
            done: Whether somebody else has finished a job in the meantime.
        """


@dataclass(frozen=True)
class Plan:
    """What is there already, and what is to be done.

    Attributes:
        finished: Runs whose results are there, made by this very code from these very data.
        jobs: The others, those that train the same together.
    """

    finished: tuple[Spec, ...]
    jobs: tuple[BenchJob, ...]


def plan(specs: Iterable[Spec], results: Path, work: Path, threads: int, device: str = "cpu") -> Plan:
    """Sorts runs into finished ones and jobs to do; refused: what cannot work, and a setting that would change nothing."""
    specs = _distinct(specs)
    load(spec.outside for spec in specs)
    for spec in specs:
        config = spec.config()
        refuse_unfit(config)
        refuse_idle(config, spec.changes)
    there = {result["key"] for result in read_results(results)}
    finished: list[Spec] = []
    grouped: dict[str, list[tuple[Spec, dict[str, Any]]]] = {}
    read_once = cache(load_domain)
    for spec in specs:
        determined = spec.determined_by(spec.tasks(read_once), threads, device)
        if key_of(determined) in there:
            finished.append(spec)
        else:
            grouped.setdefault(training_key(determined), []).append((spec, determined))
    jobs = []
    for group in grouped.values():
        same, facts = zip(*group, strict=True)
        jobs.append(BenchJob.make(same, facts, threads, work, device))
    return Plan(tuple(finished), tuple(jobs))


def _distinct(specs: Iterable[Spec]) -> list[Spec]:
    found: list[Spec] = []
    for spec in specs:
        if spec not in found:
            found.append(spec)
    return found


def carry_out(
    wanted: Plan, engine: Engine, results: Path, tell: Callable[[dict[str, Any]], None]
) -> Iterator[dict[str, Any]]:
    """Runs the jobs of a plan and writes one file per result, as each finishes."""
    made_from = provenance()
    results.mkdir(parents=True, exist_ok=True)

    def done(job: BenchJob) -> bool:
        return {*job.keys} <= {result["key"] for result in read_results(results)}

    for group in engine.run(wanted.jobs, tell, done):
        for result in group:
            write_result(path_of(results, result), result | made_from)
            write_tidy(results)
            yield result


def provenance(here: Path = Path(__file__).parent) -> dict[str, Any]:
    """The commit the code is from, and whether it was changed since; nothing where there is no repository.

    Args:
        here: A folder of the repository.
    """

    def git(*words: str) -> str | None:
        try:
            return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return None

    return {
        "commit": git("rev-parse", "HEAD"),
        "dirty": bool(git("status", "--porcelain", "--", ":/src", ":/pyproject.toml")),
    }
