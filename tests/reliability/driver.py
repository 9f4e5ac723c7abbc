"""A process to be killed. It imports torch once and then forks a child for every attempt.

Reads requests as JSON lines, answers with one JSON line each:

    {"store": ..., "tasks": 4, "seed": 0}        learn so many of the tasks; answers "done"
    {..., "kill_after": 0.7}                     SIGKILL the child after so many seconds; answers "killed" or "done"
    {..., "kill_before": 12}                     the child kills itself before its 12th change of a file
    {..., "count": true}                         answers how many changes of files there were

Started as: driver.py ENCODER TASKS.json
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
import transformers.models.auto.modeling_auto
import transformers.models.bert.modeling_bert  # noqa: F401 - what a child needs is imported before the fork

from classic.learning.sequence import learn_sequence
from classic.systems.system import SystemConfig
from classic.types import Example, Polarity, Task

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}


def read_tasks(file: Path) -> list[Task]:
    return [
        Task(name, *(tuple(Example(s, a, Polarity(p)) for s, a, p in part) for part in parts))
        for name, parts in json.loads(file.read_text())
    ]


def watch_changes(store: str, deadly: int) -> list[str]:
    """Notes every change of a file just before it happens; dies before the deadly one, counted from 1."""
    seen: list[str] = []

    def note(event: str) -> None:
        seen.append(event)
        if len(seen) == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        written = event == "open" and str(arguments[0]).startswith(store) and set(arguments[1] or "") & set("wa+")
        if written or event in _CHANGES:
            note(event)

    real = os.fsync

    def fsync(handle: int) -> None:
        note("os.fsync")
        real(handle)

    os.fsync = fsync
    sys.addaudithook(audit)
    return seen


def learn(request: dict[str, Any], tasks: list[Task], config: SystemConfig) -> str:
    seen: list[str] = []
    if request.get("count") or request.get("kill_before"):
        seen = watch_changes(request["store"], request.get("kill_before", 0))
    learn_sequence(request["store"], tasks[: request["tasks"]], config, seed=request.get("seed", 0), rows="last")
    return json.dumps(seen)


def attempt(request: dict[str, Any], tasks: list[Task], config: SystemConfig) -> dict[str, Any]:
    began = time.monotonic()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.write(writer, learn(request, tasks, config).encode())
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    if "kill_after" in request:
        time.sleep(request["kill_after"])
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader) as answer:
        text = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = {0: "done", -signal.SIGKILL: "killed"}.get(code, "failed")
    changes = json.loads(text) if status == "done" else []
    return {"status": status, "seconds": time.monotonic() - began, "changes": changes}


def main() -> None:
    encoder, file = sys.argv[1:]
    torch.set_num_threads(1)
    tasks = read_tasks(Path(file))
    changes = {"backbone.encoder": encoder, "backbone.width": 16, "train.batch_size": 8, "train.epochs": 2}
    config = SystemConfig.preset("default", changes=changes)
    for line in sys.stdin:
        print(json.dumps(attempt(json.loads(line), tasks, config)), flush=True)


if __name__ == "__main__":
    main()
