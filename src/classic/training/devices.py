"""Which device to compute on."""

from __future__ import annotations

import torch

from classic.errors import InputError


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
