"""Writing files so that a crash or a power cut leaves the old file or the new one, never a half. No torch here."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes beside the target, syncs, and renames over it."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Writes strict JSON, sorted and indented, so that equal values are equal bytes."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Strict, sorted, indented JSON."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def sha256(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
