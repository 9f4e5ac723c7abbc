"""Every byte below a store's folder: whose it is, and why it is kept."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from classic.errors import ClassicError
from classic.store.store import Store

_WHY = (
    (r"store\.json", "settings, seed, sha256 of the encoder; no data"),
    (r"current", "which version is in use; no data"),
    (r"(service/)?lock", "is locked, and empty"),
    (
        r"versions/\d+/delta\.safetensors",
        "numbers the domain changed: shaped by its texts, they tell something of them",
    ),
    (r"versions/\d+/finder\.safetensors", "numbers of what finds aspects; the same holds for them"),
    (r"versions/\d+/record\.json", "counts, scores, losses, the domain's name, one sha256 over all rows"),
    (r"versions/\d+/card\.md", "the same in words"),
    (r"versions/\d+/manifest\.json", "sha256 of the version's files and of its parent's manifest"),
    (r"versions/\d+/run\.json", "seconds, memory, package versions"),
    (r"versions/\..*", "half-written by a killed process; `classic store prune` removes it"),
    (r"scores/\d+\.json", "names of test sets and counts of answers"),
    (
        r"exports/\d+/.*",
        "the version as one network, for quick answers; tells what it tells, may be deleted",
    ),
    (r"report\.html", "page that `classic demo` writes: numbers and names of domains, no text"),
    (r"work/.*", "CHECKPOINT of a domain in training: stronger traces than a version; gone when it is published"),
    (r"service/token", "what a request must bear"),
    (r"service/audit\.jsonl", "what people decided: names of domains, reasons"),
    (r"service/jobs/\w+/job\.json", "state, counts, losses and the domain's name of a teaching job; no text"),
    (r"service/jobs/\w+/data/.*", "TEXTS of a domain being taught; gone when its job ends"),
    (r"service/jobs/\w+/test\.jsonl", "TEXTS: test rows on their way to service/tests"),
    (r"service/jobs/\w+/.*", "working copy of a domain being taught; gone when its job ends"),
    (r"service/tests/[\w.]+\.jsonl", "TEXTS: test rows that their owner let the service keep"),
    (r"service/incoming/.*", "TEXTS of a file being checked; swept at every start"),
)
UNKNOWN = "NOT OURS: nothing here wrote it"


@dataclass(frozen=True)
class Kept:
    """One file.

    Attributes:
        file: Below the store's folder.
        bytes: Its size.
        domain: Whose it is; "" for what belongs to all, or to none.
        why: What it is kept for.
    """

    file: str
    bytes: int
    domain: str
    why: str


def inventory(store: Store) -> list[Kept]:
    """Every file below a store's folder."""
    keeps_texts = {number: _record(store, number).get("keeps_texts") for number in store.numbers()}
    found = []
    for path in sorted(store.path.rglob("*")):
        if not path.is_file() and not path.is_symlink():
            continue
        name = path.relative_to(store.path).as_posix()
        why = next((text for pattern, text in _WHY if re.fullmatch(pattern, name)), UNKNOWN)
        number = re.match(r"(?:versions|scores|exports)/(\d+)", name)
        domain = str(_record(store, int(number[1])).get("domain", "")) if number else ""
        if number and keeps_texts.get(int(number[1])) and name.endswith("record.json"):
            why = "TEXTS, word for word: this method keeps them; and " + why
        found.append(Kept(name, path.lstat().st_size, domain, why))
    return found


def _record(store: Store, number: int) -> dict[str, Any]:
    try:
        return store.version(number).record
    except ClassicError:  # damaged: `verify` says so
        return {}


def by_domain(files: list[Kept]) -> dict[str, int]:
    """Bytes by domain; "" is what belongs to all."""
    total: dict[str, int] = {}
    for file in files:
        total[file.domain] = total.get(file.domain, 0) + file.bytes
    return total


def as_rows(files: list[Kept]) -> list[dict[str, Any]]:
    """Plain JSON values."""
    return [asdict(file) for file in files]


def lineage(store: Store) -> list[dict[str, Any]]:
    """The versions the one in use is made of, each with its parent and its digest."""
    return [
        {"version": v.number, "parent": v.parent, "domain": v.domain, "sha256": store.digest(v.number)}
        for v in store.chain()
    ]


def folder_size(path: Path) -> int:
    """Bytes of all files below a folder, counted another way than the inventory counts."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file() or file.is_symlink())
