"""`classic serve`: an HTTP API and a web page over a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from classic.cli import completion
from classic.cli.demo import RECIPE
from classic.cli.options import prepare_torch
from classic.errors import InputError

_DEMO_DOMAINS = 3  # the other three are left for the one who looks at it


def serve(
    store: Annotated[
        Path | None, typer.Argument(help="Folder of the store.", metavar="STORE", show_default=False)
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a demo store (classic-demo, if none is named); make it on the way.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Make an untaught store if there is none.")] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Encoder of a NEW store: minilm (the default), mpnet, a folder, or a Hugging Face id (`classic encoders`).",
            show_default=False,
            autocompletion=completion.of("minilm", "mpnet"),
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8321,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name the service is reached by, besides loopback; may be repeated.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let every program of this machine in.")] = False,
    batching: Annotated[str, typer.Option(help="on, or off to compute one request at a time.")] = "on",
    margin: Annotated[
        float, typer.Option(help="Points of macro-F1 a domain may fall before a person must decide.", min=0)
    ] = 1.0,
    threads: Annotated[
        int | None,
        typer.Option(help="CPU threads for answers. Default: all cores but one.", min=1, show_default=False),
    ] = None,
    teach_threads: Annotated[
        int | None,
        typer.Option(help="CPU threads of the teaching process. Default: half the cores.", min=1, show_default=False),
    ] = None,
    teach_memory: Annotated[
        float | None,
        typer.Option(
            help="GiB the teaching process may take; 0 is no limit. Default: 4, over mpnet 8.",
            min=0,
            show_default=False,
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every request: route, status, time.")] = False,
) -> None:
    """Serve a store: an API and a page to ask it, teach it, publish what it learned, and go back.

    Only this machine can reach it, and only with the token in the address that is printed. The token is that of the
    variable CLASSIC_TOKEN, or one kept in the store's folder, readable by you alone.

    For instance:

        classic serve --demo

        classic serve reviews.store --port 8400
    """
    if store is None and not demo:
        raise InputError("no store is named", fix="name one, or try `classic serve --demo`")
    if batching not in ("on", "off"):
        raise InputError(f"batching {batching!r}", fix="use on or off")
    path = store or Path("classic-demo")
    _start_log(verbose)
    typer.echo("loading ...", err=True)
    cores = os.cpu_count() or 1
    prepare_torch(threads or max(1, cores - 1), "cpu")  # one core is for the loop, that it can refuse what is too much
    try:
        from classic.serving.batcher import BatchLimits
        from classic.serving.guard import Access
        from classic.serving.jobs import read_token
        from classic.serving.server import serve as run
        from classic.serving.service import ServiceConfig
        from classic.serving.supervisor import job_folder
    except ModuleNotFoundError as error:
        raise InputError(f"the service needs {error.name}", fix="pip install 'classic-asc[serve]'") from None
    from classic.backbones.encoder import LARGER
    from classic.learning.learner import open_or_create
    from classic.store.store import Store
    from classic.systems.system import SystemConfig

    if Store.exists(path) or not (demo or new):
        opened = Store.open(path)
        own = opened.settings["encoder"].get("encoder")
        if encoder not in (None, own):
            raise InputError(f"{path} is over the encoder {own!r}, not {encoder!r}", fix="leave out --encoder")
    else:
        changes = (RECIPE if demo else {}) | ({"backbone.encoder": encoder} if encoder else {})
        opened = open_or_create(path, SystemConfig.preset("default", changes=changes), finder=True)
    if teach_memory is None:
        teach_memory = 8.0 if opened.settings["encoder"].get("encoder") == LARGER else 4.0
    token = None if no_token else read_token(job_folder(path), os.environ.get("CLASSIC_TOKEN"))
    config = ServiceConfig(
        access=Access(token, frozenset(name.casefold() for name in allow_host or [])),
        limits=BatchLimits(together=batching == "on"),
        margin=margin,
        teach_threads=teach_threads or max(1, cores // 2),
        teach_memory=teach_memory,
        demo=_DEMO_DOMAINS if demo else 0,
    )

    def tell(address: str) -> None:
        typer.echo(f"{path} is served at\n{address}{f'#token={token}' if token else ''}")

    run(opened, config, host, port, tell)


def _start_log(verbose: bool) -> None:
    """Logs of the service: times, routes, kinds of errors; never a text."""
    import logging

    from classic.serving.repeats import Counted

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(Counted())
    logging.getLogger("classic.serving").setLevel(logging.INFO)
    logging.getLogger("classic.serving.access").setLevel(logging.INFO if verbose else logging.WARNING)
