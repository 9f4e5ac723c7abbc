"""The drawing of single figures: heat maps of scores and differences, curves, clouds. No windows, no global state.

Colours are told apart by colour-blind people, and in grey print by their lightness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from classic.benchmark.tables.rows import Run, TableRow
from classic.benchmark.tables.statistics import deviation, mean
from classic.errors import InputError, unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRIC_NAMES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "own_f1": "own F1"}
# Okabe and Ito's colours, and a marker each for print without colour.
BACKBONE_STYLES: dict[str, tuple[str, str]] = {
    "bert_adapter": ("#0072B2", "o"),
    "bert_frozen": ("#E69F00", "s"),
    "bert": ("#D55E00", "D"),
    "w2v": ("#009E73", "^"),
    "gpt2": ("#CC79A7", "v"),
}
OTHER_STYLE = ("#000000", "X")
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "classic",  # equal figures, equal bytes
}
FORMATS = ("png", "svg", "pdf")
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # equal bytes every time
_UNTESTED = "#e4e4e4"


def drawing() -> AbstractContextManager[None]:
    """Where figures are drawn and written, all in one style."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("pictures need Matplotlib", fix="pip install 'classic-asc[bench]'") from None
    return matplotlib.rc_context(STYLE)


def check_form(form: str) -> None:
    """Refuses what is none of FORMATS."""
    if form not in FORMATS:
        raise unknown_name("format", form, list(FORMATS))


def write_figure(figure: Figure, target: Path | BinaryIO, form: str) -> None:
    """Writes a figure; equal figures give equal bytes."""
    figure.savefig(target, format=form, metadata=_METADATA.get(form))


def percent(value: float, _: object = None) -> str:
    """A number on an axis; as many digits as it takes to tell neighbours apart."""
    return f"{100 * value:.4g}%"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def result_matrix(run: Run, title: str) -> Figure:
    """R[t, u] in accuracy and in macro-F1 over own classes; what was not tested is grey, what cannot be is blank."""
    tasks = run.matrix.tasks
    side = 1.6 + 0.27 * len(tasks)
    figure = new_figure(2 * side + 0.6, side + 0.9)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    axes = figure.subplots(1, 2, sharey=True)
    for place, metric in zip(axes, ("accuracy", "own_f1"), strict=True):
        values = [[run.matrix.value(metric, t, u) for u in range(len(tasks))] for t in range(len(tasks))]
        known = [value for row in values for value in row if not math.isnan(value)]
        low = math.floor(min(known) * 20) / 20
        image = heat(
            place, values, tasks, tasks, low=low, high=1.0, colours="cividis", write=_whole_percent, triangle=True
        )
        place.set_title(METRIC_NAMES[metric])
        place.set_xlabel("tested on")
        figure.colorbar(image, ax=place, shrink=0.6, format=percent)
    axes[0].set_ylabel("after learning")
    return figure


def share_map(
    values: Sequence[Sequence[float] | None], tasks: Sequence[str], title: str, says: tuple[str, str]
) -> Figure:
    """A map from tasks to tasks of shares between 0 and 1; ``says`` names its columns and its rows."""
    side = 1.9 + 0.3 * len(tasks)
    figure = new_figure(side + 0.8, side + 0.2)
    place = figure.subplots()
    grid = [[*(row or ()), *[math.nan] * (len(tasks) - len(row or ()))] for row in values]
    image = heat(place, grid, tasks, tasks, low=0.0, high=1.0, colours="YlGnBu", write=_whole_percent, triangle=True)
    place.set(title=title, xlabel=says[0], ylabel=says[1])
    figure.colorbar(image, ax=place, shrink=0.6, format=percent)
    return figure


def bars_side_by_side(values: Mapping[str, Sequence[float]], tasks: Sequence[str], title: str, says: str) -> Figure:
    """One group of bars per task, one bar of it per name."""
    figure = new_figure(2.4 + 0.5 * len(tasks), 3.4)
    place = figure.subplots()
    width = 0.8 / max(1, len(values))
    colours, hatches = ("#0072B2", "#E69F00", "#009E73"), ("", "//", "..")
    for number, (label, heights) in enumerate(values.items()):
        where = [task + (number - (len(values) - 1) / 2) * width for task in range(len(tasks))]
        colour, hatch = colours[number % 3], hatches[number % 3]
        place.bar(where, list(heights), width, label=label, color=colour, hatch=hatch, edgecolor="white")
    place.set(title=title, ylabel=says)
    place.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right", rotation_mode="anchor")
    figure.legend(loc="outside lower center", ncols=max(1, len(values)))
    return figure


