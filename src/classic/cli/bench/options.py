"""Which part of a table is meant: the options that all commands of `classic bench` share, written once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from classic.benchmark.runs.spec import BUDGETS
from classic.benchmark.runs.suites import Selection
from classic.errors import InputError, unknown_name

_TABLE_HELP = "main (DIL), til, ablation, std (5 seeds on order 0), cost, or search (the paper's grid, or --try)."
TableArgument = Annotated[str, typer.Argument(help=_TABLE_HELP, metavar="TABLE", show_default=False)]
Systems = Annotated[
    str,
    typer.Option(
        help="Only these systems, e.g. classic@bert_adapter,ncl@w2v or mine.py:Mine@bert_adapter.",
        metavar="A,B,...",
    ),
]
Orders = Annotated[str, typer.Option(help="Which of the paper's task orders: 0, 0,2 or 0-4.", metavar="N,N-M,...")]
Seeds = Annotated[str, typer.Option(help="Which seeds: 0, 0,2 or 0-4.", metavar="N,N-M,...")]
BudgetOption = Annotated[str, typer.Option(help="quick (minutes per run), full, or paper (days on a CPU).")]
BackboneOption = Annotated[str | None, typer.Option(help="Only systems on this backbone, e.g. bert_adapter.")]
First = Annotated[int | None, typer.Option(help="Only the first so many tasks of an order.", min=1)]
Encoder = Annotated[str | None, typer.Option(help="Another encoder: a folder or a Hugging Face id.")]

Results = Annotated[Path, typer.Option(help="Where the result files are.", file_okay=False)]
RESULTS = Path("benchmarks/results")


def selection(
    systems: Systems = "",
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    backbone: BackboneOption = None,
    first: First = None,
    encoder: Encoder = None,
) -> Selection:
    """The shared options as what they choose."""
    chosen = next((known for known in BUDGETS if known == budget), None)
    if chosen is None:
        raise unknown_name("budget", budget, list(BUDGETS))
    names = tuple(name.strip() for name in systems.split(",") if name.strip())
    return Selection(names, numbers(orders), numbers(seeds), chosen, backbone, first, encoder)


def numbers(text: str) -> tuple[int, ...]:
    """``0,2-4`` as 0, 2, 3, 4."""
    found: list[int] = []
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            low, dash, high = part.partition("-")
            if dash and int(high) < int(low):
                raise ValueError
            found += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        raise InputError(f"{text!r} is not a list of numbers", fix="write 0, 0,2 or 0-4") from None
    return tuple(found)


def choosing(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `selection`; the command itself takes them as one parameter, ``chosen``."""
    shared = signature(selection, eval_str=True).parameters
    parameters: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        parameters += shared.values() if parameter.name == "chosen" else [parameter]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        options = {name: given.pop(name) for name in shared}
        command(chosen=selection(**options), **given)

    # Typer reads both to learn a command's options, and calls it by their names.
    keywords = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
