"""`classic systems`: every system of the paper, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    preset: Annotated[str, typer.Option(help="default, paper or authors.")] = "default",
    as_json: AsJson = False,
) -> None:
    """Say what a system is: source, equation, what it keeps between tasks, whether it must be told the task."""
    from classic.config import check_preset
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
        facts["parameters at BERT-base size"] = f"{count_parameters(facts['name']) / 1e6:.1f} million after 19 tasks"
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
    """Propose methods for what you may keep and what you know."""
    from classic.systems.advice import Requirements, against
    from classic.systems.system import METHODS

    wishes = Requirements(keep_data, task_id, grow, memory, domains)
    fitting: dict[str, str] = {}
    other: dict[str, str] = {}
    for name, part in METHODS.items():
        reasons = against(name, wishes)
        said = "; ".join(reasons) or (part.build.__doc__ or "").strip().splitlines()[0]
        (other if reasons else fitting)[name] = said
    if as_json:
        print_json({"fitting": fitting, "not fitting": other})
        return
    from rich.console import Console
    from rich.table import Table

    for title, methods in (("fits", fitting), ("does not fit", other)):
        table = Table(title=title, title_justify="left", show_header=False)
        for name, reason in methods.items():
            table.add_row(name, reason)
        if methods:
            Console().print(table)
