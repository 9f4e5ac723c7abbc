"""`classic bench`: the paper's tables from one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="The paper's tables: run them, print them, plot them.", no_args_is_help=True)

_TABLE_HELP = "main (DIL), til, ablation, std (5 seeds on order 0), cost, or search (the paper's grid)."
TableArgument = Annotated[str, typer.Argument(help=_TABLE_HELP, metavar="TABLE", show_default=False)]
Systems = Annotated[
    str,
    typer.Option(
        help="Only these systems, e.g. classic@bert_adapter,ncl@bert_adapter or my_method.py:MyMethod@bert_adapter.",
        metavar="A,B,...",
    ),
]
Orders = Annotated[str, typer.Option(help="Which of the paper's task orders: 0, 0,2 or 0-4.", metavar="N,N-M,...")]
Seeds = Annotated[str, typer.Option(help="Which seeds: 0, 0,2 or 0-4.", metavar="N,N-M,...")]
BudgetOption = Annotated[str, typer.Option(help="quick (minutes per run), default, or paper (days on a CPU).")]
BackboneOption = Annotated[str | None, typer.Option(help="Only systems on this backbone, e.g. bert_adapter.")]
First = Annotated[int | None, typer.Option(help="Only the first so many tasks of an order.", min=1)]
Encoder = Annotated[str | None, typer.Option(help="Another encoder: a folder or a Hugging Face id.")]
Results = Annotated[Path, typer.Option(help="Where the result files are.", file_okay=False)]

RESULTS = Path("benchmarks/results")


def selection(
    systems: str, orders: str, seeds: str, budget: str, backbone: str | None, first: int | None, encoder: str | None
) -> Any:
    """The options every command of `classic bench` shares, as a Selection."""
    from classic.benchmark.spec import BUDGETS
    from classic.benchmark.suites import Selection
    from classic.errors import unknown_name

    chosen = next((known for known in BUDGETS if known == budget), None)
    if chosen is None:
        raise unknown_name("budget", budget, list(BUDGETS))
    names = tuple(name.strip() for name in systems.split(",") if name.strip())
    return Selection(names, numbers(orders), numbers(seeds), chosen, backbone, first, encoder)


def numbers(text: str) -> tuple[int, ...]:
    """``0,2-4`` as 0, 2, 3, 4."""
    from classic.errors import InputError

    found: list[int] = []
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            low, dash, high = part.partition("-")
            found += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        raise InputError(f"{text!r} is not a list of numbers", fix="write 0, 0,2 or 0-4") from None
    return tuple(found)


@app.command()
def run(
    table: TableArgument,
    systems: Systems = "",
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    backbone: BackboneOption = None,
    first: First = None,
    encoder: Encoder = None,
    engine: Annotated[
        str, typer.Option(help="local (one run after the other) or ray (a cluster, or all cores).")
    ] = "local",
    address: Annotated[str | None, typer.Option(help="A running Ray cluster; without it, one is started here.")] = None,
    threads: Annotated[int, typer.Option(help="Of torch, per run.", min=1)] = 1,
    work: Annotated[Path, typer.Option(help="Where unfinished runs are kept.", file_okay=False)] = Path("runs/bench"),
    results: Results = RESULTS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
) -> None:
    """Run what a table lacks. A finished run is never repeated, an interrupted one goes on.

    Several of these may run at once; none takes up what another has in hand.
    """
    from rich.console import Console

    from classic.benchmark.engines import find
    from classic.benchmark.runner import carry_out, plan
    from classic.benchmark.suites import specs_of

    console = Console(stderr=True, highlight=False)
    chosen = selection(systems, orders, seeds, budget, backbone, first, encoder)
    wanted = plan(specs_of(table, chosen), results, work, threads)  # type: ignore[arg-type]
    count = sum(len(job.specs) for job in wanted.jobs)
    console.print(f"{len(wanted.finished)} runs are finished, {count} to do in {len(wanted.jobs)} trainings.")
    if dry_run:
        for job in wanted.jobs:
            console.print(f"  {job.name}")
        return

    def tell(event: dict[str, Any]) -> None:
        if "note" in event:
            console.print(f"[dim]{event['run']}: {event['note']}[/dim]")
            return
        console.print(
            f"{event['run']}  {event['done']}/{event['of']} {event['task']}: "
            f"accuracy {event['accuracy']:.4f}, macro-F1 {event['fair_f1']:.4f}"
        )

    for result in carry_out(wanted, find(engine, address), results, tell):
        scores = result["scores"]
        console.print(
            f"[bold]{result['spec']['system']} order {result['spec']['order']}: accuracy {scores['final_accuracy']:.4f}, "
            f"macro-F1 {scores['final_f1']:.4f} (own classes {scores['final_fair_f1']:.4f})[/bold]"
        )