def capacity_bars(capacity: Sequence[Mapping[str, float] | None], tasks: Sequence[str], title: str) -> Figure:
    """Shares of units: taken over from earlier tasks, new, used by earlier tasks only; the rest is free."""
    figure = new_figure(2.4 + 0.32 * len(tasks), 3.2)
    place = figure.subplots()
    bottoms = [0.0] * len(tasks)
    for (label, colour, heights), hatch in zip(capacity_parts(capacity), ("", "//", ".."), strict=True):
        place.bar(range(len(tasks)), heights, 0.8, bottoms, label=label, color=colour, hatch=hatch, edgecolor="white")
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    place.set(title=title, ylabel="share of units", ylim=(0, 1))
    place.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right", rotation_mode="anchor")
    place.yaxis.set_major_formatter(percent)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def capacity_parts(capacity: Sequence[Mapping[str, float] | None]) -> list[tuple[str, str, list[float]]]:
    """Name, colour and heights of the parts of the bars, from below."""
    known = [each or {"free": 1.0, "shared": 0.0, "new": 0.0} for each in capacity]
    others = [max(0.0, 1 - each["free"] - each["shared"] - each["new"]) for each in known]
    return [
        ("shared with earlier tasks", "#0072B2", [each["shared"] for each in known]),
        ("new", "#E69F00", [each["new"] for each in known]),
        ("used by earlier tasks only", "#999999", others),
    ]


def differences(
    lines: Mapping[str, Mapping[str, float]], title: str, says: str, *, more_is_better: bool = True
) -> Figure:
    """Systems against tasks: gains blue, losses red, and the mean of every system in the last column."""
    tasks = list(dict.fromkeys(task for scores in lines.values() for task in scores))
    grid = [[scores.get(task, math.nan) for task in tasks] for scores in lines.values()]
    for row in grid:
        row.append(mean([value for value in row if not math.isnan(value)]))
    extent = max((abs(value) for row in grid for value in row if not math.isnan(value)), default=0.0)
    extent = max(0.05, math.ceil(extent * 20) / 20)
    figure = new_figure(3.6 + 0.37 * len(tasks), 1.9 + 0.24 * len(lines))
    place = figure.subplots()
    colours = "RdBu" if more_is_better else "RdBu_r"
    columns = [*tasks, "mean"]
    image = heat(place, grid, list(lines), columns, low=-extent, high=extent, colours=colours, write=_points)
    place.axvline(len(tasks) - 0.5, color="black", linewidth=1.2)
    place.set_title(f"{title}\n{says}, in percentage points", loc="left")
    figure.colorbar(image, ax=place, shrink=0.8, format=lambda value, _: _points(value))
    return figure


