"""The drawing of a search: which setting moved the score how far, every finished trial a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from classic.benchmark.figures.drawing import METRIC_NAMES, new_figure, percent
from classic.benchmark.runs.trials import Setting, changes_of, score_of, search_name, settings_of, value_of
from classic.benchmark.tables.rows import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRIAL, LEVEL, BEST = "#0072B2", "#1b1f24", "#E69F00"
CAUTION = "A bar is the score with that value, the other settings accounted for: the fewer trials, the more is chance."


def search_panels(trials: Sequence[Run]) -> Figure:
    """A panel for each setting, the one that moved the score furthest first; trials come best first."""
    settings = settings_of(trials)
    widths = [0.9 + 0.4 * len(setting.levels) for setting in settings]
    figure = new_figure(max(7.0, 1.0 + sum(widths)), 3.6)
    places = list(figure.subplots(1, len(settings), sharey=True, squeeze=False, width_ratios=widths).flat)
    for place, setting in zip(places, settings, strict=True):
        _panel(place, setting, trials)
    tested = "validation" if trials[0].spec.valid else "test"
    places[0].set_ylabel(f"{METRIC_NAMES['own_f1']}, {tested} sets")
    best = f"Best, {score_of(trials[0]):.4f}: {changes_of(trials[0])}."
    count = f"{len(trials)} trial{'s' if len(trials) > 1 else ''}"
    title = f"What moved the score\n{count} of {search_name(trials[0])}"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    figure.supxlabel(f"{best}\n{CAUTION}", x=0.01, ha="left", fontsize=7, color="#48525d")
    handles, labels = places[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=3)
    return figure


def _panel(place: Axes, setting: Setting, trials: Sequence[Run]) -> None:
    names, levels = list(setting.levels), list(setting.levels.values())
    columns = [names.index(value_of(trial, setting.key)) for trial in trials]
    x = [column + shift for column, shift in zip(columns, shifts(columns), strict=True)]
    y = [score_of(trial) for trial in trials]
    left, right = ([index + side for index in range(len(names))] for side in (-0.32, 0.32))
    place.plot(range(len(names)), levels, color="#c4cad1", linewidth=1, zorder=1)
    place.hlines(levels, left, right, color=LEVEL, label="with this value")
    place.scatter(x[1:], y[1:], s=20, color=TRIAL, alpha=0.65, linewidth=0, zorder=3, label="a trial")
    place.scatter(
        x[:1], y[:1], s=90, color=BEST, marker="*", edgecolor=LEVEL, linewidth=0.6, zorder=4, label="the best"
    )
    place.set_title(setting.name, fontweight="bold", pad=16)
    place.annotate(moved(setting), (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=7)
    place.set_xticks(range(len(names)), names)
    place.set_xlim(-0.6, len(names) - 0.4)
    place.yaxis.set_major_formatter(percent)
    place.grid(axis="y", color="#e4e4e4", linewidth=0.5)


def moved(setting: Setting) -> str:
    """How far a setting moved the score, in words."""
    return f"moves {100 * setting.reach:.1f} points" if len(setting.levels) > 1 else "one value only"


def shifts(columns: Sequence[int]) -> list[float]:
    """How far each point is moved sideways so that points of one column lie apart: always the same, within ±0.25."""
    found, seen = [], dict.fromkeys(columns, 0)
    for column in columns:
        found.append((seen[column] * 0.618) % 0.5 - 0.25 if columns.count(column) > 1 else 0.0)
        seen[column] += 1
    return found
