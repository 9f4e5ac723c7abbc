"""Result files: where they lie, and which of them answers for a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from classic.errors import InputError


def path_of(folder: Path, result: dict[str, Any]) -> Path:
    """Where a result is written: a name people can read, and the address of the run."""
    from classic.benchmark.runs.spec import Spec

    return folder / f"{Spec(**result['spec']).name}-{result['key'][:12]}.json"


def read_results(folder: Path) -> list[dict[str, Any]]:
    """All results of a folder, oldest first; a damaged file is named, never passed over."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.json")):
        try:
            result = json.loads(file.read_bytes())
        except ValueError as error:  # not JSON, or not text
            raise InputError(f"{file} is not a result file ({error})", fix="delete it and run again") from None
        if "key" in result and "spec" in result:  # earlier files, of single orders, have none
            found.append(result)
    return sorted(found, key=lambda result: (str(result["finished"]), str(result["key"])))
