"""Freed memory is overwritten: what was taught must not lie there until something else happens to need the place.

An upload goes through the service in pieces of some kilobytes, and a freed piece keeps what stood in it. glibc can be
told to overwrite whatever is given back to it. That costs a prediction about a hundredth of its time. Python gives small
objects, of up to 512 bytes, back to itself and not to glibc; these are soon used again.
"""

from __future__ import annotations

import ctypes

_M_PERTURB = -6  # mallopt(3)
_BYTE = 0x5A


def overwrite_freed_memory() -> bool:
    """From now on memory that is freed is overwritten, in this process; whether the system can do it."""
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_PERTURB, _BYTE))
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
