"""`classic bench plot` and `classic bench picture`: what the result files say, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classic.benchmark.runs.suites import Selection
from classic.cli.bench.options import RESULTS, Results, TableArgument, choosing
from classic.cli.bench.writing import put_into_page, save


@choosing
def plot(
    table: TableArgument,
    chosen: Selection,
    results: Results = RESULTS,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write pictures into this folder.", metavar="FOLDER")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    html: Annotated[
        Path | None, typer.Option(help="Write an interactive page, complete in itself.", metavar="FILE")
    ] = None,
) -> None:
    """Draw all that the result files say: result matrices, forgetting, transfer, attention, masks, cost, trials.

    For instance:

        classic bench plot main --backbone bert_adapter -o pictures --format svg

        classic bench plot main --orders 0-4 --html report.html

        classic bench plot search -o pictures --html trials.html
    """
    from classic.benchmark.figures.page import render_page
    from classic.benchmark.figures.plots import draw_all
    from classic.errors import InputError

    if out is None and html is None:
        raise InputError("there is nowhere to draw to", fix="give --out FOLDER, --html FILE or both")
    if out is not None:
        for path in draw_all(table, chosen, results, out, form):
            typer.echo(f"wrote {path}")
    if html is not None:
        save(html, render_page(table, chosen, results).encode())


@choosing
def picture(
    table: TableArgument,
    chosen: Selection,
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture: a .png, .svg or .pdf file.", metavar="FILE")],
    results: Results = RESULTS,
    short: Annotated[
        bool, typer.Option("--short", help="Systems on adapters and the best one of every other backbone.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(help="Show it between the two picture marks of this Markdown page.", metavar="FILE"),
    ] = None,
) -> None:
    """Draw one picture for a page: how all systems of main, til or ablation ended, by accuracy and both macro-F1.

    For instance:

        classic bench picture main --orders 0-4 -o scores.pdf

        classic bench picture main --orders 0-4 --short -o docs/images/main.png --write README.md
    """
    from classic.benchmark.figures.picture import draw_picture

    made = draw_picture(table, chosen, results, short=short, form=out.suffix.removeprefix("."))
    save(out, made.data)
    if write is not None:
        put_into_page(write, made.markdown(out, write), "picture")
