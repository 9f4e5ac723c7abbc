"""One picture for a page: how every system of a table ended, by accuracy and by both macro-F1."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from classic.benchmark.figures.drawing import (
    BACKBONE_STYLES,
    METRIC_NAMES,
    OTHER_STYLE,
    check_form,
    drawing,
    new_figure,
    percent,
    write_figure,
)
from classic.benchmark.figures.plots import nothing_to_draw
from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables.rows import TableRow, rows_of
from classic.benchmark.tables.statistics import mean
from classic.benchmark.tables.table import SCORED, TITLES, check_name, command_of, legend_of, shortened, what_was_run
from classic.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_BAND, _GREY, _INK = "#eaf2f8", "#8a949e", "#1b1f24"
_LEGEND = 0.26  # height of the legend in inches
_GAP = 0.7  # between continual learners and what they are compared with, in rows


@dataclass(frozen=True)
class Picture:
    """A picture, and the words that go with it.

    Attributes:
        data: The file.
        says: What is on it, for those who do not see it.
        command: What makes it again, without the name of the file.
    """

    data: bytes
    says: str
    command: str

    def markdown(self, path: Path, page: Path) -> str:
        """What shows the picture in a page, with the command beside it."""
        where = Path(os.path.relpath(path.resolve(), page.resolve().parent)).as_posix()
        return f"![{self.says}]({where})\n\nMade by `{self.command} -o {where}`."


def draw_picture(name: str, chosen: Selection, folder: Path, *, short: bool = False, form: str = "png") -> Picture:
    """Draws final scores from a folder of result files.

    Args:
        name: A table of final scores.
        chosen: Which part of it.
        folder: Where the result files are.
        short: Only the systems on adapters and the best one of every other backbone.
        form: One of figures.FORMATS.
    """
    table = check_name(name)
    if table not in SCORED:
        raise InputError(f"the table {name!r} has no final scores to draw", fix=f"choose one of {', '.join(SCORED)}")
    check_form(form)
    rows = rows_of(table, chosen, folder)
    rows = shortened(rows) if short else rows
    if not any(row.runs for row in rows):
        raise nothing_to_draw(name, folder)
    file = io.BytesIO()
    with drawing():
        write_figure(final_scores(rows, TITLES[table]), file, form)
    command = command_of("picture", table, chosen) + (" --short" if short else "")
    return Picture(_smaller(file.getvalue()) if form == "png" else file.getvalue(), _told(rows), command)


def _smaller(png: bytes) -> bytes:
    """The same picture in 256 colours, which takes half of the bytes: pages are loaded over networks."""
    from PIL import Image

    file = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return file.getvalue()


def final_scores(rows: Sequence[TableRow], title: str) -> Figure:
    """Continual learners, the best by own classes first, then what they are compared with; what was not run says so."""
    groups = [_ranked([row for row in rows if row.competes is competes]) for competes in (True, False)]
    lines = [*groups[0], *groups[1]]
    heights = [index + (_GAP if index >= len(groups[0]) else 0) for index in range(len(lines))]
    notes = textwrap.wrap(" ".join([what_was_run(rows).partition(" —:")[0], *legend_of(rows)]), 150)
    foot = 0.12 * len(notes) + 0.06
    tall = 0.85 + 0.2 * len(lines) + _LEGEND + foot
    figure = new_figure(7.2, tall)
    places = list(figure.subplots(1, 2, sharey=True))
    for row, height in zip(lines, heights, strict=True):
        for place in places:
            if row.section == "classic" and row.competes:
                place.axhspan(height - 0.5, height + 0.5, color=_BAND, zorder=0, linewidth=0)
        if row.runs:
            _points(places[0], row, height, "accuracy")
            _points(places[1], row, height, "macro_f1", hollow=True)
            _points(places[1], row, height, "own_f1")
        else:
            for place in places:
                across = place.get_yaxis_transform()
                place.text(
                    0.02, height, "not run", transform=across, color=_GREY, fontsize=6.5, va="center", style="italic"
                )
    for place, title_of_place in zip(places, ("accuracy", "macro-F1"), strict=True):
        place.set_title(title_of_place)
        place.set_ylim(heights[-1] + 0.7, -0.7)
        place.locator_params(axis="x", nbins=6)
        place.xaxis.set_major_formatter(percent)
        place.grid(axis="x", color="#e4e4e4", linewidth=0.5)
        place.tick_params(axis="y", length=0)
        place.spines["left"].set_visible(False)
        if groups[0] and groups[1]:
            place.axhline(len(groups[0]) - 0.5 + _GAP / 2, color=_GREY, linewidth=0.6)
    places[0].set_yticks(heights, [_name(row) for row in lines])
    for label, row in zip(places[0].get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if row.section == "classic" else "normal")
        label.set_color(_INK if row.runs else _GREY)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    handles, below = _handles(lines), foot / tall  # the layout knows no legend above notes, so both get room by hand
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, below),
        borderpad=0.2,
        ncols=len(handles),
        columnspacing=1,
        handletextpad=0,
    )
    below += _LEGEND / tall
    figure.set_layout_engine("constrained", rect=(0, below, 1, 1 - below))
    figure.text(0.01, 0.01, "\n".join(notes), fontsize=6.5, color="#48525d")
    return figure


def _name(row: TableRow) -> str:
    """A row's name; where runs are missing, how many are there."""
    name = f"{row.label}{row.marks}, {row.backbone}"
    return f"{name} ({len(row.runs)} of {row.wanted})" if 0 < len(row.runs) < row.wanted else name


