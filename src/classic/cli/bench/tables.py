"""`classic bench table` and `classic bench reproduction`: what the result files say, in numbers."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classic.benchmark.runs.suites import Selection
from classic.cli.bench.options import (
    RESULTS,
    BudgetOption,
    Encoder,
    First,
    Orders,
    Results,
    Seeds,
    TableArgument,
    choosing,
    selection,
)
from classic.cli.bench.writing import put_into_page, save
from classic.cli.options import Settings, read_settings

if TYPE_CHECKING:
    from classic.benchmark.tables.table import Table

IntoPage = Annotated[
    Path | None,
    typer.Option("--write", help="Put it between the two results marks of this Markdown page.", metavar="FILE"),
]


FormatOption = Annotated[str, typer.Option("--format", help="terminal, markdown, latex or html.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write to this file; replaced if it is there.", metavar="FILE")
]


@choosing
def show_table(
    table: TableArgument,
    chosen: Selection,
    results: Results = RESULTS,
    form: FormatOption = "terminal",
    short: Annotated[
        bool, typer.Option("--short", help="Systems on adapters and the best one of every other backbone.")
    ] = False,
    out: OutOption = None,
    write: IntoPage = None,
) -> None:
    """Print a table beside the paper's, from the result files alone. What was not run stays visibly missing.

    For instance:

        classic bench table main --orders 0-4

        classic bench table main --orders 0-4 --format latex -o main.tex

        classic bench table main --orders 0-4 --short --format markdown --write README.md
    """
    from classic.benchmark.tables.table import make_table

    _put_out(make_table(table, chosen, results, short=short), form, out, write)


def _put_out(table: Table, form: str, out: Path | None, write: Path | None, mark: str = "results") -> None:
    """Prints a table, or writes it to where it was asked to be."""
    from classic.benchmark.tables.rendering import plain, render
    from classic.errors import InputError

    if write is not None and form != "markdown":
        raise InputError("--write puts Markdown into a page", fix="add --format markdown")
    text = render(table, form)
    if write is not None:
        put_into_page(write, text, mark)
    if out is not None:
        save(out, plain(text).encode())
    if write is None and out is None:
        sys.stdout.write(text if sys.stdout.isatty() else plain(text))


def reproduction(
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    encoder: Encoder = None,
    results: Results = RESULTS,
    write: IntoPage = None,
) -> None:
    """Say of every row of the paper's tables whether it comes out here, and if not, why.

    For instance:

        classic bench reproduction --orders 0-4 --write REPRODUCIBILITY.md
    """
    from classic.benchmark.tables.reproduction import reproduction as tell_rows

    text = tell_rows(selection(orders=orders, seeds=seeds, budget=budget, encoder=encoder), results)
    if write is None:
        sys.stdout.write(text)
    else:
        put_into_page(write, text, "results")


def claims(
    ours: Annotated[str, typer.Argument(metavar="OURS", help="A CLASSIC, such as classic@bert.")],
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "full",
    encoder: Encoder = None,
    results: Results = RESULTS,
    scenario: Annotated[str, typer.Option(help="dil or til.")] = "dil",
    form: FormatOption = "terminal",
    out: OutOption = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", help="Put it between the two claims marks of this Markdown page.", metavar="FILE"),
    ] = None,
) -> None:
    """Say of every claim of the paper whether the result files bear it out: figures, interval, p and a verdict.

    For instance:

        classic bench claims classic@bert --orders 0-4

        classic bench claims classic@bert --orders 0-4 --format markdown --write docs/results.md
    """
    from classic.benchmark.tables.claims import claims_table

    chosen = selection(orders=orders, seeds=seeds, budget=budget, encoder=encoder)
    _put_out(claims_table(ours, chosen, results, scenario=scenario), form, out, write, "claims")


_ASK_SEEDS = "How far other seeds lie apart is not known: run some (`bench run … --seeds 0-2`)."
_MIND_SEEDS = "A difference within what seeds do is no finding."


def compare(
    ours: Annotated[str, typer.Argument(metavar="OURS", help="A system, such as classic@bert_adapter.")],
    theirs: Annotated[
        list[str], typer.Argument(metavar="THEIRS...", help="What it is compared with: one, or several.")
    ],
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "full",
    first: First = None,
    encoder: Encoder = None,
    settings: Settings = None,
    results: Results = RESULTS,
    scenario: Annotated[str, typer.Option(help="dil or til.")] = "dil",
    form: FormatOption = "terminal",
    out: OutOption = None,
    write: IntoPage = None,
) -> None:
    """Compare systems answer by answer, over all test sentences they were both asked.

    With one system the comparison is told in detail; with several, or a format or file for it, it is a table. With --set
    all are compared as they are with these settings changed.

    For instance:

        classic bench compare classic@bert_adapter ncl@bert_adapter --orders 0,4

        classic bench compare classic@bert ncl@bert joint@bert --orders 0-4 --format markdown --write README.md
    """
    chosen = selection(orders=orders, seeds=seeds, budget=budget, first=first, encoder=encoder)
    chosen = replace(chosen, changes=read_settings(settings))
    if len(theirs) > 1 or form != "terminal" or out is not None or write is not None:
        from classic.benchmark.tables.lead import lead_table

        _put_out(lead_table(ours, theirs, chosen, results, scenario=scenario), form, out, write)
    else:
        _tell_two(ours, theirs[0], chosen, results, scenario)


def _tell_two(ours: str, theirs: str, chosen: Selection, results: Path, scenario: str) -> None:
    """Two systems in detail."""
    from classic.benchmark.tables import paired
    from classic.benchmark.tables.rows import newest_runs, select_row

    runs = newest_runs(results)
    rows = [select_row(f"{name}/{scenario}", "main", chosen, runs) for name in (ours, theirs)]
    found = paired.compare(rows[0].runs, rows[1].runs)
    typer.echo(f"{found.examples} answers of {len(rows[0].runs)} and {len(rows[1].runs)} runs, budget {chosen.budget}")
    for name, (a, b, low, high) in (("accuracy", found.accuracy), ("own F1", found.own_f1)):
        typer.echo(f"  {name:18} {a:.4f}  {b:.4f}  difference {a - b:+.4f}, 95 % of {low:+.4f} to {high:+.4f}")
    for name, (a, b, number) in found.parts.items():
        shares = (f"{right / number:.4f}" if number else "–" for right in (a, b))
        typer.echo(f"  {name:18} {'  '.join(shares)}  {a} and {b} right of {number}")
    typer.echo(f"  p: {found.mcnemar:.4f} (McNemar, accuracy), {found.permutation:.4f} (permutation, own F1)")
    seen = paired.spreads((run for row in rows for run in row.runs), runs)
    for each in seen:
        spec, (low, high) = each.run.spec, each.own_f1
        name = f"{spec.system.partition('/')[0]}, order {spec.order}"
        typer.echo(f"  {each.seeds} seeds of {name}: own F1 {low:.4f} to {high:.4f}")
    typer.echo("  p is about the sentences, for these very runs. " + (_ASK_SEEDS if not seen else _MIND_SEEDS))
