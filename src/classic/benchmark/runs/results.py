"""Result files: one small JSON per run, a line per task, and which of them answers for a run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from classic.errors import InputError
from classic.evaluation.matrix import METRICS
from classic.files import write_bytes

FORMAT = 3
_DIGITS = 4  # of shares and seconds; scores keep all of theirs
TIDY = "results.csv"


def path_of(folder: Path, result: dict[str, Any]) -> Path:
    """Where a result is written: a name people can read, and the address of the run."""
    from classic.benchmark.runs.spec import Spec

    return folder / f"{Spec(**result['spec']).name}-{result['key'][:12]}.json"


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Writes a result so that a person can read it and `git diff` stays short: a line per fact, and one per task."""
    write_bytes(path, result_bytes(result))


def result_bytes(result: dict[str, Any]) -> bytes:
    """The bytes of a result file; equal results are equal bytes."""
    lines = [f"  {_line(key)}: {_line(value)}" for key, value in sorted(result.items()) if key != "tasks"]
    tasks = [f"    {_line(name)}: {_line(facts)}" for name, facts in result["tasks"].items()]  # in their order
    lines.append('  "tasks": {\n' + ",\n".join(tasks) + "\n  }")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def without_nulls(facts: dict[str, Any]) -> dict[str, Any]:
    """What is known, shares and seconds rounded."""
    return {key: _rounded(value) for key, value in facts.items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def read_results(folder: Path) -> list[dict[str, Any]]:
    """All results of a folder, oldest first; a damaged file is named, never passed over."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.json")):
        try:
            result = json.loads(file.read_bytes())
        except ValueError as error:  # not JSON, or not text
            raise InputError(f"{file} is not a result file ({error})", fix="delete it and run again") from None
        if result.get("format") != FORMAT:
            raise InputError(
                f"{file} is not a result file of format {FORMAT}", fix="move it elsewhere, or run it again"
            )
        found.append(result)
    return sorted(found, key=lambda result: (str(result["finished"]), str(result["key"])))


_COLUMNS = ("system", "order", "seed", "budget", "first", "scored", "encoder", "changes", "task", "place", "when")


def tidy_bytes(results: Iterable[dict[str, Any]]) -> bytes:
    """All results as one CSV: a row per run, task and moment, from which every table can be computed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_COLUMNS, "examples", *METRICS, "cpu_seconds", "key"])
    for result in sorted(results, key=lambda each: str(each["key"])):
        spec = result["spec"]
        run = [spec["system"], spec.get("order", 0), spec.get("seed", 0), spec.get("budget", "quick")]
        run += [spec.get("first"), "valid" if spec.get("valid") else "test", result["encoder"]["encoder"]]
        run.append(_line(spec["changes"]) if spec.get("changes") else "")
        for place, (task, facts) in enumerate(result["tasks"].items(), 1):
            for when in ("forward", "final"):
                scores = facts[when]
                values = [f"{scores[metric]:.6f}" for metric in METRICS]
                cost = facts.get("cpu_seconds", "")
                writer.writerow(
                    [*run, task, place, when, scores.get("examples", ""), *values, cost, result["key"][:12]]
                )
    return out.getvalue().encode()


def write_tidy(folder: Path) -> Path:
    """Writes the CSV beside the result files."""
    path = folder / TIDY
    write_bytes(path, tidy_bytes(read_results(folder)))
    return path
