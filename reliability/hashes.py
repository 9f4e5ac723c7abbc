"""Supply chain: the sha256 of everything that is installed for development.

    python -m reliability hashes            # asks the package index of this machine; writes constraints-hashed.txt

Installed from that file, a package whose bytes are others than those tested with is refused:

    pip install --require-hashes --no-deps -r constraints-hashed.txt && pip install --no-deps -e .
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "constraints-hashed.txt"


def run(target: Path = TARGET) -> dict[str, Any]:
    """Writes the file; returns how many packages are in it, and those without a hash."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--report", str(report), "-c", str(ROOT / "constraints.txt"), f"{ROOT}[dev,docs]"]
        subprocess.run(command, check=True, cwd=scratch)
        found = json.loads(report.read_text())
    return write(found, target)


def write(report: dict[str, Any], target: Path) -> dict[str, Any]:
    """Writes what a report of pip says."""
    lines, without = [], []
    for entry in report["install"]:
        name, version = entry["metadata"]["name"], entry["metadata"]["version"]
        if name == "classic-asc":
            continue
        sums = entry["download_info"].get("archive_info", {}).get("hashes", {})
        without += [] if "sha256" in sums else [name]
        lines.append(f"{name}=={version} --hash=sha256:{sums.get('sha256', '')}")
    where = f"Python {report['environment']['python_version']}, {platform.system()} {platform.machine()}"
    head = f"# What constraints.txt names, with the sha256 of each file, for {where}.\n"
    head += "# Made by `python -m reliability hashes`. torch is the CPU build of download.pytorch.org/whl/cpu.\n"
    target.write_text(head + "\n".join(sorted(lines, key=str.casefold)) + "\n", encoding="utf-8")
    return {"packages": len(lines), "without": without, "file": target.name}
