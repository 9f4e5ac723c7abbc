"""C11: the system as it is shipped, with its real encoder, killed while it learns a domain."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from classic.store.store import Store

LEARN = """
import sys
from classic.data import DEMO_DOMAINS, load_demo
from classic.learning.sequence import learn_sequence
from classic.systems.system import SystemConfig
config = SystemConfig.preset("default", changes={"train.epochs": int(sys.argv[2])})
print("begun", flush=True)
learn_sequence(sys.argv[1], [load_demo(DEMO_DOMAINS[0])], config, seed=11, rows="last")
"""


def run(kills: int = 3, epochs: int = 2, seed: int = 11) -> dict[str, Any]:
    """Learns a demo domain in one go and under so many kills; the bytes of both must be the same."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch) / "whole", Path(scratch) / "killed"
        took = _learn(whole, epochs)
        reached: list[float] = []
        for _ in range(kills):
            wait = draw.uniform(0.2, 0.8) * took
            _learn(killed, epochs, wait)
            reached.append(round(wait / took, 2))
        _learn(killed, epochs)
        encoder = Store.open(whole).settings["encoder"]["encoder"]
        same = Store.open(whole).verify() == Store.open(killed).verify()
    counts = {"kills": kills, "epochs": epochs, "seed": seed, "killed_at_share": reached, "seconds_undisturbed": took}
    return counts | {"encoder": encoder, "same_bytes": same}


def _learn(path: Path, epochs: int, wait: float | None = None) -> float:
    """In a process of its own, killed so many seconds after it began to learn; returns how long that took."""
    command = [sys.executable, "-c", LEARN, str(path), str(epochs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        began = time.monotonic()
        try:
            _, said = child.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            _, said = child.communicate()
    took = round(time.monotonic() - began, 1)
    if child.returncode not in (0, -signal.SIGKILL) or (wait is not None and child.returncode == 0):
        raise SystemExit(f"learning ended with {child.returncode} after {took} s:\n{said}")
    return took
