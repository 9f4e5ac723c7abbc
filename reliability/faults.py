"""C8, a clock that jumps; S7, a teaching process that is killed or stopped under a service that goes on answering."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from reliability.power import grow, toy

TOKEN = "reliability"


def clock(runs: int = 50, seed: int = 8) -> dict[str, Any]:
    """Publishes, rolls back and prunes while the wall clock jumps by an hour, ten years, to 2038, and back."""
    draw, real, wrong = random.Random(seed), time.time, []
    jumps = (0.0, 3600.0, -3600.0, 3.2e8, -3.2e8, 2**31 - real())
    with tempfile.TemporaryDirectory() as scratch:
        wanted = _history(Path(scratch) / "plain")
        for number in range(runs):
            time.time = lambda: real() + draw.choice(jumps)
            try:
                if _history(Path(scratch) / str(number)) != wanted:
                    wrong.append(number)
            finally:
                time.time = real
    return {"runs": runs, "seed": seed, "different": wrong}


def _history(path: Path) -> list[Any]:
    store = toy(path)
    grow(store, 3)
    digests = [store.digest(number) for number in store.numbers()]
    store.rollback(1)
    gone = store.prune()
    grow(store, 5)
    return [digests, gone, store.numbers(), store.verify()]


class Service:
    """`classic serve` over a demo store, with a job that takes a while."""

    def __init__(self, folder: Path) -> None:
        code = "from classic.cli.main import run; run()"
        command = [sys.executable, "-c", code, "serve", str(folder / "store"), "--port", "0", "--threads", "1"]
        environment = os.environ | {"CLASSIC_TOKEN": TOKEN, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=(folder / "log").open("wb"), text=True, env=environment
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.match(r"(http://127\.0\.0\.1:\d+)/#token=", line):
                self.url = found[1]
                return
        raise SystemExit((folder / "log").read_text())

    def ask(self, path: str, body: bytes | None = None, kind: str = "application/json") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        request = urllib.request.Request(self.url + path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def child(self) -> int | None:
        """The teaching process."""
        file = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return next((int(pid) for pid in file.read_text().split()), None)


def workers(times: int = 50, seed: int = 7) -> dict[str, Any]:
    """Kills or stops the teaching process so often, while predictions are asked."""
    from classic.data import DEMO_DOMAINS, load_demo
    from classic.learning.sequence import learn_sequence
    from classic.systems.system import SystemConfig

    draw, failed, ended, left = random.Random(seed), 0, [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        config = SystemConfig.preset("default", changes={"train.epochs": 1})
        learn_sequence(folder / "store", [load_demo(DEMO_DOMAINS[0])], config, rows="last")
        service = Service(folder)
        question = json.dumps({"inputs": [{"sentence": "The crema is lovely.", "aspects": ["crema"]}]}).encode()
        rows = "".join(
            json.dumps({"sentence": e.sentence, "aspect": e.aspect, "polarity": str(e.polarity)}) + "\n"
            for e in load_demo(DEMO_DOMAINS[1]).train
        ).encode()
        for number in range(times):
            _, job = service.ask(f"/v1/teach?domain=d{number}", rows, "application/jsonl")
            while (pid := service.child()) is None:
                time.sleep(0.05)
            time.sleep(draw.uniform(0.0, 3.0))
            stop = draw.random() < 0.5
            os.kill(pid, signal.SIGSTOP if stop else signal.SIGKILL)
            failed += service.ask("/v1/predict", question)[0] != 200
            failed += service.ask("/readyz")[0] != 200
            if stop:  # a process that hangs is ended by a person
                service.ask(f"/v1/jobs/{job['id']}/cancel", b"")
            for _ in range(600):
                state = service.ask(f"/v1/jobs/{job['id']}")[1]["state"]
                if state in ("failed", "cancelled", "ready", "held"):
                    break
                time.sleep(0.1)
            if state in ("ready", "held"):
                service.ask(f"/v1/jobs/{job['id']}/discard", b"")
            ended.append(state)
            left += (folder / "store" / "service" / "jobs" / job["id"] / "data").exists()
        service.process.terminate()
        code = service.process.wait(60)
    states = {state: ended.count(state) for state in sorted(set(ended))}
    return {"times": times, "seed": seed, "failed_answers": failed, "ended": states, "uploads_left": left, "exit": code}


def membership(seed: int = 6) -> dict[str, Any]:
    """P6: how well members of a demo domain are told from its test rows, by the default system at full training."""
    from classic.audit.membership import attack
    from classic.data import DEMO_DOMAINS, load_demo
    from classic.learning.sequence import learn_sequence
    from classic.systems.system import SystemConfig

    with tempfile.TemporaryDirectory() as scratch:
        tasks = [load_demo(name) for name in DEMO_DOMAINS[:3]]
        store, _ = learn_sequence(Path(scratch) / "store", tasks, SystemConfig.preset(), seed=seed, rows="last")
        task = tasks[1]
        return attack(store, task.name, task.train, [*task.test, *task.valid]) | {"seed": seed}
