"""One job after the other, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from classic.benchmark.runs.job import BenchJob, claimed, clean_up, execute
from classic.errors import TrainingError


class Local:
    """This machine. A process per job: its memory is measured by itself, and a crash takes nothing else along.

    Several such engines may work on one list at once; none takes a job another has in hand.
    """

    def run(
        self, jobs: Sequence[BenchJob], tell: Callable[[dict[str, Any]], None], done: Callable[[BenchJob], bool]
    ) -> Iterator[list[dict[str, Any]]]:
        """See `Engine`."""
        failed: list[str] = []
        for job in jobs:
            with claimed(job) as mine:
                if not mine:
                    tell({"run": job.name, "note": "another process is at it"})
                    continue
                if done(job):
                    continue
                try:
                    results = _in_a_process(job, tell)
                except TrainingError as error:
                    failed.append(job.name)
                    tell({"run": job.name, "note": f"failed: {error}"})
                    continue
                yield results
                clean_up(job)
        if failed:
            raise TrainingError(f"{len(failed)} jobs failed: {', '.join(failed)}", fix="see above; run again to go on")


def _in_a_process(job: BenchJob, tell: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
    environment = os.environ | {"OMP_NUM_THREADS": str(job.threads), "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-m", "classic.benchmark.runs.engines.local"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(asdict(job)) + "\n")  # and left open: it shows the job that we live
        process.stdin.flush()
        results: list[dict[str, Any]] = []
        try:
            for line in process.stdout:
                event = json.loads(line)
                if "results" in event:
                    results = event["results"]
                else:
                    tell(event)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise TrainingError(
            f"{job.name} ended with exit code {process.returncode}",
            fix="see above; run again to go on where it stopped",
        )
    return results


def main() -> None:
    """The other end: a job in the first line of standard input, events and results as lines on standard output.

    The job ends where its input ends: whoever wanted it is gone, and somebody else may be taking it up.
    """
    plain = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_standard_input, daemon=True).start()
    job = BenchJob.from_dict(plain)
    lines = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not end up among the lines

    def say(event: dict[str, Any]) -> None:
        lines.write(json.dumps(event) + "\n")
        lines.flush()

    say({"results": execute(job, progress=say)})


def _end_with_standard_input() -> None:
    os.read(sys.stdin.fileno(), 1)  # waits; not through the buffer, whose lock would be in the way at the exit
    os._exit(1)  # what was learned lies in the store; nothing is left to tidy up


if __name__ == "__main__":
    main()
