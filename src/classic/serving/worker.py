"""The teaching process: learns one job's domain in a working copy of the store, compares, and says so.

    python -m classic.serving.worker FOLDER GIBIBYTES

FOLDER is the job's. Standard output carries one JSON object per line: progress, epoch, error. Standard input is the
life line: when it closes, the service is gone, and so is this process. Whoever starts it again goes on where it stopped.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classic.learning.learner import Learner
    from classic.types import Step

_EVERY = 0.25  # seconds between two reports
_NICENESS = 10
_COUNTED = ("done", "seconds_left", "phase", "epoch", "epochs", "batch", "batches", "terms")
LEARNING = "learning"


def say(event: str, value: dict[str, Any]) -> None:
    """Tells the service; numbers and names of stages only."""
    print(json.dumps({"event": event} | value), flush=True)


def say_stage(what: str, counted: dict[str, Any] | None = None) -> None:
    """Tells what the job is doing; what was not counted is null."""
    say("progress", {"stage": what} | dict.fromkeys(_COUNTED) | (counted or {}))


class Reporter:
    """Tells the service what is done, how far it is, and for how long it will go on at the pace measured so far."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._stage = self._phase = ""
        self._epochs = self._batches = self._done_before = 0
        self._began = self._said = 0.0

    def on_stage(self, task: str, what: str) -> None:
        """Reports that a stage begins."""
        self._begin(what, 0)
        say_stage(what)

    def on_count(self, done: int, total: int) -> None:
        """Reports how much of a stage is done."""
        self._report(done, total, {})

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        """Notes where a phase begins; its first step tells of it."""
        self._phase, self._epochs, self._batches = phase, epochs, batches
        self._begin(LEARNING, done * batches)

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        """Reports how far training is."""
        place = {"phase": self._phase, "epoch": step.epoch, "epochs": self._epochs}
        place |= {"batch": step.batch, "batches": self._batches}
        done, total = step.epoch * self._batches + step.batch + 1, self._epochs * self._batches
        self._report(done, total, {**place, "terms": terms})

    def _begin(self, stage: str, done: int) -> None:
        self._stage, self._done_before, self._began = stage, done, time.monotonic()

    def _report(self, done: int, total: int, more: dict[str, Any]) -> None:
        moment = time.monotonic()
        if moment - self._said < _EVERY:
            return
        self._said = moment
        pace = (moment - self._began) / (done - self._done_before)
        say_stage(self._stage, {"done": done / total, "seconds_left": pace * (total - done), **more})

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Reports an epoch, with the share of units the domain would use if it ended now."""
        say("epoch", {"record": record | {"mask_usage": self._learner.method.usage()}})


def teach_job(folder: Path) -> None:
    """Learns a job's domain and writes result.json; does nothing twice."""
    from classic.data import load_task
    from classic.data.writers import write_examples
    from classic.files import write_json
    from classic.learning.learner import load_learner
    from classic.learning.teach import teach
    from classic.serving.gate import compare
    from classic.serving.jobs import Job, JobBook
    from classic.serving.kept import kept_rows
    from classic.store.store import Store

    fcntl.flock((folder / "lock").open("a"), fcntl.LOCK_EX)  # a predecessor whose service was killed may still be dying
    job = Job(**json.loads((folder / "job.json").read_bytes()))
    service = folder.parent.parent
    upload = folder / "data" / "upload"
    task = load_task(job.domain, upload if upload.exists() else folder / "data")
    store = Store.open(folder / "branch")
    learner = load_learner(store)
    reporter = Reporter(learner)
    version, learner = teach(store, task, watcher=reporter, learner=learner)
    reporter.on_stage(job.domain, "testing it on all domains")
    kept = {each.number: kept_rows(service, store.digest(each.number)) for each in store.chain()}
    tests = {number: file for number, file in kept.items() if file is not None}
    gate, counted = compare(store, learner, task, tests, job.margin, reporter.on_count)
    if job.keep_test and task.test:
        write_examples(task.test, folder / "test.jsonl")
    result = {"version": version.number, "sha256": store.digest(), "gate": gate, "counted": counted}
    write_json(folder / JobBook.RESULT, result)


def main() -> None:
    """Entry point."""
    folder, gibibytes = Path(sys.argv[1]), float(sys.argv[2])
    threading.Thread(target=_watch_life_line, daemon=True).start()
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold the texts
    if gibibytes:
        limit = int(gibibytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    threads = json.loads((folder / "job.json").read_bytes())["threads"]
    say_stage("loading the model")
    try:
        import torch

        torch.set_num_threads(threads)
        teach_job(folder)
    except BaseException as error:
        say("error", _explain(error, gibibytes))
        sys.exit(1)


def _explain(error: BaseException, gibibytes: float) -> dict[str, str]:
    """One sentence about what went wrong, without any text of the domain."""
    from classic.errors import DiskError, TrainingError
    from classic.files import is_disk_error

    if isinstance(error, TrainingError):
        return {"message": "training did not converge: the loss is not finite", "fix": error.fix}
    if isinstance(error, MemoryError) or "memory" in str(error):
        return {
            "message": f"teaching needs more memory than its limit of {gibibytes:g} GiB",
            "fix": "start the service with a larger --teach-memory, or teach fewer rows",
        }
    if isinstance(error, DiskError):
        return {"message": f"the disk cannot be written: {error.reason}", "fix": "make room on it, then teach again"}
    if is_disk_error(error):
        return {"message": "the disk is full or cannot be written", "fix": "make room on it, then teach again"}
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return {"message": f"teaching failed ({type(error).__name__} at {place})", "fix": "see the service's log"}


def _watch_life_line() -> None:
    os.read(0, 1)  # not sys.stdin: a thread that holds its lock would break the end of the process
    os._exit(3)


if __name__ == "__main__":
    main()
