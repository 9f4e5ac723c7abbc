"""S9, a soak: thousands of questions of every length, and nothing grows. S10, a large file, killed again and again."""

from __future__ import annotations

import hashlib
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reliability.faults import Service

WORDS = ("screen", "battery", "soup", "waiter", "is", "was", "very", "good", "bad", "plain", "and", "so", "today")
BAD = [b"", b"{", b"[]", b'{"inputs": 1}', b'{"inputs": [{"sentence": "", "aspects": ["x"]}]}', b"\xff" * 2000]


def demo_store(folder: Path) -> Path:
    """A store that learned the first demo domain for an epoch."""
    from classic.data import DEMO_DOMAINS, load_demo
    from classic.learning.sequence import learn_sequence
    from classic.systems.system import SystemConfig

    config = SystemConfig.preset("default", changes={"train.epochs": 1})
    learn_sequence(folder / "store", [load_demo(DEMO_DOMAINS[0])], config, rows="last")
    return folder / "store"


def soak(predictions: int = 432_000, seed: int = 9) -> dict[str, Any]:
    """So many predictions of 1 to 400 words, every fiftieth request a bad one; what the process holds before and after."""
    draw, failed = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        demo_store(folder)
        service = Service(folder)
        warm = max(200, predictions // 5)  # every length has been seen by then
        held: list[dict[str, float]] = []
        for number in range(warm + predictions):
            if number in (warm, warm + predictions // 2):
                held.append(_held(service.process.pid))
            words = draw.choices(WORDS, k=max(1, round(400 ** draw.random())))
            body = json.dumps({"inputs": [{"sentence": " ".join([*words, "lens"]), "aspects": ["lens"]}]}).encode()
            status = service.ask("/v1/predict", body)[0]
            failed += status != 200
            if number % 50 == 0:
                failed += not 400 <= service.ask("/v1/predict", draw.choice(BAD))[0] < 500
        held.append(_held(service.process.pid))
        service.process.terminate()
        code = service.process.wait(60)
    growth = held[-1]["mib"] - held[0]["mib"]
    return {
        "predictions": predictions,
        "warm": warm,
        "seed": seed,
        "failed": failed,
        "held": held,
        "mib_per_10000": round(growth / predictions * 10_000, 3),
        "share": round(growth / held[0]["mib"], 4),
        "exit": code,
    }


def _held(pid: int) -> dict[str, float]:
    """Resident MiB, open files and threads of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = {name: int(value) for name, value in re.findall(r"(VmRSS|Threads):\s+(\d+)", text)}
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return {"mib": round(found["VmRSS"] / 1024, 2), "files": files, "threads": found["Threads"]}


def bulk(rows: int = 1_000_000, kills: int = 20, seed: int = 10) -> dict[str, Any]:
    """A file of so many rows, killed so often: the same bytes as without, no row lost or doubled, memory flat."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        store = demo_store(folder)
        large, small = folder / "in.csv", folder / "small.csv"
        for file, number in ((large, rows), (small, rows // 4)):
            with file.open("w") as handle:
                handle.write("id,sentence,aspect\n")
                handle.writelines(
                    f"{row},the lens of number {row} is {draw.choice(WORDS)},lens\n" for row in range(number)
                )
        few = _finish(store, small, folder / "small.jsonl", [])
        began = time.monotonic()
        whole = _finish(store, large, folder / "whole.jsonl", [])
        took = time.monotonic() - began
        waits = [draw.uniform(0.1, 1.0) * took / max(1, kills) for _ in range(kills)]
        killed = _finish(store, large, folder / "killed.jsonl", waits)
        ids = [json.loads(line)["id"] for line in (folder / "killed.jsonl").open()]
        same = _sum(folder / "killed.jsonl") == _sum(folder / "whole.jsonl")
    return {
        "rows": rows,
        "seed": seed,
        "kills": killed["kills"],
        "same_bytes": same,
        "rows_lost_or_doubled": int([str(each) for each in ids] != [str(row) for row in range(rows)]),
        "peak_mib": {"quarter": few["mib"], "all": whole["mib"]},
        "seconds": round(took, 1),
    }


def _finish(store: Path, source: Path, target: Path, waits: list[float]) -> dict[str, Any]:
    """Runs `classic predict` on a file until it is done, killed after each wait; returns kills and the peak of memory."""
    code = "from classic.cli.main import run; run()"
    command = [sys.executable, "-c", code, "predict", str(store), str(source), "-o", str(target), "--threads", "1"]
    peak, kills = 0.0, 0
    for wait in [*waits, None]:
        if target.exists():
            break
        child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        journal = target.with_name(f".{target.name}.journal")
        rows = journal.read_bytes() if journal.is_file() else b""
        until: float | None = None
        while child.poll() is None:
            if wait is not None:  # it begins to count when the command has written something new
                moved = journal.is_file() and journal.read_bytes() != rows
                until = time.monotonic() + wait if until is None and moved else until
                if until is not None and time.monotonic() > until:
                    child.send_signal(signal.SIGKILL)
                    kills += 1
                    break
            found = re.search(r"VmHWM:\s+(\d+)", _status(child.pid))
            peak = max(peak, int(found[1]) / 1024 if found else 0.0)
            time.sleep(0.02)
        if child.wait() not in (0, -signal.SIGKILL):
            raise SystemExit(f"classic predict ended with {child.returncode}")
    return {"kills": kills, "mib": round(peak, 1)}


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def _sum(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
