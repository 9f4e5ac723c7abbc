"""A log that is not flooded: what repeats itself is counted, not repeated."""

from __future__ import annotations

import logging
import time

_FIRST = 5  # of a kind that are written
_WINDOW = 60.0  # seconds
_KINDS = 256


class Counted(logging.Filter):
    """Lets the first few records of a kind pass in every minute; the next one after it tells how many were left out.

    A kind is a logger, a level and a message before its values are filled in. Somebody without a token can make the
    service log; without this, it could fill the disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "classic.serving.access":  # asked for with --verbose: a line for every request
            return True
        kind, moment = (record.name, record.levelno, str(record.msg)[:200]), time.monotonic()
        began, count = self._seen.pop(kind, (moment, 0))
        if moment - began >= _WINDOW:
            if count > _FIRST:
                record.msg = f"{record.getMessage()} (and {count - _FIRST:,} more like it before)"
                record.args = None
            began, count = moment, 0
        self._seen[kind] = (began, count + 1)
        while len(self._seen) > _KINDS:
            del self._seen[next(iter(self._seen))]
        return count < _FIRST
