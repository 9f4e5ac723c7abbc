"""Options that several commands share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.cli import completion
from classic.errors import InputError

if TYPE_CHECKING:
    from classic.store.store import Store

StorePath = Annotated[Path, typer.Argument(help="Folder of the store.", metavar="STORE", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Threads = Annotated[
    int | None,
    typer.Option(
        help="CPU threads. The same number gives the same bytes. Default: the cores that nobody else is using.",
        show_default=False,
    ),
]
Device = Annotated[
    str, typer.Option(help="cpu, cuda, mps, or auto: the best there is.", autocompletion=completion.device)
]
WholeSentences = Annotated[
    bool,
    typer.Option(
        "--whole-sentences",
        help="Do not read the clause of an aspect beside its sentence: faster, and blinder to the aspect.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, e.g. train.epochs=2, backbone.width=128, method.ced=0. May be repeated.",
        show_default=False,
    ),
]


def read_settings(entries: list[str] | None) -> dict[str, Any]:
    """Turns KEY=VALUE options into changes of a configuration; values are JSON, or plain words."""
    changes: dict[str, Any] = {}
    for entry in entries or []:
        key, separator, value = entry.partition("=")
        if not separator:
            raise InputError(f"setting {entry!r} has no value", fix="write KEY=VALUE")
        try:
            changes[key] = json.loads(value)
        except json.JSONDecodeError:
            changes[key] = value
    return changes


def prepare_torch(threads: int | None, device: str, store: Path | None = None) -> str:
    """Sets the number of threads and finds the device; returns its name.

    Threads that wait for each other at every step are slower than one if a core is taken by another program. So, unless
    somebody says otherwise, only cores that are free now are used, and it is said if these are not all. A domain that a
    store was learning when it was stopped goes on with the threads it began with: another number would begin it anew.
    """
    import torch

    if store is not None:
        from classic.training.checkpoint import threads_of

        threads = threads or threads_of(store / "work" / "checkpoint.safetensors")
    if threads is not None:
        if threads < 1:
            raise InputError(f"{threads} threads", fix="give at least 1")
        torch.set_num_threads(threads)
    elif "OMP_NUM_THREADS" not in os.environ:
        cores = torch.get_num_threads()
        free = free_cores(cores, os.getloadavg()[0])
        torch.set_num_threads(free)
        if free < cores:
            typer.echo(f"The machine is busy: {free} of {cores} cores used. --threads N changes it.", err=True)
    from classic.training.devices import pick_device

    return pick_device(device)


def free_cores(cores: int, load: float) -> int:
    """How many cores other programs leave free, by the load of the last minute; at least one."""
    return max(1, min(cores, round(cores - load)))


def keep_quick(store: Store) -> None:
    """Keeps an export beside the version in use, so that `classic predict` answers without loading torch.

    Only where the extra `export` is installed, and silently: the store answers without it, too.
    """
    from classic.export.keeping import keep_export

    keep_export(store)


def print_json(value: Any) -> None:
    """Prints a value as strict JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
