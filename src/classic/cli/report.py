"""`classic report`: a store as one page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classic.cli.options import StorePath, print_json


def report(
    store: StorePath,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The page, a .html file; replaced if it is there.", metavar="FILE")
    ] = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option(help="Heading of the page. Default: the name of the store's folder.", show_default=False),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON and write no page.")] = False,
) -> None:
    """Show what a store learned, how well, and what it cost: one HTML page, complete in itself.

    Results on every domain as learning went on, forgetting and transfer, room left in the adapters, training curves,
    versions and settings. The page loads nothing from the network and can be mailed or archived as it is.

    Results on old domains are shown as far as they were tested; `classic evaluate` with the old test files fills the
    rest.

    For instance:

        classic report reviews.store --open

        classic report reviews.store -o monthly.html --title "Reviews, May"

        classic report reviews.store --json
    """
    from classic.errors import InputError
    from classic.report.page import report_numbers, write_report
    from classic.store.store import Store

    if as_json:
        print_json(report_numbers(Store.open(store)))
        return
    if out.suffix.lower() not in {".html", ".htm"}:  # a slip of the pen must not replace somebody's data
        raise InputError(f"{out} is not the name of an HTML file", fix="name a file that ends in .html")
    write_report(Store.open(store), out, title)
    typer.echo(f"wrote {out}")
    if open_it:
        import webbrowser

        if not webbrowser.open(out.resolve().as_uri()):
            typer.echo("found no browser to open it with", err=True)
