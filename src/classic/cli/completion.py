"""What the shell proposes for a value. Nothing here imports torch: a proposal has to come at once.

`classic --install-completion` sets it up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

from classic.config import PRESETS

METHODS = (
    *("classic", "hat", "ncl", "one", "ewc", "ucl", "owm", "derpp"),
    *("kan", "srk", "lamol", "bcl", "joint", "retrain"),
)
"""The names of `classic.systems.system.METHODS`, which costs a second to import."""


def of(*values: str) -> Callable[[str], list[str]]:
    """Proposes fixed values."""

    def complete(incomplete: str) -> list[str]:
        return _begun(values, incomplete)

    return complete


method = of(*METHODS)
backbone = of("bert_adapter", "bert", "bert_frozen", "w2v", "gpt2")
preset = of(*PRESETS)
scenario = of("dil", "til")
device = of("auto", "cpu", "cuda", "mps")


def domain(context: typer.Context, incomplete: str) -> list[str]:
    """Proposes the domains of the store, or of the exported folder, that stands before on the line."""
    # With the last option still without its value, the words before it are left unassigned.
    folder = context.params.get("store") or next(iter(context.args), None)
    return _begun(_domains(Path(str(folder))), incomplete) if folder else []


def _domains(folder: Path) -> list[str]:
    from classic.errors import ClassicError
    from classic.store.store import Store

    try:
        card = folder / "classic.json"
        if card.is_file():
            return [str(name) for name in json.loads(card.read_text(encoding="utf-8"))["domains"]]
        return Store.open(folder).domains()
    except (ClassicError, OSError, ValueError, KeyError, TypeError):  # a shell that is typed in shows no errors
        return []


def _begun(values: Iterable[str], incomplete: str) -> list[str]:
    return [value for value in values if value.startswith(incomplete)]
