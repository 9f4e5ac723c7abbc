"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from classic.cli import completion
from classic.errors import InputError

StorePath = Annotated[Path, typer.Argument(help="Folder of the store.", metavar="STORE", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Threads = Annotated[
    int | None,
    typer.Option(help="CPU threads. The same number gives the same bytes. Default: all cores.", show_default=False),
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


def prepare_torch(threads: int | None, device: str) -> str:
    """Sets the number of threads and finds the device; returns its name."""
    import torch

    if threads is not None:
        if threads < 1:
            raise InputError(f"{threads} threads", fix="give at least 1")
        torch.set_num_threads(threads)
    from classic.training.devices import pick_device

    return pick_device(device)


def print_json(value: Any) -> None:
    """Prints a value as strict JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