def _ranked(rows: Sequence[TableRow]) -> list[TableRow]:
    """By macro-F1 over own classes, the best first; what was not run stays at the end, in the paper's order."""
    return sorted(rows, key=lambda row: -mean(row.by_order("own_f1")) if row.runs else 1.0)


def _points(place: Axes, row: TableRow, height: float, metric: str, *, hollow: bool = False) -> None:
    """The mean over orders, and where there are several each of them, smaller."""
    colour, marker = BACKBONE_STYLES.get(row.backbone, OTHER_STYLE)
    scores = row.by_order(metric)
    if hollow:  # the stroke between the two macro-F1 is what stray answers cost
        both = [mean(scores), mean(row.by_order("own_f1"))]
        place.plot(both, [height] * 2, color=colour, linewidth=1.2, zorder=2)
    elif len(scores) > 1:
        place.scatter(scores, [height] * len(scores), s=7, color=colour, alpha=0.45, linewidth=0, zorder=2)
    face = "white" if hollow else colour
    place.scatter(mean(scores), height, s=26, facecolor=face, edgecolor=colour, marker=marker, zorder=3)


def _handles(rows: Sequence[TableRow]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    marks = []  # colour, colour within, shape, size, meaning
    for backbone in dict.fromkeys(row.backbone for row in rows if row.runs):
        colour, marker = BACKBONE_STYLES.get(backbone, OTHER_STYLE)
        marks.append((colour, colour, marker, 5.0, backbone))
    marks.append((_GREY, _GREY, "o", 5.0, METRIC_NAMES["own_f1"]))
    marks.append((_GREY, "white", "o", 5.0, "macro-F1 as in the paper"))
    if any(len(row.by_order("accuracy")) > 1 for row in rows):
        marks.append((_GREY, _GREY, "o", 2.5, "single orders"))
    return [
        Line2D([], [], linestyle="", marker=marker, color=colour, mfc=face, markersize=size, label=label)
        for colour, face, marker, size, label in marks
    ]


def _told(rows: Sequence[TableRow]) -> str:
    """The picture in a few sentences: who is best, where CLASSIC is, what is missing."""
    there = [row for row in rows if row.competes and row.runs]
    told = [f"Final accuracy and macro-F1 of {len(there)} continual learners."]
    leaders = [max(there, key=lambda row: mean(row.by_order(metric))) for metric in ("accuracy", "own_f1") if there]
    for metric, row in zip(("accuracy", "own_f1"), leaders, strict=False):
        told.append(f"Best {METRIC_NAMES[metric]}: {row.label} on {row.backbone}, {mean(row.by_order(metric)):.4f}.")
    for row in there:
        if row.is_reference and any(leader is not row for leader in leaders):
            ours, own = (mean(row.by_order(metric)) for metric in ("accuracy", "own_f1"))
            told.append(f"CLASSIC: accuracy {ours:.4f}, {METRIC_NAMES['own_f1']} {own:.4f}.")
    missing = sum(not row.runs for row in rows)
    told += [f"{missing} not run."] if missing else []
    return " ".join(told)
