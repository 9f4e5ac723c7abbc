"""R1: a sweep whose processes are killed gives what an undisturbed one gives, and does nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from test_runs import changed, data, run, spec, told

from classic.benchmark.runs.results import read_results
from classic.benchmark.runs.spec import Spec

__all__ = ["data", "spec"]  # fixtures

SWEEP = """
import json, sys
from pathlib import Path
from classic.benchmark.runs.engines.local import Local
from classic.benchmark.runs.runner import carry_out, plan
from classic.benchmark.runs.spec import Spec
folder = Path(sys.argv[1])
specs = [Spec(**each) for each in json.loads(sys.argv[2])]
list(carry_out(plan(specs, folder / "r", folder / "w", 1), Local(), folder / "r", lambda event: None))
"""


def start(folder: Path, specs: list[Spec]) -> subprocess.Popen[bytes]:
    words = json.dumps([asdict(each) for each in specs])
    return subprocess.Popen([sys.executable, "-c", SWEEP, str(folder), words], stderr=subprocess.DEVNULL)


def worker_of(process: subprocess.Popen[bytes]) -> int | None:
    """The process that carries out a run; git is asked for the commit, too."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    with suppress(FileNotFoundError):
        return next(
            (int(pid) for pid in children if b"engines.local" in Path(f"/proc/{pid}/cmdline").read_bytes()), None
        )
    return None


def wait_for(there: Callable[[], Any], process: subprocess.Popen[bytes]) -> Any:
    while not (found := there()):
        assert process.poll() is None, "the sweep ended before it could be disturbed"
        time.sleep(0.05)
    return found


def test_a_killed_sweep_gives_the_same_table_and_repeats_nothing(spec: Spec, tmp_path: Path) -> None:
    specs = [changed(spec, seed=seed) for seed in range(3)]
    here = {result["key"]: result for result in run(specs, tmp_path / "here")[1]}
    results = tmp_path / "r"

    sweep = start(tmp_path, specs)  # first its working process, then itself
    os.kill(wait_for(lambda: worker_of(sweep), sweep), signal.SIGKILL)
    wait_for(lambda: results.is_dir() and list(results.glob("*.json")), sweep)
    sweep.kill()
    sweep.wait()
    finished = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in results.glob("*.json")}
    assert 0 < len(finished) < 3

    again = start(tmp_path, specs)
    assert again.wait() == 0
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in finished} == finished
    there = {result["key"]: result for result in read_results(results)}
    assert len(list(results.glob("*.json"))) == len(there) == 3
    assert {key: told(result) for key, result in there.items()} == {key: told(result) for key, result in here.items()}
