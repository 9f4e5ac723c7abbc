"""The files of one version of a store, and what its manifest promises about them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

from classic.errors import StoreError
from classic.files import json_bytes, sha256

CONTENT = ("delta.safetensors", "record.json", "card.md")
FINDER = "finder.safetensors"  # of a store that finds aspects
_MOST_SEALED = 1 << 20
_RECORD = {"domains": list, "classes": list, "temperature": list, "counts": dict, "scores": dict, "data": str}
RESTORE = "roll back to an earlier version or restore a backup"


def is_version(name: str) -> bool:
    """Whether a name is that of a version's folder."""
    return re.fullmatch(r"[0-9]{4}|[1-9][0-9]{4,8}", name) is not None


def fits(manifest: dict[str, Any], number: int) -> bool:
    """Whether a manifest has the form of ours, and the number; the sums are checked elsewhere."""
    if manifest.keys() != {"version", "parent", "files"} or manifest["version"] != number:
        return False
    files, parent = manifest["files"], manifest["parent"]
    if not isinstance(files, dict) or files.keys() - {FINDER} != set(CONTENT):
        return False
    if any(not isinstance(promise, dict) or promise.keys() != {"sha256", "bytes"} for promise in files.values()):
        return False
    if number == 0 or parent is None:
        return number == 0 and parent is None
    grown = isinstance(parent, dict) and parent.keys() == {"number", "sha256"}
    return grown and type(parent["number"]) is int and 0 <= parent["number"] < number


def check_file(file: Path, manifest: dict[str, Any]) -> None:
    """Refuses a file that is not what its manifest promises."""
    promised = manifest["files"][file.name]
    if not file.is_file():
        raise StoreError(f"{file} is missing", fix=RESTORE)
    found, size = sha256(file), file.stat().st_size
    if found != promised["sha256"] or size != promised["bytes"]:
        raise StoreError(
            f"{file} is damaged: its sha256 is {found[:12]}… ({size} bytes), its manifest.json says "
            f"{str(promised['sha256'])[:12]}… ({promised['bytes']} bytes)",
            fix=RESTORE,
        )


def contents_of(
    stored: dict[str, Any], record: dict[str, Any], card: str, finder: dict[str, Any] | None = None
) -> dict[str, bytes]:
    """The files of a version, as bytes."""
    from safetensors.torch import save

    contents = {
        "delta.safetensors": save(stored, metadata={"format": "pt"}),
        "record.json": json_bytes(record),
        "card.md": card.encode(),
    }
    return contents if finder is None else contents | {FINDER: save(finder, metadata={"format": "pt"})}


def promises_of(contents: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """What a manifest says about a version's files."""
    return {name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in contents.items()}


def seal(value: dict[str, Any]) -> bytes:
    """A file that only informs, with its own sum: damage makes it as good as missing, never wrong."""
    return json_bytes({"sha256": hashlib.sha256(json_bytes(value)).hexdigest(), "value": value})


def unseal(file: Path) -> dict[str, Any] | None:
    """What was sealed; None if there is no such file, or it is not as it was written."""
    try:
        data = file.read_bytes() if file.stat().st_size <= _MOST_SEALED else b""
        value = json.loads(data)["value"]
        return value if isinstance(value, dict) and data == seal(value) else None
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def check_sealed(file: Path) -> None:
    """Names a sealed file that is damaged."""
    if file.exists() and unseal(file) is None:
        raise StoreError(f"{file} is damaged", fix="delete it: it only informs, and nothing needs it")


def check_record(record: dict[str, Any], file: Path) -> None:
    """Refuses a record without what is read from every version that learned: it may be a stranger's, its sums right."""
    names, fitted, counts = record.get("classes"), record.get("temperature"), record.get("counts")
    whole = (
        all(isinstance(record.get(name), kind) for name, kind in _RECORD.items())
        and isinstance(names, list)
        and bool(names)
        and all(isinstance(name, str) for name in names + record["domains"])
        and isinstance(fitted, list)
        and len(fitted) == 2
        and type(fitted[0]) is float
        and type(fitted[1]) is int
        and math.isfinite(fitted[0])
        and fitted[0] > 0 <= fitted[1]
        and isinstance(counts, dict)
        and counts.keys() == {"train", "valid", "test"}
        and all(isinstance(part, dict) and all(type(n) is int for n in part.values()) for part in counts.values())
        and all(isinstance(part, dict) for part in record["scores"].values())
    )
    if not whole:
        raise StoreError(f"{file} is not the record of a version", fix="do not use this store")


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a file of a store."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read: {error}", fix="restore it from a backup or roll back") from None
    if not isinstance(value, dict):
        raise StoreError(f"{path} does not hold a JSON object", fix="restore it from a backup or roll back")
    return value
