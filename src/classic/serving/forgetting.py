"""What a service keeps of a domain, and how it goes: kept test rows, records of jobs, its name in the audit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from classic.errors import InputError
from classic.files import write_bytes
from classic.serving.jobs import OPEN, lock_service
from classic.serving.kept import sweep_rows


def forget_domain(folder: Path, domain: str, digests: set[str]) -> list[str]:
    """Removes what a service's folder holds of a domain; returns what was removed or changed.

    Args:
        folder: The service's folder.
        domain: The domain.
        digests: Of the versions that are left: test rows of others go.

    Raises:
        BusyError: If a service is running over it.
        InputError: If the domain is being taught.
    """
    if not folder.is_dir():
        return []
    with lock_service(folder):
        return _forget(folder, domain, digests)


def _forget(folder: Path, domain: str, digests: set[str]) -> list[str]:
    done: list[str] = []
    for job in sorted((folder / "jobs").glob("*/job.json")):
        entry = json.loads(job.read_bytes())
        if entry.get("domain") == domain:
            if entry.get("state") in OPEN:
                raise InputError(f"{domain!r} is being taught: job {job.parent.name}", fix="cancel or discard it first")
            shutil.rmtree(job.parent)
            done.append(f"service/jobs/{job.parent.name}")
    done += [f"service/tests/{name}" for name in sweep_rows(folder, digests)]
    audit = folder / "audit.jsonl"
    if audit.is_file():
        lines = audit.read_text(encoding="utf-8").splitlines()
        kept = [_without(line, domain) for line in lines]
        if kept != lines:
            write_bytes(audit, "".join(f"{line}\n" for line in kept if line).encode())
            done.append("service/audit.jsonl (the name; what was decided, and when, stays)")
    return done


def _without(line: str, domain: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:  # half a line, from a kill: nobody reads it
        return ""
    if entry.get("domain") != domain and domain not in str(entry.get("reason") or ""):
        return line
    return json.dumps(entry | {"domain": None, "reason": None}, ensure_ascii=False)
