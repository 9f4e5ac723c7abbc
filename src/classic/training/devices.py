"""Which device to compute on, and in which precision."""

from __future__ import annotations

import math
import time
from functools import cache

import torch

from classic.config import Precision
from classic.errors import InputError

_ROWS, _WIDTH = 512, 384  # about what a batch of the embedded encoder is
_TRIES = 12
_WORTH = 1.2  # so much faster it must be: half of the digits have a price


def pick_device(wanted: str = "auto") -> str:
    """``cpu``, ``cuda`` (also ``cuda:1``), ``mps``, or ``auto`` for the best there is.

    Raises:
        InputError: If the wanted device is not there.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next(name for name in ("cuda", "mps", "cpu") if there[name])
    if not there.get(wanted.partition(":")[0], False):
        usable = ", ".join(name for name, here in there.items() if here)
        raise InputError(f"device {wanted!r} is not to be had here", fix=f"use one of: {usable}")
    return wanted


@cache
def fastest_precision() -> Precision:
    """The precision in which this processor multiplies matrices faster, found by a short measurement.

    ``bfloat16`` is nearly twice as fast where the processor has instructions for it, and slower where it has not. The best
    of several tries counts, taken in turn, so that a busy machine comes to the same answer as a quiet one.
    """
    left, right = torch.ones(_ROWS, _WIDTH), torch.ones(_WIDTH, _WIDTH)
    small = left.bfloat16(), right.bfloat16()
    best = {"float32": math.inf, "bfloat16": math.inf}
    for _ in range(_TRIES):
        for name, pair in (("float32", (left, right)), ("bfloat16", small)):
            clock = time.perf_counter()
            torch.mm(*pair)
            best[name] = min(best[name], time.perf_counter() - clock)
    return "bfloat16" if best["bfloat16"] * _WORTH < best["float32"] else "float32"
