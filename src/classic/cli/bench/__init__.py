"""`classic bench`: the paper's tables from one command."""

from __future__ import annotations

import typer

from classic.cli.bench import pictures, run, tables

app = typer.Typer(help="The paper's tables: run them, print them, draw them.", no_args_is_help=True)
app.command("run")(run.run)
app.command("table")(tables.show_table)
app.command("reproduction")(tables.reproduction)
app.command("compare")(tables.compare)
app.command("claims")(tables.claims)
app.command("plot")(pictures.plot)
app.command("picture")(pictures.picture)
