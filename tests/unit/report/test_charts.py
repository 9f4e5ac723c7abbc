from __future__ import annotations

import re
from importlib.resources import files

import pytest

from classic.report.charts import (
    around_zero,
    duration,
    fit_scale,
    heat_range,
    heat_style,
    known,
    percent,
    points,
    shorten,
    stack,
    trace,
)

NAN = float("nan")


@pytest.mark.parametrize(
    "values", [[0.5], [1.0, 1.0], [0.0, 0.0], [0.871, 0.92, NAN], [0.1, 0.99], [NAN], [0.3, 0.30000000000000004]]
)
def test_scales_hold_their_values_and_stay_among_shares(values: list[float]) -> None:
    scale = fit_scale(values, 100)
    assert 0 <= scale.low < scale.high <= 1.0 + 1e-9
    assert all(0 <= scale.y(value) <= 100 for value in known(values))
    assert scale.ticks()[0] == pytest.approx(scale.low)
    assert scale.ticks()[-1] == pytest.approx(scale.high)
    assert 2 <= len(scale.ticks()) <= 7


def test_gaps_are_drawn_as_gaps() -> None:
    scale = fit_scale([0.0, 1.0], 100)
    series = trace("n", "s", [0.2, 0.3, NAN, 0.5], scale, ["a", "b", "c", "d"])
    assert [mark.label for mark in series.marks] == ["a", "b", "d"]
    assert [stroke.gap for stroke in series.strokes] == [False, True]


def test_heat_scale() -> None:
    low, high = heat_range([0.81, 0.93, NAN])
    assert (low, high) == (pytest.approx(0.8), pytest.approx(0.95))
    assert (heat_style(0.8, low, high), heat_style(0.95, low, high)) == ("h0", "h9")
    assert heat_range([1.0]) == (pytest.approx(0.9), 1.0)
    assert heat_range([]) == (0.0, 1.0)


def test_bars() -> None:
    assert around_zero(-0.02, 0.04).x == 25
    assert around_zero(0.02, 0.04).width == 25
    assert [bar.x for bar in stack([0.25, 0.5, 0.25])] == [0, 25, 75]


def test_words() -> None:
    assert (percent(0.875), percent(NAN)) == ("87.5", "–")
    assert (points(-0.031), points(0.02), points(-0.0001), points(NAN)) == ("−3.1", "+2.0", "0.0", "–")
    assert (duration(3.25), duration(192), duration(7300)) == ("3.2 s", "3 min 12 s", "2 h 1 min")
    assert shorten("espresso machine", 9) == "espresso…"


def test_text_on_every_colour_has_contrast() -> None:
    css = files("classic.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    heat = re.findall(r"\.h\d \{ background: (#\w{6}); color: (#\w{3}); \}", css)
    assert len(heat) == 20
    assert all(contrast(*pair) >= 4.5 for pair in heat)
    for block in re.findall(r":root \{(.*?)\}", css, flags=re.S)[:2]:
        colour = dict(re.findall(r"--([\w-]+): (#\w+);", block))
        for text in ("ink", "muted", "average", "fresh"):
            assert all(contrast(colour[text], colour[ground]) >= 4.5 for ground in ("page", "card"))
        assert contrast(colour["ink"], colour["note"]) >= 4.5
        assert all(contrast(colour[bar], colour["card"]) >= 3 for bar in ("new", "shared", "kept", "lost", "gained"))


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast of two colours."""
    lights = sorted(map(_luminance, (first, second)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