def heat(
    place: Axes,
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    low: float,
    high: float,
    colours: str,
    write: Callable[[float], str],
    triangle: bool = False,
) -> Any:
    """Draws a grid of numbers, each written into its cell.

    Args:
        place: Where.
        values: By row and column; NaN is left grey.
        rows: Labels of the rows.
        columns: Labels of the columns.
        low: Where the colour scale begins.
        high: Where it ends.
        colours: Name of a colour map.
        write: How a number is written into its cell.
        triangle: Whether cells above the diagonal cannot be, and are left blank.
    """
    import matplotlib
    import numpy as np

    grid = np.ma.masked_invalid(np.array(values, dtype=float))
    scale = matplotlib.colormaps[colours].with_extremes(bad=(0, 0, 0, 0))
    for row, column in np.argwhere(np.ma.getmaskarray(grid)):
        if not (triangle and column > row):
            place.add_patch(_square(int(column), int(row)))
    image = place.imshow(grid, cmap=scale, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(np.array(values, dtype=float)):
        if not math.isnan(value):
            red, green, blue, _ = scale((value - low) / (high - low))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            place.text(
                column, row, write(value), ha="center", va="center", fontsize=6, color="white" if dark else "black"
            )
    place.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    place.set_yticks(range(len(rows)), rows)
    place.tick_params(length=0)
    place.spines[:].set_visible(False)
    return image


def _whole_percent(value: float) -> str:
    return f"{100 * value:.0f}"


def _points(value: float) -> str:
    """Percentage points with their sign; nothing is neither more nor less."""
    text = f"{100 * value:+.1f}".replace("-", "−")
    return "0" if text in {"+0.0", "−0.0"} else text


def _square(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=_UNTESTED, edgecolor="white", linewidth=0.5)


def forward_and_final(rows: Sequence[TableRow], metric: str) -> Figure:
    """One panel per system: each task right after it was learned, and at the end of the sequence."""
    across = min(3, len(rows))
    down = math.ceil(len(rows) / across)
    widest = max(len(row.runs[0].matrix.tasks) for row in rows)
    figure = new_figure(across * max(2.4, 0.9 + 0.17 * widest), 0.6 + down * 2.4)
    places = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
    for row, place in zip(rows, places, strict=False):
        run = row.runs[0]
        forward, final = run.by_task(metric, "forward"), run.by_task(metric)
        x = range(len(final))
        for index, task in enumerate(final):
            worse = final[task] < forward[task]
            place.plot(
                [index] * 2, [forward[task], final[task]], color="#D55E00" if worse else "#0072B2", linewidth=1.5
            )
        place.scatter(
            x, forward.values(), s=18, facecolor="white", edgecolor="black", zorder=3, label="right after learning"
        )
        place.scatter(x, final.values(), s=18, color="black", zorder=3, label="at the end")
        place.set_title(f"{row.label}, order {run.spec.order}")
        place.set_xticks(x, final, rotation=60, ha="right", rotation_mode="anchor", fontsize=6)
        place.yaxis.set_major_formatter(percent)
        place.grid(axis="y", color="#dddddd", linewidth=0.5)
    for place in places[len(rows) :]:  # the last line may not be full
        place.set_visible(False)
    figure.suptitle(f"{METRIC_NAMES[metric]} of each task, {rows[0].backbone}", x=0.01, ha="left", fontweight="bold")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def curves(lines: Mapping[str, Sequence[float]], metric: str) -> Figure:
    """The average over the tasks learned so far, as the sequence goes on."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(6.4, 3.8)
    place = figure.subplots()
    colours = [colour for colour, _ in BACKBONE_STYLES.values()]
    strokes = ("-", "--", ":", "-.")
    for index, (label, values) in enumerate(lines.items()):
        stroke = strokes[index // len(colours) % len(strokes)]
        steps = range(1, len(values) + 1)
        place.plot(steps, values, stroke, color=colours[index % len(colours)], marker=".", label=label)
    place.set(title="Average over the tasks learned so far", xlabel="tasks learned", ylabel=METRIC_NAMES[metric])
    place.xaxis.set_major_locator(MaxNLocator(integer=True))
    place.yaxis.set_major_formatter(percent)
    place.grid(axis="y", color="#dddddd", linewidth=0.5)
    figure.legend(loc="outside right upper")
    return figure


def beside_the_paper(rows: Sequence[TableRow], printed: Sequence[tuple[float, float]]) -> Figure:
    """Accuracy and macro-F1 of every system, ours and the paper's, with the deviation over orders."""
    figure = new_figure(7.2, 1.2 + 0.19 * len(rows))
    places = figure.subplots(1, 2, sharey=True)
    for place, metric, theirs in zip(places, ("accuracy", "macro_f1"), zip(*printed, strict=True), strict=True):
        for index, (row, value) in enumerate(zip(rows, theirs, strict=True)):
            ours = row.by_order(metric)
            colour, marker = BACKBONE_STYLES.get(row.backbone, OTHER_STYLE)
            spread = deviation(ours)
            error = None if math.isnan(spread) else spread
            place.errorbar(mean(ours), index, xerr=error, color=colour, marker=marker, markersize=5, elinewidth=1)
            place.plot(value, index, marker="|", color="black", markersize=9, markeredgewidth=1.6)
        place.set_title(METRIC_NAMES[metric])
        place.xaxis.set_major_formatter(percent)
        place.grid(color="#e4e4e4", linewidth=0.5)
    places[0].set_yticks(range(len(rows)), [f"{row.label}, {row.backbone}" for row in rows])
    places[0].invert_yaxis()
    places[0].set_ylim(len(rows) - 0.4, -0.6)
    _legend(figure, rows, more=[("|", "black", "the paper")])
    return figure


def against_cost(rows: Sequence[TableRow]) -> Figure:
    """Scores against CPU seconds per task: what is up and to the left is better."""
    from matplotlib.ticker import LogLocator

    figure = new_figure(7.2, min(9.0, 4.8 + 0.12 * len(rows)))
    places = figure.subplots(2, 1, sharex=True)
    seconds = [mean([run.cpu_seconds_per_task for run in row.runs]) for row in rows]
    wide = max(seconds) > 10 * min(seconds)  # a logarithmic scale needs a decade to have numbers on it
    points = []
    for place, metric in zip(places, ("accuracy", "own_f1"), strict=True):
        for row, x in zip(rows, seconds, strict=True):
            y = mean(row.by_order(metric))
            colour, marker = BACKBONE_STYLES.get(row.backbone, OTHER_STYLE)
            chief = row.section == "classic"
            place.scatter(x, y, s=70 if chief else 26, color=colour, marker="*" if chief else marker, zorder=3)
            points.append((place, x, y, row.label))
        place.set_xscale("log" if wide else "linear")
        place.margins(0.12)
        place.set_title(METRIC_NAMES[metric])
        if wide:
            place.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            place.xaxis.set_minor_formatter("")
        place.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        place.yaxis.set_major_formatter(percent)
        place.grid(color="#e4e4e4", linewidth=0.5)
    places[1].set_xlabel("CPU seconds of training per task")
    _legend(figure, rows)
    figure.draw_without_rendering()  # settles where everything is
    figure.set_layout_engine("none")
    write_labels(figure, points)
    return figure


def write_labels(figure: Figure, points: Sequence[tuple[Axes, float, float, str]]) -> None:
    """Writes each label as near to its point as it can without covering another one or a point, with a line to it."""
    taken: dict[Axes, list[tuple[float, float, float, float]]] = {}
    middles = [place.transData.transform((x, y)) for place, x, y, _ in points]
    for (place, *_), (left, low) in zip(points, middles, strict=True):
        taken.setdefault(place, []).append((left - 4, low - 4, left + 4, low + 4))
    offsets = [(side * (6 + 4 * abs(step)), 5 * step) for step in range(-16, 17) for side in (1, -1)]
    offsets.sort(key=lambda offset: (abs(offset[1]), -offset[0]))
    for place, x, y, label in points:
        text = place.annotate(label, (x, y), xytext=(0, 0), textcoords="offset pixels", fontsize=6, va="center")
        box = text.get_window_extent()
        frame = place.get_window_extent()
        for right, up in offsets:
            shift = right if right > 0 else right - box.width
            new = (box.x0 + shift, box.y0 + up, box.x1 + shift, box.y1 + up)
            inside = frame.x0 < new[0] and new[2] < frame.x1 and frame.y0 < new[1] and new[3] < frame.y1
            if inside and not any(_overlap(new, other) for other in taken[place]):
                break
        taken[place].append(new)
        text.set_position((shift * 72 / figure.dpi, up * 72 / figure.dpi))
        text.set_anncoords("offset points")
        if up:
            start = place.transData.inverted().transform((new[0] if right > 0 else new[2], (new[1] + new[3]) / 2))
            place.plot(
                [x, start[0]], [y, start[1]], color="#999999", linewidth=0.4, zorder=1, scalex=False, scaley=False
            )


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _legend(figure: Figure, rows: Sequence[TableRow], more: Sequence[tuple[str, str, str]] = ()) -> None:
    from matplotlib.lines import Line2D

    used = list(dict.fromkeys(row.backbone for row in rows))
    entries = [(*reversed(BACKBONE_STYLES.get(each, OTHER_STYLE)), each) for each in used]
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, label=label, markersize=6)
        for marker, colour, label in [*entries, *more]
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
