"""The trials of a search: which belong together, and how far each setting moved their score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classic.benchmark.runs.encoder_files import name_of
from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables.numbers import MISSING
from classic.benchmark.tables.rows import Run, TableRow, newest_runs
from classic.benchmark.tables.statistics import mean


@dataclass(frozen=True)
class Setting:
    """One setting of a search, and the score it gives with each of its values.

    Attributes:
        key: Its dotted key.
        levels: The score by value, the other settings accounted for; values in their natural order.
    """

    key: str
    levels: dict[str, float]

    @property
    def name(self) -> str:
        """For people: without the part of the configuration it is in."""
        return short_name(self.key)

    @property
    def reach(self) -> float:
        """How far it moved the score: from its worst value to its best."""
        return max(self.levels.values()) - min(self.levels.values())


def trials_of(chosen: Selection, folder: Path) -> list[Run]:
    """Every run with settings of its own or scored on validation sets, the best first."""
    tried = (run for run in newest_runs(folder) if run.spec.changes or run.spec.valid)
    runs = [run for run in tried if _is_chosen(run, chosen)]
    return sorted(runs, key=lambda run: (-score_of(run), run.spec.name, repr(run.spec.changes)))


def searches_of(trials: Iterable[Run]) -> dict[str, list[Run]]:
    """Trials that can be compared, by the name of their run: the same system, order, seed, tasks and kind of test."""
    found: dict[str, list[Run]] = {}
    for trial in trials:
        found.setdefault(trial.spec.name, []).append(trial)
    return found


def settings_of(trials: Sequence[Run]) -> list[Setting]:
    """The settings that were tried, the one that moved the score furthest first.

    Trials of a search seldom have every value of a setting equally often with every value of the others, so plain means
    would give one setting the merit of another. Levels are of the additive model that fits the scores best (least
    squares; of several equally good ones, that with the smallest effects).
    """
    import numpy as np

    values: dict[str, list[str]] = {}
    for key in sorted({key for trial in trials for key in trial.spec.changes}):
        tried = sorted((trial.spec.changes.get(key, MISSING) for trial in trials), key=_natural)
        values[key] = list(dict.fromkeys(map(written, tried)))
    columns = [(key, value) for key, tried in values.items() for value in tried]
    had = np.array([[float(value_of(trial, key) == value) for key, value in columns] for trial in trials])
    scores = np.array([score_of(trial) for trial in trials])
    middle = float(scores.mean())
    effects = dict(zip(columns, np.linalg.lstsq(had, scores - middle, rcond=None)[0].tolist(), strict=True))
    found = []
    for key, tried in values.items():
        usual = mean([effects[key, value_of(trial, key)] for trial in trials])
        found.append(Setting(key, {value: middle + effects[key, value] - usual for value in tried}))
    return sorted(found, key=lambda setting: -round(setting.reach, 6))


def score_of(trial: Run) -> float:
    """What a search looks at: the mean final macro-F1 over own classes."""
    return mean(list(trial.by_task("own_f1").values()))


def value_of(trial: Run, key: str) -> str:
    """What a setting was in a trial, as it is written."""
    return written(trial.spec.changes.get(key, MISSING))


def written(value: Any) -> str:
    """A value of a setting in as few characters as it takes."""
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def short_name(key: str) -> str:
    """The last part of a dotted key."""
    return key.rpartition(".")[2]


def changes_of(trial: Run) -> str:
    """All settings of a trial in one line."""
    return ", ".join(f"{short_name(key)} {value_of(trial, key)}" for key in sorted(trial.spec.changes))


def search_name(trial: Run) -> str:
    """What the trials of a search have in common, for people."""
    spec, count = trial.spec, len(trial.matrix.tasks)
    row = TableRow(spec.system, 1)
    tested = "validation" if spec.valid else "test"
    return (
        f"{row.label}, {row.backbone}, order {spec.order}, seed {spec.seed}, "
        f"{count} task{'s' if count > 1 else ''}, {tested} sets"
    )


def _natural(value: Any) -> tuple[bool, bool, Any]:
    """Numbers by size, then words, then what a trial did not change."""
    words = not isinstance(value, int | float)
    return value == MISSING, words, str(value) if words else value


def _is_chosen(run: Run, chosen: Selection) -> bool:
    spec = run.spec
    wanted = (
        (not chosen.systems or spec.system in chosen.systems or spec.system.partition("/")[0] in chosen.systems),
        (not chosen.orders or spec.order in chosen.orders),
        (not chosen.seeds or spec.seed in chosen.seeds),
        (chosen.first is None or spec.first == chosen.first),
        (chosen.backbone is None or f"@{chosen.backbone}/" in spec.system),
    )
    encoder = None if chosen.encoder is None else name_of(chosen.encoder)
    return all(wanted) and (spec.budget, spec.anywhere().encoder) == (chosen.budget, encoder)
