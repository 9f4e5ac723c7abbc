"""Where the marks of a chart go: numbers in, positions and words out; the templates draw them.

Horizontal positions are percentages and vertical ones pixels, so that a chart follows the width of the page while its
text keeps its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

HEAT_STEPS = 10  # as many colours as templates/report.css has
MISSING = "–"


@dataclass(frozen=True)
class Scale:
    """A vertical axis.

    Attributes:
        low, high: The values at its ends; low < high.
        height: Pixels between them.
        step: Distance of its ticks.
    """

    low: float
    high: float
    height: float
    step: float

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return round(self.height * (self.high - value) / (self.high - self.low), 2)

    def ticks(self) -> list[float]:
        """The values to be written beside the axis, from below."""
        count = round((self.high - self.low) / self.step)
        return [self.low + number * self.step for number in range(count + 1)]


@dataclass(frozen=True)
class Mark:
    """A point of a chart: percent from the left, pixels from the top, and what it says."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Stroke:
    """A line between two marks; ``gap`` if values between them are missing."""

    start: Mark
    end: Mark
    gap: bool


@dataclass(frozen=True)
class Series:
    """One row of values: the marks there are, and the strokes between them."""

    name: str
    style: str
    marks: tuple[Mark, ...]
    strokes: tuple[Stroke, ...]


@dataclass(frozen=True)
class HeatCell:
    """One cell of a heat map: its text, its style (h0 to h9, missing, later, own) and what it says."""

    text: str
    style: str
    label: str


@dataclass(frozen=True)
class Bar:
    """A bar: percent from the left and percent wide."""

    x: float
    width: float


def known(values: Sequence[float]) -> list[float]:
    """The values there are."""
    return [value for value in values if not math.isnan(value)]


def fit_scale(
    values: Sequence[float], height: float, *, intervals: int = 4, least: float = 0.02, most: float = 1.0
) -> Scale:
    """The axis with round ticks that holds all values.

    Args:
        values: What is to be shown; NaN is passed over.
        height: Pixels of the axis.
        intervals: About how many ticks.
        least: Never show less than this from end to end: differences of noise must not look like differences.
        most: No value can lie above this, nor below 0.
    """
    found = known(values) or [0.0]
    low, high = min(found), max(found)
    room = max(high - low, least)
    low = max(0.0, min((low + high - room) / 2, most - room))
    high = low + room
    size = 10.0 ** math.floor(math.log10(room / intervals))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * intervals >= room * 0.999)
    # The small push keeps 0.30000000000000004 from opening one more interval.
    bottom, top = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    return Scale(bottom * step, max(top, bottom + 1) * step, height, step)


def band(index: int, count: int) -> float:
    """Middle of one of ``count`` equal bands, in percent."""
    return round(100 * (index + 0.5) / count, 3)


def trace(name: str, style: str, values: Sequence[float], scale: Scale, labels: Sequence[str]) -> Series:
    """Places values in bands from left to right; missing ones leave a gap that is shown as one."""
    count = len(values)
    places = [index for index, value in enumerate(values) if not math.isnan(value)]
    marks = {index: Mark(band(index, count), scale.y(values[index]), labels[index]) for index in places}
    strokes = tuple(Stroke(marks[left], marks[right], gap=right - left > 1) for left, right in pairwise(places))
    return Series(name, style, tuple(marks.values()), strokes)


def heat_style(value: float, low: float, high: float) -> str:
    """Colour step of a value on a scale from low to high."""
    share = (value - low) / (high - low) if high > low else 1.0
    return f"h{min(HEAT_STEPS - 1, max(0, math.floor(share * HEAT_STEPS)))}"


def heat_range(values: Sequence[float], *, step: float = 0.05) -> tuple[float, float]:
    """Round ends of a colour scale; at least two steps apart, within 0 to 1."""
    found = known(values) or [0.0, 1.0]
    low, high = math.floor(min(found) / step + 1e-6) * step, math.ceil(max(found) / step - 1e-6) * step
    high = min(1.0, max(high, low + 2 * step))
    return max(0.0, min(low, high - 2 * step)), high


def around_zero(value: float, limit: float) -> Bar:
    """A bar to the left or right of the middle; ``limit`` reaches the edge."""
    width = 50 * min(abs(value) / limit, 1.0)
    return Bar(round(50 - width if value < 0 else 50.0, 3), round(width, 3))


def stack(shares: Sequence[float]) -> list[Bar]:
    """Bars one after another; shares of 1."""
    bars, start = [], 0.0
    for share in shares:
        bars.append(Bar(round(100 * start, 3), round(100 * share, 3)))
        start += share
    return bars


def shorten(text: str, length: int) -> str:
    """A label of at most so many characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def percent(value: float) -> str:
    """A share in percent, without the sign."""
    return MISSING if math.isnan(value) else f"{100 * value:.1f}"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    if math.isnan(value):
        return MISSING
    text = f"{100 * value:+.1f}".replace("-", "−")
    return "0.0" if text in {"+0.0", "−0.0"} else text


def duration(seconds: float) -> str:
    """Time in words."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{seconds:.1f} s"
