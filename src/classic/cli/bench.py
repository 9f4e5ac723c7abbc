"""`classic bench`: the paper's tables from one command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from classic.benchmark.runner import Engine
    from classic.benchmark.spec import Spec

app = typer.Typer(help="The paper's tables: run them, print them, plot them.", no_args_is_help=True)

_TABLE_HELP = "main (DIL), til, ablation, std (5 seeds on order 0), cost, or search (the paper's grid)."
TableArgument = Annotated[str, typer.Argument(help=_TABLE_HELP, metavar="TABLE", show_default=False)]
Systems = Annotated[
    str,
    typer.Option(
        help="Only these systems, e.g. classic@bert_adapter,ncl@bert_adapter or my_method.py:MyMethod@bert_adapter.",
        metavar="A,B,...",
    ),
]
Orders = Annotated[str, typer.Option(help="Which of the paper's task orders: 0, 0,2 or 0-4.", metavar="N,N-M,...")]
Seeds = Annotated[str, typer.Option(help="Which seeds: 0, 0,2 or 0-4.", metavar="N,N-M,...")]
BudgetOption = Annotated[str, typer.Option(help="quick (minutes per run), default, or paper (days on a CPU).")]
BackboneOption = Annotated[str | None, typer.Option(help="Only systems on this backbone, e.g. bert_adapter.")]
First = Annotated[int | None, typer.Option(help="Only the first so many tasks of an order.", min=1)]
Encoder = Annotated[str | None, typer.Option(help="Another encoder: a folder or a Hugging Face id.")]
Results = Annotated[Path, typer.Option(help="Where the result files are.", file_okay=False)]

RESULTS = Path("benchmarks/results")


def selection(
    systems: str, orders: str, seeds: str, budget: str, backbone: str | None, first: int | None, encoder: str | None
) -> Any:
    """The options every command of `classic bench` shares, as a Selection."""
    from classic.benchmark.spec import BUDGETS
    from classic.benchmark.suites import Selection
    from classic.errors import unknown_name

    chosen = next((known for known in BUDGETS if known == budget), None)
    if chosen is None:
        raise unknown_name("budget", budget, list(BUDGETS))
    names = tuple(name.strip() for name in systems.split(",") if name.strip())
    return Selection(names, numbers(orders), numbers(seeds), chosen, backbone, first, encoder)


def numbers(text: str) -> tuple[int, ...]:
    """``0,2-4`` as 0, 2, 3, 4."""
    from classic.errors import InputError

    found: list[int] = []
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            low, dash, high = part.partition("-")
            found += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        raise InputError(f"{text!r} is not a list of numbers", fix="write 0, 0,2 or 0-4") from None
    return tuple(found)


@app.command()
def run(
    table: TableArgument,
    systems: Systems = "",
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    backbone: BackboneOption = None,
    first: First = None,
    encoder: Encoder = None,
    engine: Annotated[
        str, typer.Option(help="local (one run after the other) or ray (a cluster, or all cores).")
    ] = "local",
    address: Annotated[str | None, typer.Option(help="A running Ray cluster; without it, one is started here.")] = None,
    threads: Annotated[int, typer.Option(help="Of torch, per run.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="cpu or cuda; with --engine ray a run then takes a GPU.")] = "cpu",
    work: Annotated[Path, typer.Option(help="Where unfinished runs are kept.", file_okay=False)] = Path("runs/bench"),
    results: Results = RESULTS,
    trials: Annotated[int, typer.Option(help="Of TABLE search: how many settings to try.", min=1)] = 8,
    sampler: Annotated[str, typer.Option(help="Of TABLE search: grid or tpe.")] = "grid",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
) -> None:
    """Run what a table lacks. A finished run is never repeated, an interrupted one goes on.

    Several of these may run at once; none takes up what another has in hand.
    """
    from rich.console import Console

    from classic.benchmark.engines import find
    from classic.benchmark.runner import carry_out, plan
    from classic.benchmark.suites import specs_of

    console = Console(stderr=True, highlight=False)
    chosen = selection(systems, orders, seeds, budget, backbone, first, encoder)
    specs = specs_of(table, chosen)  # type: ignore[arg-type]
    where = find(engine, address)
    if table == "search":
        with Board(console) as board:
            _search(specs, trials, sampler, where, results, work, threads, board)
        return
    wanted = plan(specs, results, work, threads, device)
    count = sum(len(job.specs) for job in wanted.jobs)
    console.print(f"{len(wanted.finished)} runs are finished, {count} to do in {len(wanted.jobs)} trainings.")
    if dry_run:
        for job in wanted.jobs:
            console.print(f"  {job.name}")
        return
    with Board(console) as board:
        for result in carry_out(wanted, where, results, board.tell):
            scores = result["scores"]
            board.say(
                f"{result['spec']['system']} order {result['spec']['order']} seed {result['spec']['seed']}: "
                f"accuracy {scores['final_accuracy']:.4f}, macro-F1 {scores['final_f1']:.4f} "
                f"(own classes {scores['final_fair_f1']:.4f})"
            )


def _search(
    specs: Sequence[Spec],
    trials: int,
    sampler: str,
    where: Engine,
    results: Path,
    work: Path,
    threads: int,
    board: Board,
) -> None:
    from classic.benchmark.search import SAMPLERS, search
    from classic.benchmark.suites import grid
    from classic.errors import unknown_name

    chosen = next((known for known in SAMPLERS if known == sampler), None)
    if chosen is None:
        raise unknown_name("sampler", sampler, list(SAMPLERS))
    for spec in specs:
        found = search(
            spec,
            grid(),
            trials=trials,
            together=4,
            sampler=chosen,
            engine=where,
            results=results,
            work=work,
            threads=threads,
            tell=board.tell,
        )
        for trial in found:
            board.say(f"{trial.score:.4f}  {trial.changes}")


class Board:
    """Shows how runs get on: a bar each on a terminal, a line per task elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.console = console
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.bars: dict[str, Any] = {}

    def __enter__(self) -> Board:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def say(self, line: str) -> None:
        """Prints a line that stays."""
        from rich.text import Text

        self.console.print(Text(line), soft_wrap=True)

    def tell(self, event: dict[str, Any]) -> None:
        """Takes an event of a job."""
        run = event["run"]
        if "note" in event:
            self.say(f"{run}: {event['note']}")
            return
        if not self.console.is_terminal:
            self.say(
                f"{run}  {event['done']}/{event['of']} {event['task']}: "
                f"accuracy {event['accuracy']:.4f}, macro-F1 {event['fair_f1']:.4f}"
            )
        if run not in self.bars:
            self.bars[run] = self.progress.add_task(run, total=event["of"])
        self.progress.update(self.bars[run], completed=event["done"])
        if event["done"] == event["of"]:
            self.progress.remove_task(self.bars.pop(run))


