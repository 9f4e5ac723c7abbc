"""Randomness. Every random number of the product comes from one root seed and a path of names.

A purpose (shuffle, dropout, initialise, ...) at a place (task, phase, epoch) always gets the same numbers, whatever was
drawn before. That is why a run that was killed and restarted at an epoch's start goes on bit for bit.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class Seeds:
    """Derives independent seeds from one root.

    Example:
        >>> Seeds(0).number("shuffle", 3) == Seeds(0).number("shuffle", 3)
        True
        >>> Seeds(0).number("shuffle", 3) == Seeds(0).number("shuffle", 4)
        False
    """

    def __init__(self, root: int) -> None:
        self.root = root

    def number(self, *path: str | int) -> int:
        """A 63-bit seed for this purpose and place."""
        text = "/".join(str(part) for part in (self.root, *path))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def generator(self, *path: str | int) -> torch.Generator:
        """A fresh CPU generator for this purpose and place."""
        import torch

        return torch.Generator().manual_seed(self.number(*path))

    def seed_dropout(self, *path: str | int) -> None:
        """Seeds torch's global generator, which is where dropout draws from."""
        import torch

        torch.manual_seed(self.number("dropout", *path))
