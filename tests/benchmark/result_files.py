"""Result files made by hand, for tests of tables and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from classic.benchmark.runs.results import FORMAT
from classic.benchmark.runs.spec import Spec

Scores = list[tuple[float, float]]  # of each task: right after learning, and at the end


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
    of_tasks: dict[str, list[Any]] | None = None,
    **facts: Any,
) -> Path:
    """Writes a file as `classic bench run` does, made by the code as it is now."""
    described = Spec(system, order, seed, **(spec or {}))
    tasks = tasks or ["camera", "phone", "router"][: len(accuracy)]
    determined = described.determined_by((), 1)
    determined["surroundings"] |= {"machine": "x86_64", "cpu": "AVX2"}
    determined |= determined_by or {}
    hashes = determined.pop("data", None) or [f"hash of {task}" for task in tasks]
    metrics = {"accuracy": accuracy, "macro_f1": macro_f1 or accuracy, "own_f1": own_f1 or macro_f1 or accuracy}
    by_task = {}
    for number, task in enumerate(tasks):
        by_task[task] = {
            "data": hashes[number],
            "forward": {name: scores[number][0] for name, scores in metrics.items()},
            "final": {name: scores[number][1] for name, scores in metrics.items()},
            "bytes_kept": 1024 * (number + 1),
            "cpu_seconds": 2.0,
        } | {name: values[number] for name, values in (of_tasks or {}).items()}
    result = {
        "format": FORMAT,
        "spec": {"system": system, "order": order, "seed": seed} | (spec or {}),
        "key": f"{described.name}-{finished}",
        "determined_by": {key: value for key, value in determined.items() if key not in {"tasks", "data"}},
        "tasks": by_task,
        "dirty": False,
        "commit": "0" * 40,
        "finished": finished,
        "encoder": {"encoder": "minilm"},
        "cpu_seconds": 2.0 * len(tasks),
        "peak_memory_bytes": 3 * 2**29,
        **facts,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{described.name}-{finished[:10]}.json")
    path.write_text(json.dumps(result), encoding="utf-8")
    return path
