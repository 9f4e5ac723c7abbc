"""Two models on the same rows: by how much one is worse, and whether so few rows can tell.

All intervals are of 90 %: what lies above or below one is so with 95 %. They are made for small numbers: twelve rows that
are all answered alike do not show that nothing was lost.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

from classic.evaluation.metrics import macro_f1

Verdict = Literal["kept", "fell", "too few to tell"]
_Z, _TAIL = 1.645, 0.05
_DRAWS = 1000


def judge(low: float, high: float, margin: float) -> Verdict:
    """What an interval of a fall, in points, says about a margin."""
    if high <= margin:
        return "kept"
    return "fell" if low > margin else "too few to tell"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several: fell if one did, kept if all were."""
    return next((each for each in ("fell", "too few to tell") if each in verdicts), "kept")  # type: ignore[return-value]


def share_interval(hits: int, rows: int) -> tuple[float, float]:
    """Clopper and Pearson's exact interval of a share: one row of twelve does not show that more than 1 % are lost."""
    low = _solve(lambda share: 1 - _at_most(hits - 1, rows, share)) if hits else 0.0
    high = _solve(lambda share: 1 - _at_most(hits, rows, share), 1 - _TAIL) if hits < rows else 1.0
    return low, high


def _at_most(hits: int, rows: int, share: float) -> float:
    """P(X <= hits) of a binomial X."""
    if share in (0.0, 1.0):
        return float(share == 0.0 or hits >= rows)
    ways = [math.lgamma(rows + 1) - math.lgamma(k + 1) - math.lgamma(rows - k + 1) for k in range(hits + 1)]
    return math.fsum(
        math.exp(way + k * math.log(share) + (rows - k) * math.log1p(-share)) for k, way in enumerate(ways)
    )


def _solve(rising: Callable[[float], float], value: float = _TAIL) -> float:
    """Where a rising function of a share takes a value."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return (low + high) / 2


def fall_interval(lost: int, gained: int, rows: int) -> tuple[float, float]:
    """Agresti and Min's interval of a difference of paired shares: half a row is added to each of the four cells."""
    more = rows + 2
    fall = (lost - gained) / more
    half = _Z * math.sqrt(max(0.0, lost + gained + 1 - (lost - gained) ** 2 / more)) / more
    return max(-1.0, fall - half), min(1.0, fall + half)


def compare_answers(true: Sequence[int], before: Sequence[int], after: Sequence[int], own: list[int]) -> dict[str, Any]:
    """By how many points a macro-F1 over `own` classes fell, and the interval of it.

    The interval holds that of resampled rows and that of the share of right answers: the former alone says of rows that
    are all answered alike that it is certain.

    Returns:
        ``fell`` (negative: rose) and ``interval``, in points.
    """
    rows = list(zip(true, before, after, strict=True))
    draw = random.Random(0)  # the same rows, the same verdict
    falls = sorted(_fall([draw.choice(rows) for _ in rows], own) for _ in range(_DRAWS))
    lost = sum(t == b != a for t, b, a in rows)
    gained = sum(t == a != b for t, b, a in rows)
    low, high = fall_interval(lost, gained, len(rows))
    tail = _DRAWS // 20
    interval = [min(falls[tail], 100 * low), max(falls[-tail - 1], 100 * high)]
    return {"fell": _fall(rows, own), "interval": interval, "lost": lost, "gained": gained}


def _fall(rows: Sequence[tuple[int, int, int]], own: list[int]) -> float:
    true, before, after = ([row[place] for row in rows] for place in range(3))
    return 100 * (macro_f1(true, before, labels=own) - macro_f1(true, after, labels=own))


def compare_with_teacher(true: Sequence[int], teacher: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    """What share of the rows a teacher had right and its pupil has wrong, in points; what it gained does not count."""
    rows = list(zip(true, teacher, after, strict=True))
    lost = sum(t == b != a for t, b, a in rows)
    low, high = share_interval(lost, len(rows))
    return {
        "fell": 100 * lost / len(rows),
        "interval": [100 * low, 100 * high],
        "examples": len(rows),
        "disagreement": sum(b != a for _, b, a in rows) / len(rows),
    }
