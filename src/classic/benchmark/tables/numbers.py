"""How numbers are written in tables; what is missing is seen to be missing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from classic.benchmark.tables.statistics import deviation, mean

MISSING = "—"
_FEWEST = 0.001  # smaller p-values are said to be smaller


def decimal(value: float) -> str:
    """A score."""
    return MISSING if math.isnan(value) else f"{value:.4f}"


def signed(value: float) -> str:
    """A difference of scores."""
    return MISSING if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def with_deviation(values: Sequence[float]) -> str:
    """Mean and standard deviation; one value alone has none."""
    spread = deviation(values)
    return decimal(mean(values)) + ("" if math.isnan(spread) else f" ± {spread:.4f}")


def p_value(value: float) -> str:
    """A p-value."""
    if math.isnan(value):
        return MISSING
    return f"<{_FEWEST}" if value < _FEWEST else f"{value:.3f}"


def rounded(value: float, digits: int, unit: str = "") -> str:
    """A number with so many digits after the point, and its unit."""
    return MISSING if math.isnan(value) else f"{value:.{digits}f} {unit}".rstrip()


def size(count: float) -> str:
    """Bytes in the unit people would use."""
    if math.isnan(count):
        return MISSING
    if count < 1024:
        return f"{count:.0f} B"
    power = min(int(math.log2(count) // 10), 3)
    return f"{count / 1024**power:.1f} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 4 as ``0–2, 4``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts)
