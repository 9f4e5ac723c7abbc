"""Options that several commands share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.cli import completion
from classic.data.readers import Columns
from classic.errors import InputError

if TYPE_CHECKING:
    from classic.store.store import Store

_MOMENT = 0.3  # seconds in which one sees whether others compute

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

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, e.g. train.epochs=2, backbone.width=128, method.ced=0. May be repeated.",
        show_default=False,
    ),
]

# What `learn`, `evaluate`, `predict` and `data` say about a table whose columns have names of their own.
ColumnNames = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="FIELD=NAME",
        help="A column of a CSV, TSV, Excel or Parquet file that is called otherwise, e.g. aspect=feature. Fields are "
        "sentence, aspect, polarity, start, end. May be repeated.",
        show_default=False,
    ),
]
Stars = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH",
        help="The polarities of a table are numbers: up to LOW negative, from HIGH on positive, neutral between; 2:4 for "
        "five stars.",
        show_default=False,
    ),
]

# What `predict`, `find` and `summarise` ask alike.
ToldDomain = Annotated[
    str | None,
    typer.Option(
        help="The domain, if you know it: it weighs in. A store that learns task-incrementally must be told.",
        show_default=False,
        autocompletion=completion.domain,
    ),
]
StarterEncoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="Without a store: minilm, or mpnet, which answers better and takes seven times as long (`classic encoders`).",
        show_default=False,
        autocompletion=completion.of("minilm", "mpnet"),
    ),
]
OldVersion = Annotated[int | None, typer.Option(help="Ask an older version.", show_default=False)]
BatchSize = Annotated[int, typer.Option(help="Sentences computed at once.", min=1)]
MinConfidence = Annotated[
    float, typer.Option(help="Leave out aspects that are less certain to be one.", min=0.0, max=1.0)
]
AnswersOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Write to a file: .jsonl, .csv or .parquet. Default: standard output.",
        metavar="FILE",
        show_default=False,
    ),
]
AnswersFormat = Annotated[
    str | None,
    typer.Option("--format", help="jsonl or csv.", show_default=False, autocompletion=completion.of("jsonl", "csv")),
]


def is_file(text: str) -> bool:
    """Whether a text names a file; a review may be too long to be asked about."""
    return _is(Path.is_file, text)


def is_folder(text: str) -> bool:
    """Whether a text names a folder."""
    return _is(Path.is_dir, text)


def _is(kind: Callable[[Path], bool], text: str) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # longer than a name may be, or with a NUL in it
        return False


def read_settings(entries: list[str] | None) -> dict[str, Any]:
    """Turns KEY=VALUE options into changes of a configuration; values are JSON, or plain words."""
    changes: dict[str, Any] = {}
    for entry in entries or []:
        key, separator, value = entry.partition("=")
        if not separator:
            raise InputError(f"setting {entry!r} has no value", fix="write KEY=VALUE")
        changes[key] = _read_value(value)
    return changes


def read_space(entries: list[str] | None) -> dict[str, tuple[Any, ...]]:
    """Turns KEY=V,V,... options into the values to try of each setting; values are JSON, or plain words.

    >>> read_space(["method.contrast=features,logits", "train.epochs=2,4"])
    {'method.contrast': ('features', 'logits'), 'train.epochs': (2, 4)}
    """
    space: dict[str, tuple[Any, ...]] = {}
    for key, values in ((entry.partition("=")[0], entry.partition("=")[2]) for entry in entries or []):
        tried = tuple(_read_value(value.strip()) for value in values.split(",") if value.strip())
        if len(tried) < 2:
            raise InputError(f"--try {key} has fewer than two values", fix="write KEY=V,V,... such as train.epochs=2,4")
        if key in space:
            raise InputError(f"--try names {key} twice", fix="give all its values at once")
        space[key] = tried
    return space


def _read_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def read_columns(names: list[str] | None, stars: str | None = None) -> Columns:
    """What --column and --stars say."""
    told: dict[str, str] = {}
    for entry in names or []:
        field, separator, column = entry.partition("=")
        if not separator or not column.strip():
            raise InputError(f"--column {entry!r} names no column", fix="write FIELD=NAME, e.g. aspect=feature")
        if field in told:
            raise InputError(f"--column names the {field} twice", fix="give it once")
        told[field] = column
    if stars is None:
        return Columns(told)
    try:
        low, high = map(float, stars.split(":"))
    except ValueError:
        raise InputError(f"--stars {stars!r}", fix="write LOW:HIGH, e.g. 2:4") from None
    return Columns(told, (low, high))


def prepare_torch(threads: int | None, device: str, store: Path | None = None) -> str:
    """Sets the number of threads and finds the device; returns its name.

    Threads that wait for each other at every step are slower than one if a core is taken by another program. So, unless
    somebody says otherwise, only cores that are free now are used, and it is said if these are not all. A domain that a
    store was learning when it was stopped goes on with the threads it began with: another number would begin it anew.
    """
    import torch

    if store is not None and threads is None:
        from classic.training.checkpoint import threads_of

        threads = threads_of(store / "work" / "checkpoint.safetensors")
    if threads is not None:
        if threads < 1:
            raise InputError(f"{threads} threads", fix="give at least 1")
        torch.set_num_threads(threads)
    elif "OMP_NUM_THREADS" not in os.environ:
        cores = torch.get_num_threads()
        free = free_cores(cores)
        torch.set_num_threads(free)
        if free < cores:
            typer.echo(f"The machine is busy: {free} of {cores} cores used. --threads N changes it.", err=True)
    from classic.training.devices import pick_device

    return pick_device(device)


def free_cores(cores: int) -> int:
    """How many of some cores other programs leave free; at least one, and all where the system does not tell."""
    idle = idle_cores()
    return cores if idle is None else max(1, min(cores, round(idle)))


def idle_cores() -> float | None:
    """How many cores do nothing, on average over a moment; not the load of the last minute, which has our own past in it."""
    try:
        before = _ticks()
        time.sleep(_MOMENT)
        after = _ticks()
    except (OSError, ValueError):  # no Linux
        return None
    idle, passed = after[0] - before[0], after[1] - before[1]
    return (os.cpu_count() or 1) * idle / passed if passed > 0 else None


def _ticks() -> tuple[int, int]:
    """Of all cores since the start of the machine: those in which they did nothing, and all."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        ticks = [int(value) for value in file.readline().split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def keep_quick(store: Store) -> None:
    """Keeps an export beside the version in use, so that `classic predict` answers without loading torch.

    Only where the extra `export` is installed, and silently: the store answers without it, too.
    """
    from classic.export.keeping import keep_export

    keep_export(store)


def print_json(value: Any) -> None:
    """Prints a value as strict JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
