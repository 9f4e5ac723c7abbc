"""`classic systems`: every system of the paper, by name."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.cli import completion
from classic.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from classic.systems.system import SystemConfig

app = typer.Typer(help="Every system of the paper, by name.", no_args_is_help=True)


@app.command("list")
def list_systems(as_json: AsJson = False) -> None:
    """List the rows of the paper's tables by the names this program builds them by, with the paper's numbers."""
    from classic.benchmark.tables.paper import ABLATIONS, ROWS

    rows = [*ROWS, *ABLATIONS[1:]]
    if as_json:
        print_json([{"system": row.system, "til": row.til, "dil": row.dil} for row in rows])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="the paper's systems: accuracy / macro-F1", title_justify="left")
    table.add_column("name")
    for column in ("TIL", "DIL"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row.system, *("-" if pair is None else f"{pair[0]:.4f} / {pair[1]:.4f}" for pair in (row.til, row.dil))
        )
    console = Console()
    console.print(table)
    console.print("Append /dil or /til. Also: bcl@bert_adapter/til, and the upper bounds joint and retrain.")


@app.command()
def show(
    system: Annotated[str, typer.Argument(help="e.g. hat+ent@bert_adapter/dil", metavar="NAME", show_default=False)],
    preset: Annotated[
        str, typer.Option(help="default, paper or authors.", autocompletion=completion.preset)
    ] = "default",
    as_json: AsJson = False,
) -> None:
    """Say what a system is: source, equation, what it keeps between tasks, whether it must be told the task.

    For instance:

        classic systems show hat+ent@bert_adapter/dil
    """
    from classic.config import check_preset
    from classic.errors import IncompatibleError
    from classic.systems.names import parse, read_name
    from classic.systems.size import count_parameters
    from classic.systems.system import METHODS, refuse_unfit

    config = parse(system, check_preset(preset))
    refuse_unfit(config)
    method = METHODS[config.method].build
    facts: dict[str, Any] = {
        "name": str(read_name(system)),
        "what": (method.__doc__ or "").strip().splitlines()[0],
        "source": method.source,
        "equation": method.equation,
        "must be told the task": "yes" if config.task_id == "given" else f"no ({config.task_id})",
        "keeps texts of old tasks": "yes" if method.keeps_data else "no",
        "what it keeps grows with tasks": "yes" if method.grows else "no",
        "keeps between tasks": _kept(config),
    }
    if config.backbone != "gpt2":
        with contextlib.suppress(IncompatibleError):  # in the paper's form there is no such system
            millions = count_parameters(facts["name"]) / 1e6
            facts["parameters at BERT-base size"] = f"{millions:.1f} million after 19 tasks"
    if as_json:
        print_json(facts | {"configuration": config.to_dict()})
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None)
    for key, value in facts.items():
        table.add_row(Text(key, style="bold"), Text(str(value)))
    for section, values in (
        ("method", config.method_config),
        ("backbone", config.backbone_config),
        ("train", config.to_dict()["train"]),
    ):
        table.add_row(Text(section, style="bold"), Text(", ".join(f"{key}={value}" for key, value in values.items())))
    Console().print(table)


def _kept(config: SystemConfig) -> str:
    """What a system keeps besides its network, in bytes per task, measured; empty where there are no weights to measure."""
    from classic.errors import ClassicError
    from classic.systems.size import measure_kept

    try:
        kept = measure_kept(config)
    except ClassicError as error:
        return f"not measured: {error}"
    if kept.texts:
        return f"texts of learned tasks ({kept.first:,} bytes for 8 short sentences), besides the network"
    if not kept.first and not kept.each:
        return "nothing besides the network"
    return f"{kept.first:,} bytes after the first task, {kept.each:,} more for each further one, besides the network"


@app.command()
def advise(
    keep_data: Annotated[bool, typer.Option(help="Old texts may be kept.")] = False,
    task_id: Annotated[bool, typer.Option(help="Whoever asks can say the domain.")] = False,
    grow: Annotated[bool, typer.Option(help="What is kept may grow with every domain.")] = True,
    memory: Annotated[
        float | None,
        typer.Option(
            help="Most megabytes that may be kept besides the network and texts; measured, which takes half a minute.",
            min=0.0,
            show_default=False,
        ),
    ] = None,
    domains: Annotated[int, typer.Option(help="Of --memory: after how many domains.", min=1)] = 19,
    as_json: AsJson = False,
) -> None:
    """Propose methods for what you may keep and what you know, the best of the paper first.

    For instance:

        classic systems advise --no-grow

        classic systems advise --keep-data --memory 50
    """
    from classic.systems.advice import Requirements, against
    from classic.systems.system import METHODS

    wishes = Requirements(keep_data, task_id, grow, memory, domains)
    fitting: dict[str, str] = {}
    other: dict[str, str] = {}
    scores = {name: paper_score(name, told=task_id) for name in METHODS}
    for name, part in METHODS.items():
        reasons = against(name, wishes)
        said = "; ".join(reasons) or (part.build.__doc__ or "").strip().splitlines()[0]
        (other if reasons else fitting)[name] = said
    # The best first; a method the paper has no number for comes last, whatever it may be worth.
    ranked = sorted(fitting, key=lambda name: -(scores[name] or (0.0, 0.0))[1])
    if as_json:
        print_json({"fitting": {name: fitting[name] for name in ranked}, "not fitting": other, "paper": scores})
        return
    from rich.console import Console
    from rich.table import Table

    if ranked:
        caption = "by the paper's macro-F1 over 19 domains, on each method's best backbone; - is not in the paper"
        table = Table(title="fits, the best first", title_justify="left", caption=caption, caption_justify="left")
        for column in ("", "method", "accuracy", "macro-F1", "what it is"):
            table.add_column(column, justify="left" if column in ("method", "what it is") else "right")
        for place, name in enumerate(ranked, start=1):
            shown = [f"{value:.4f}" for value in scores[name] or ()] or ["-", "-"]
            table.add_row(str(place), name, *shown, fitting[name])
        Console().print(table)
    if other:
        table = Table(title="does not fit", title_justify="left", show_header=False)
        for name, reason in other.items():
            table.add_row(name, reason)
        Console().print(table)


def paper_score(method: str, *, told: bool) -> tuple[float, float] | None:
    """The paper's accuracy and macro-F1 of a method on its best backbone; None where the paper has none.

    Args:
        method: The method.
        told: Whether the domain is told (TIL).
    """
    from classic.benchmark.tables.paper import ROWS
    from classic.systems.names import read_name

    rows = [row for row in ROWS if read_name(row.system).method == method]
    found = [pair for row in rows if (pair := row.til if told else row.dil) is not None]
    return max(found, key=lambda pair: pair[1], default=None)
