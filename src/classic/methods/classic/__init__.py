"""CLASSIC, the paper's method: `method` is Eq. (14), `teachers` what earlier models say, `config` its choices."""

from classic.methods.classic.config import ClassicConfig
from classic.methods.classic.method import Classic

__all__ = ["Classic", "ClassicConfig"]
