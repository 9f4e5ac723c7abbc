"""What a store tells about its versions, as the API shows it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from classic.data.starter import STARTER
from classic.serving.gate import scores
from classic.serving.jobs import JobBook
from classic.serving.kept import kept_rows
from classic.store.store import Store
from classic.store.versions import Version

_MEAN = ("accuracy", "macro_f1", "own_f1")


def domains(store: Store, live: int, book: JobBook) -> list[dict[str, Any]]:
    """The domains of a version, in the order learned."""
    return [
        {
            "name": version.domain,
            "version": version.number,
            "classes": version.record["classes"],
            "examples": sum(version.record["counts"]["train"].values()),
            "learned": tested(store, version, version),
            "now": tested(store, store.version(live), version),
            "keeps_test": kept_rows(book.folder, store.digest(version.number)) is not None,
        }
        for version in store.chain(live)
    ]


def tested(store: Store, version: Version, on: Version) -> dict[str, Any] | None:
    """Scores of a version on the test rows of the domain another one learned."""
    found = scores(store.read_scores(version.number).get(on.domain), on.record["classes"])
    if found is None and version.number == on.number:
        test = on.record["scores"].get("test")
        found = {name: test[name] for name in (*_MEAN, "examples")} if test else None
    return found


def summary(store: Store, version: Version, live: int, chain: set[int]) -> dict[str, Any]:
    """One entry of the list of versions."""
    record = version.record
    folder = store.path / "versions" / f"{version.number:04d}"
    written = datetime.fromtimestamp((folder / "manifest.json").stat().st_mtime, UTC)
    return {
        "version": version.number,
        "parent": version.parent,
        "domain": version.domain,
        "domains": record["domains"],
        "live": version.number == live,
        "in_use": version.number in chain,
        "written": written.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "examples": sum(record["counts"]["train"].values()),
        "test": tested(store, version, version),
        "capacity": record.get("capacity"),
        "seconds": version.run.get("seconds"),
        "sha256": store.digest(version.number),
    }


def versions(store: Store, live: int) -> list[dict[str, Any]]:
    """All versions but the untaught one."""
    chain = {version.number for version in store.chain(live)}
    return [summary(store, store.version(number), live, chain) for number in store.numbers() if number]


def details(store: Store, number: int, live: int) -> dict[str, Any]:
    """Everything about one version."""
    version = store.version(number)
    record = version.record
    chain = {each.number for each in store.chain(live)}
    return summary(store, version, live, chain) | {
        "counts": record["counts"],
        "classes": record["classes"],
        "epochs": record["epochs"],
        "temperature": record["temperature"][0],
        "keeps_texts": bool(record.get("keeps_texts")),
        "overlap": record.get("overlap"),
        "transfer": record.get("transfer"),
        "memory_bytes": version.run.get("peak_memory_bytes"),
    }


def metrics(store: Store, number: int) -> dict[str, Any]:
    """How a version does on each of its domains, and what it forgot."""
    chain = store.chain(number)
    newest = chain[-1]
    rows: list[dict[str, Any]] = []
    for place, on in enumerate(chain):
        earlier = [tested(store, version, on) for version in chain[place:-1]]
        known = [entry["own_f1"] for entry in earlier if entry]
        after = tested(store, newest, on)
        best = max(known, default=None)
        rows.append(
            {
                "domain": on.domain,
                "before": earlier[-1] if earlier else None,
                "after": after,
                "learned": tested(store, on, on),
                "best": best,
                "forgetting": best - after["own_f1"] if after and best is not None else None,
            }
        )
    taught = [row for row in rows if row["domain"] != STARTER] or rows  # nobody has texts to test the starter with
    return {
        "version": number,
        "parent": newest.parent,
        "domains": rows,
        "mean": _mean_scores(taught),
        "forgetting": _mean([row["forgetting"] for row in taught[:-1]]),
    }


def _mean_scores(rows: list[dict[str, Any]]) -> dict[str, float] | None:
    if any(row["after"] is None for row in rows):
        return None
    return {name: math.fsum(row["after"][name] for row in rows) / len(rows) for name in _MEAN}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None