@app.command("table")
def show_table(
    table: TableArgument,
    systems: Systems = "",
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    backbone: BackboneOption = None,
    first: First = None,
    encoder: Encoder = None,
    results: Results = RESULTS,
    form: Annotated[str, typer.Option("--format", help="terminal, markdown, latex or html.")] = "terminal",
    short: Annotated[
        bool, typer.Option("--short", help="Systems on adapters and the best one of every other backbone.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file; replaced if it is there.", metavar="FILE")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Put it between the two results marks of this Markdown page.", metavar="FILE"),
    ] = None,
) -> None:
    """Print a table beside the paper's, from the result files alone. What was not run stays visibly missing.

    For instance:

        classic bench table main --orders 0-4

        classic bench table main --orders 0-4 --format latex -o main.tex

        classic bench table main --orders 0-4 --short --format markdown --write README.md
    """
    import sys

    from classic.benchmark.rendering import plain, put_between_marks, render
    from classic.benchmark.tables import make_table
    from classic.errors import InputError

    chosen = selection(systems, orders, seeds, budget, backbone, first, encoder)
    if write is not None and form != "markdown":
        raise InputError("--write puts Markdown into a page", fix="add --format markdown")
    made = make_table(table, chosen, results, short=short)
    text = render(made, form)
    if write is not None:
        save(write, put_between_marks(read_page(write), text, str(write)).encode())
    if out is not None:
        save(out, plain(text).encode())
    if write is None and out is None:
        sys.stdout.write(text if sys.stdout.isatty() else plain(text))


@app.command()
def reproduction(
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    encoder: Encoder = None,
    results: Results = RESULTS,
    write: Annotated[
        Path | None,
        typer.Option(help="Put it between the two results marks of this Markdown page.", metavar="FILE"),
    ] = None,
) -> None:
    """Say of every row of the paper's tables whether it comes out here, and if not, why.

    For instance:

        classic bench reproduction --orders 0-4 --write REPRODUCIBILITY.md
    """
    import sys

    from classic.benchmark.rendering import put_between_marks
    from classic.benchmark.reproduction import reproduction as tell_rows

    text = tell_rows(selection("", orders, seeds, budget, None, None, encoder), results)
    if write is None:
        sys.stdout.write(text)
        return
    save(write, put_between_marks(read_page(write), text, str(write)).encode())


def read_page(path: Path) -> str:
    """A Markdown page that is to be written into."""
    from classic.errors import InputError

    if not path.is_file():
        raise InputError(f"there is no page {path}", fix="name a Markdown file that has the two marks")
    return path.read_text("utf-8")


@app.command()
def plot(
    table: TableArgument,
    systems: Systems = "",
    orders: Orders = "",
    seeds: Seeds = "",
    budget: BudgetOption = "quick",
    backbone: BackboneOption = None,
    first: First = None,
    encoder: Encoder = None,
    results: Results = RESULTS,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write pictures into this folder.", metavar="FOLDER")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    html: Annotated[
        Path | None, typer.Option(help="Write an interactive page, complete in itself.", metavar="FILE")
    ] = None,
) -> None:
    """Draw what the result files say: result matrices, forgetting, transfer, attention, masks, cost.

    For instance:

        classic bench plot main --backbone bert_adapter -o pictures --format svg

        classic bench plot main --orders 0-4 --html report.html
    """
    from classic.benchmark.interactive import render_page
    from classic.benchmark.plots import draw_all
    from classic.errors import InputError

    if out is None and html is None:
        raise InputError("there is nowhere to draw to", fix="give --out FOLDER, --html FILE or both")
    chosen = selection(systems, orders, seeds, budget, backbone, first, encoder)
    if out is not None:
        for path in draw_all(table, chosen, results, out, form):
            typer.echo(f"wrote {path}")
    if html is not None:
        save(html, render_page(table, chosen, results).encode())


def save(path: Path, data: bytes) -> None:
    """Writes a file and says so."""
    from classic.errors import InputError
    from classic.files import write_bytes

    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"nothing can be written: {wrong}", fix="name a file in a folder that exists")
    try:
        write_bytes(path, data)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", fix="choose another place") from None
    typer.echo(f"wrote {path}", err=True)
