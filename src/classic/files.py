"""Writing files so that a crash or a power cut leaves the old file or the new one, never a half. No torch here."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from classic.errors import DiskError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK = _FULL | {errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM}


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
    with writing(path, len(data), temporary):
        write_synced(temporary, data)
        temporary.replace(path)
        sync_folder(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file that nobody reads yet; on disk when it returns."""
    with path.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


@contextmanager
def writing(path: Path, needed: int = 0, scrap: Path | None = None) -> Iterator[None]:
    """Tells of a disk that is full or may not be written in one sentence.

    Args:
        path: What is written.
        needed: Bytes it takes, if that is known.
        scrap: A half-written file or folder to remove when it fails: on a full disk it would be in the way.
    """
    try:
        yield
    except OSError as error:
        if scrap is not None and scrap.is_dir():
            shutil.rmtree(scrap, ignore_errors=True)
        elif scrap is not None:
            scrap.unlink(missing_ok=True)
        if error.errno not in _DISK:
            raise
        raise disk_error(error, path, needed) from error


def disk_error(error: OSError, path: Path | None = None, needed: int = 0) -> DiskError:
    """What to tell of an error of the disk: what, where, how much is needed."""
    path = path or Path(str(error.filename or "."))
    reason = (error.strerror or type(error).__name__).lower()
    fix = "make it writable for you, or use another place"
    if error.errno in _FULL:
        there = next((folder for folder in (path, *path.parents) if folder.is_dir()), Path())
        free = shutil.disk_usage(there).free
        reason += f" ({f'{needed:,} bytes are needed, ' if needed else ''}{free:,} are free)"
        fix = "make room on that disk and do the same again; nothing that was there is lost"
    return DiskError(f"{path} cannot be written: {reason}", fix=fix, reason=reason)


def is_disk_error(error: BaseException) -> bool:
    """Whether the disk is at fault: full, read-only, broken, or not ours."""
    return isinstance(error, OSError) and error.errno in _DISK


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
