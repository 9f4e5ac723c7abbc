"""Hyper-parameter search: Optuna proposes, the engine runs, validation sets decide.

A trial is a run like any other, content-addressed and scored on the validation sets of the first tasks of an order; so a
search that is started again proposes the same trials and finds their results there.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from classic.benchmark.runs.results import read_results
from classic.benchmark.runs.runner import Engine, carry_out, plan
from classic.benchmark.runs.spec import Spec, key_of
from classic.errors import InputError

Sampler = Literal["grid", "tpe"]
SAMPLERS: tuple[Sampler, ...] = ("grid", "tpe")


@dataclass(frozen=True)
class Trial:
    """What was tried, and what it gave: the mean final macro-F1 over own classes, on validation sets."""

    changes: dict[str, Any]
    score: float


def search(
    base: Spec,
    space: dict[str, Sequence[Any]],
    *,
    trials: int,
    together: int,
    sampler: Sampler,
    engine: Engine,
    results: Path,
    work: Path,
    threads: int,
    tell: Callable[[dict[str, Any]], None],
) -> list[Trial]:
    """Tries settings of a system, the best first in the answer.

    Args:
        base: The run whose settings are changed; always scored on validation sets.
        space: Values to try by dotted key.
        trials: How many to try, at most as many as there are combinations for ``grid``.
        together: How many are proposed before their results are awaited; the more, the less ``tpe`` knows.
        sampler: ``grid`` (every combination, in random order) or ``tpe`` (learns from what it saw).
        engine: Where they run.
        results: Where result files are.
        work: Where unfinished runs are.
        threads: Per run.
        tell: Is told how they get on.
    """
    try:
        import optuna
    except ImportError:
        raise InputError("the search needs Optuna", fix="pip install 'classic-asc[bench]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=base.seed))
    if sampler == "grid":  # Optuna's own grid sampler does not bear being asked and told from outside
        corners = [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
        random.Random(base.seed).shuffle(corners)
        trials = min(trials, len(corners))
        for corner in corners[:trials]:
            study.enqueue_trial(corner)
    found: list[Trial] = []
    while len(found) < trials:
        asked = [study.ask() for _ in range(min(together, trials - len(found)))]
        proposals = [
            {key: trial.suggest_categorical(key, list(values)) for key, values in space.items()} for trial in asked
        ]
        specs = [replace(base, valid=True, changes=base.changes | changes) for changes in proposals]
        for _ in carry_out(plan(specs, results, work, threads), engine, results, tell):
            pass
        there = {result["key"]: result["scores"]["final_own_f1"] for result in read_results(results)}
        for trial, spec, changes in zip(asked, specs, proposals, strict=True):
            score = there[key_of(spec.determined_by(spec.tasks(), threads))]
            study.tell(trial, score)
            found.append(Trial(changes, score))
    return sorted(found, key=lambda trial: -trial.score)
