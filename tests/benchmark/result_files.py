"""Result files made by hand, for tests of tables and pictures."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from classic.benchmark.runs.spec import Spec

Scores = list[tuple[float, float]]  # of each task: right after learning, and at the end


def matrix_of(tasks: list[str], scores: Scores) -> list[list[float | None]]:
    """The diagonal and the last row; nothing else was tested."""
    rows: list[list[float | None]] = [[None] * len(tasks) for _ in tasks]
    for index, (forward, final) in enumerate(scores):
        rows[index][index] = forward
        rows[-1][index] = final
    return rows


def write_result(
    folder: Path,
    system: str,
    accuracy: Scores,
    *,
    order: int = 0,
    seed: int = 0,
    macro_f1: Scores | None = None,
    own_f1: Scores | None = None,
    tasks: list[str] | None = None,
    finished: str = "2026-01-01T00:00:00Z",
    spec: dict[str, Any] | None = None,
    determined_by: dict[str, Any] | None = None,
    name: str | None = None,
    **facts: Any,
) -> Path:
    """Writes a file as `classic bench run` does, made by the code as it is now."""
    described = Spec(system, order, seed, **(spec or {}))
    tasks = tasks or ["camera", "phone", "router"][: len(accuracy)]
    determined = described.determined_by((), 1) | {"tasks": tasks, "data": [f"hash of {task}" for task in tasks]}
    determined["surroundings"] |= {"machine": "x86_64", "cpu": "AVX2"}
    determined |= determined_by or {}
    result = {
        "format": 2,
        "spec": asdict(described),
        "key": f"{described.name}-{finished}",
        "determined_by": determined,
        "matrix": {
            "tasks": tasks,
            "accuracy": matrix_of(tasks, accuracy),
            "macro_f1": matrix_of(tasks, macro_f1 or accuracy),
            "own_f1": matrix_of(tasks, own_f1 or macro_f1 or accuracy),
        },
        "dirty": False,
        "commit": "0" * 40,
        "finished": finished,
        "encoder": {"encoder": "minilm"},
        "bytes_kept": [1024 * (number + 1) for number in range(len(tasks))],
        "cpu_seconds_per_task": [2.0] * len(tasks),
        "peak_memory_bytes": 3 * 2**29,
        "capacity": [None] * len(tasks),
        "overlap": [None] * len(tasks),
        "transfer": [None] * len(tasks),
        **facts,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{described.name}-{finished[:10]}.json")
    path.write_text(json.dumps(result), encoding="utf-8")
    return path
