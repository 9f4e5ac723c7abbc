"""Test rows that their owner lets a service keep: `service/tests/VERSION.SUM.jsonl`.

The name holds the digest of the version that learned their domain (numbers come again after a prune) and the sha256 of
the rows: one rename makes them appear with their sum. Rows that are not as they were written are as good as not kept.
"""

from __future__ import annotations

from pathlib import Path

from classic.errors import StoreError
from classic.files import sha256, sync_folder


def keep_rows(folder: Path, digest: str, rows: Path) -> None:
    """Moves a file of test rows to where a service keeps those of a version; what it kept before goes."""
    target = folder / "tests" / f"{digest}.{sha256(rows)}.jsonl"
    rows.replace(target)
    for other in _files(folder, digest):
        if other != target:
            other.unlink()
    sync_folder(target.parent)


def kept_rows(folder: Path, digest: str) -> Path | None:
    """The kept test rows of the domain a version learned; None if there are none, or they are damaged."""
    return next((file for file in _files(folder, digest) if is_whole(file)), None)


def is_whole(file: Path) -> bool:
    """Whether kept rows are what their name says."""
    return file.name.split(".")[1:] == [sha256(file), "jsonl"]


def sweep_rows(folder: Path, digests: set[str]) -> list[str]:
    """Deletes the test rows of versions that are gone; returns their names. Rows of earlier releases get their sum."""
    gone = [file for file in sorted((folder / "tests").glob("*")) if file.name.split(".")[0] not in digests]
    for file in gone:
        file.unlink()
    for file in (folder / "tests" / f"{digest}.jsonl" for digest in digests):
        if file.is_file():
            keep_rows(folder, file.stem, file)
    return [file.name for file in gone]


def check_rows(folder: Path) -> None:
    """Names kept rows that are damaged."""
    for file in sorted((folder / "tests").glob("*.*.jsonl")):
        if not is_whole(file):
            raise StoreError(f"{file} is damaged", fix="delete it: the service then does without these test rows")


def _files(folder: Path, digest: str) -> list[Path]:
    return sorted((folder / "tests").glob(f"{digest}.*.jsonl"))
