"""The long tests, behind one command.

    python -m reliability nightly [--scale 1.0] [--only power damage ...] [--output reliability/reports]
    python -m reliability mutations [--only WORD]                                # made by hand
    python -m reliability mutants [--number 200] [--minutes 60] [--only WORD]    # made by rule
    python -m reliability hashes                                                 # constraints-hashed.txt

`nightly` writes a dated report: what was tried, with which seed, what was found, how long it took; stages run on the
same day are gathered in one. `--scale 0.05` is a rehearsal. A stage that finds something makes the command end with
code 1. Every stage can be run again by its seed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from classic.files import write_json
from reliability import crowd, damage, faults, full, hashes, long, mutants, mutations, poison, power

ROOT = Path(__file__).resolve().parents[1]
Result = tuple[dict[str, Any], bool]


def kills(scale: float) -> Result:
    """C1, C2: random kills of a sequence, and before every change of a file."""
    number = max(10, round(200 * scale))
    environment = os.environ | {"CLASSIC_KILLS": str(number), "CLASSIC_KILL_POINTS": "all" if scale >= 1 else "12"}
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "14000", "tests/reliability/test_kill.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return {"kills": number, "said": done.stdout.strip().splitlines()[-1:]}, done.returncode == 0


def _fuzz(scale: float) -> Result:
    """I1, I2: any bytes for every reader, and damaged Parquet: rows or one clear error, never anything else."""
    number = max(150, round(10_000 * scale))
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "14000", "tests/unit/data/test_reader_fuzz.py"]
    environment = os.environ | {"CLASSIC_FUZZ": str(number)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return {"files_for_each_reader": number, "said": done.stdout.strip().splitlines()[-1:]}, done.returncode == 0


def _power(scale: float) -> Result:
    found = power.run(max(50, round(2000 * scale)))
    return found, not found["illegal"]


def _damage(scale: float) -> Result:
    found = damage.run(max(20, round(1000 * scale)))
    return found, not found["silent"]


def _clock(scale: float) -> Result:
    found = faults.clock(max(10, round(200 * scale)))
    return found, not found["different"]


def _workers(scale: float) -> Result:
    found = faults.workers(max(3, round(50 * scale)))
    return found, not found["failed_answers"] and not found["uploads_left"] and found["exit"] == 0


def _crowd(scale: float) -> Result:
    found = crowd.run(max(5, round(500 * scale)))
    return found, not found["violations"]


def _soak(scale: float) -> Result:
    found = long.soak(max(300, round(432_000 * scale)))
    grown = found["mib_per_10000"] > 1 and found["share"] > 0.1
    more = any(found["held"][-1][name] > found["held"][0][name] + 2 for name in ("files", "threads"))
    return found, not found["failed"] and not grown and not more and found["exit"] == 0


def _bulk(scale: float) -> Result:
    found = long.bulk(max(4000, round(1_000_000 * scale)), max(3, round(20 * scale)))
    flat = found["peak_mib"]["all"] - found["peak_mib"]["quarter"] < 300
    return found, found["same_bytes"] and not found["rows_lost_or_doubled"] and flat


def _full(scale: float) -> Result:
    found = full.run(max(3, round(10 * scale)))
    return found, found["same_bytes"]


def _membership(_scale: float) -> Result:
    return faults.membership(), True  # reported, not judged: nothing is promised


def _poison(scale: float) -> Result:
    found = poison.run(max(2, round(5 * scale)))
    held, domains = found["held"], found["domains"]
    # An honest lesson may be held, too: some do cost an earlier domain. Of a trigger nothing is promised.
    return found, held["three tenths turned"] >= 0.9 * domains and held["all turned"] == domains


def _mutations(scale: float) -> Result:
    found = mutations.run() if scale >= 1 else {"left out": "only at full scale"}
    return found, not found.get("survivors")


STAGES: dict[str, Callable[[float], Result]] = {
    "power": _power,
    "damage": _damage,
    "clock": _clock,
    "crowd": _crowd,
    "soak": _soak,
    "bulk": _bulk,
    "workers": _workers,
    "membership": _membership,
    "poison": _poison,
    "kills": kills,
    "fuzz": _fuzz,
    "full": _full,
    "mutations": _mutations,
}


def nightly(scale: float, only: list[str], output: Path) -> int:
    report: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "scale": scale,
        "machine": {"cores": os.cpu_count(), "type": platform.machine(), "load_before": os.getloadavg()[0]},
        "stages": {},
    }
    file = output / f"{report['date'][:10]}.json"
    output.mkdir(parents=True, exist_ok=True)
    if file.is_file():  # the same night: stages that are not run again keep what they found
        report["stages"] = json.loads(file.read_text())["stages"]
    for name in only or STAGES:
        began = time.monotonic()
        found, good = STAGES[name](scale)
        report["stages"][name] = found | {"good": good, "scale": scale, "seconds": round(time.monotonic() - began, 1)}
        print(f"{'good' if good else 'BAD '} {name} {json.dumps(report['stages'][name])[:300]}", flush=True)
        write_json(file, report)
    return 0 if all(report["stages"][name]["good"] for name in only or STAGES) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="reliability", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["nightly", "mutations", "mutants", "hashes"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("reports"))
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args()
    if options.what == "hashes":
        found = hashes.run()
        print(json.dumps(found))
        return 1 if found["without"] else 0
    if options.what == "mutants":
        found = mutants.run(options.number, options.minutes, " ".join(options.only))
        print(json.dumps(found, indent=2))
        return 1 if found["survivors"] else 0
    if options.what == "mutations":
        found = mutations.run(" ".join(options.only))
        print(json.dumps(found, indent=2))
        return 1 if found["survivors"] else 0
    return nightly(options.scale, options.only, options.output)


if __name__ == "__main__":
    sys.exit(main())
