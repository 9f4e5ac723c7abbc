"""`classic`: learn aspect sentiment domain after domain."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from classic._version import __version__
from classic.cli import (
    audit,
    bench,
    data,
    demo,
    encoders,
    evaluate,
    export,
    find,
    learn,
    predict,
    report,
    serve,
    store,
    summarise,
    systems,
)
from classic.errors import NEEDED_TO_LEARN, ClassicError, InputError
from classic.files import disk_error, is_disk_error

_DOWNLOAD = "--allow-download"
_EXTRAS = {"bench": "bench", "export": "export", "serve": "serve"}  # of commands that need more than `learn`

_RESUMED = {"demo", "learn", "bench"}  # commands that take up their work; `predict` says itself what is written

app = typer.Typer(
    name="classic",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,  # a traceback must not show anybody's reviews
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _downloads(wanted: bool) -> None:
    if wanted:
        os.environ["CLASSIC_ALLOW_DOWNLOAD"] = "1"


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    allow_download: Annotated[
        bool,
        typer.Option(
            "--allow-download",
            callback=_downloads,
            help="Fetch an encoder that is not on this machine; may stand after the command, too.",
        ),
    ] = False,
) -> None:
    """Learn aspect sentiment domain after domain: one model for all domains, old data thrown away.

    Start with a sentence, or with **classic demo**:

        classic predict "The zoom is superb, the menu a maze." --aspect zoom --aspect menu

    Then, with your own reviews:

        classic learn reviews.store camera.csv --domain camera

        classic learn reviews.store phones.csv --domain phone     (next month)

        classic predict reviews.store "The zoom is superb." --aspect zoom

    Exit codes: 0 done, 1 something went wrong, 2 bad input or options, 130 interrupted.
    """


app.command("demo")(demo.demo)
app.command("learn")(learn.learn)
app.command("predict")(predict.predict)
app.command("find")(find.find)
app.command("evaluate")(evaluate.evaluate)
app.command("export")(export.export)
app.command("report")(report.report)
app.command("summarise")(summarise.summarise)
app.command("serve")(serve.serve)
app.command("audit")(audit.audit)
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")
app.add_typer(encoders.app, name="encoders")
app.add_typer(store.app, name="store")
app.add_typer(systems.app, name="systems")


def run() -> None:
    """Entry point: one clear message for a mistake, a traceback only for a bug."""
    try:
        _call()
    except ClassicError as error:
        _tell(error)
    except SystemExit as end:
        if end.code == 130:  # typer makes this of Ctrl-C, without a word
            command = sys.argv[1] if len(sys.argv) > 1 else ""
            kept = (
                " What was learned so far is kept; the same command goes on from there." if command in _RESUMED else ""
            )
            sys.stderr.write(f"\nInterrupted.{kept}\n")
        raise
    except BrokenPipeError:  # `classic predict ... | head`
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if not is_disk_error(error):
            raise
        _tell(disk_error(error))


def _tell(error: ClassicError) -> NoReturn:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    # A terminal is wrapped between words; a file or a pipe gets every line whole.
    text = Text.assemble(("Error: ", "bold red"), str(error), overflow="ignore")
    console.print(text, soft_wrap=not console.is_terminal)
    sys.exit(error.exit_code)


def _call() -> None:
    """Calls the command; what a light installation has not got is told with the line that installs it."""
    if _DOWNLOAD in sys.argv[1:]:  # wherever it stands
        os.environ["CLASSIC_ALLOW_DOWNLOAD"] = "1"
        sys.argv[1:] = [argument for argument in sys.argv[1:] if argument != _DOWNLOAD]
    try:
        app()
    except ModuleNotFoundError as error:
        missing, command = (error.name or "").partition(".")[0], sys.argv[1]
        if missing not in NEEDED_TO_LEARN:  # a bug, or somebody's own method
            raise
        fix = f"pip install 'classic-asc[{_EXTRAS.get(command, 'learn')}]'"
        if command in ("predict", "find", "summarise"):
            fix += " for a store or the starter, 'classic-asc[runtime]' for a folder that `classic export` wrote"
        raise InputError(f"`classic {command}` needs {missing}, which is not installed", fix=fix) from None
