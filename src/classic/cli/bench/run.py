"""`classic bench run`: makes the result files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.benchmark.runs.suites import Selection
from classic.cli.bench.options import RESULTS, Results, TableArgument, choosing
from classic.cli.bench.progress import RunProgress
from classic.cli.options import Settings, read_settings, read_space
from classic.errors import InputError

if TYPE_CHECKING:
    from classic.benchmark.runs.runner import Engine
    from classic.benchmark.runs.spec import Spec


@choosing
def run(
    table: TableArgument,
    chosen: Selection,
    settings: Settings = None,
    engine: Annotated[
        str, typer.Option(help="local (one run after the other) or ray (a cluster, or all cores).")
    ] = "local",
    address: Annotated[str | None, typer.Option(help="A running Ray cluster; without it, one is started here.")] = None,
    threads: Annotated[int, typer.Option(help="Threads of torch in each run.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="cpu or cuda; with --engine ray a run then takes a GPU.")] = "cpu",
    work: Annotated[Path, typer.Option(help="Where unfinished runs are kept.", file_okay=False)] = Path("runs/bench"),
    results: Results = RESULTS,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="KEY=V,V,...",
            help="Values the search tries, e.g. method.strength=500,5000; without it the paper's grid. May be repeated.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="How many settings the search tries.", min=1)] = 8,
    sampler: Annotated[str, typer.Option(help="How the search chooses settings: grid or tpe.")] = "grid",
    valid: Annotated[
        bool, typer.Option("--valid", help="Score validation sets: for choosing settings, see `bench table search`.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
) -> None:
    """Run what a table lacks. A finished run is never repeated, an interrupted one goes on.

    Several of these may run at once; none takes up what another has in hand.

    For instance:

        classic bench run main --orders 0-4 --dry-run

        classic bench run main --systems classic@bert_adapter,ncl@bert_adapter --orders 0-4

        classic bench run main --systems classic@bert_adapter --set train.epochs=2 --valid    (seen by `bench table search`)

        classic bench run search --first 4 --trials 24 --engine ray

        classic bench run search --systems ewc@bert_adapter --first 4 --try method.strength=500,5000,50000
    """
    from rich.console import Console

    from classic.benchmark.runs.engines import find
    from classic.benchmark.runs.runner import carry_out, plan
    from classic.benchmark.runs.spec import Spec
    from classic.benchmark.runs.suites import specs_of

    console = Console(stderr=True, highlight=False)
    specs = specs_of(table, replace(chosen, changes=read_settings(settings), valid=valid))  # type: ignore[arg-type]
    where = find(engine, address)
    space = read_space(tried)
    if space and table != "search":
        raise InputError("--try is for the search alone", fix=f"classic bench run search ..., or {table} with --set")
    if table == "search":
        spaces = [_space_of(spec, space) for spec in specs]
        if dry_run:
            console.print(f"a search, chosen by {sampler}, for each of:")
            for spec, its in zip(specs, spaces, strict=True):
                corners = math.prod(map(len, its.values()))
                most = min(trials, corners) if sampler == "grid" else trials
                console.print(f"  {spec.name}-valid: {most} trials, {corners} combinations")
            return
        with RunProgress(console) as board:
            for spec, its in zip(specs, spaces, strict=True):
                _search(spec, its, trials, sampler, where, results, work, threads, board)
        return
    wanted = plan(specs, results, work, threads, device)
    runs, trainings = sum(len(job.specs) for job in wanted.jobs), len(wanted.jobs)
    noun = "training" if trainings == 1 else "trainings"
    console.print(f"{len(wanted.finished)} runs are finished, {runs} to do in {trainings} {noun}.")
    if dry_run:
        for job in wanted.jobs:
            console.print(f"  {job.name}")
        return
    with RunProgress(console) as board:
        for result in carry_out(wanted, where, results, board.tell):
            scores = result["scores"]
            board.say(
                f"{Spec(**result['spec']).name}: "
                f"accuracy {scores['final_accuracy']:.4f}, macro-F1 {scores['final_macro_f1']:.4f} "
                f"(own F1 {scores['final_own_f1']:.4f})"
            )


def _space_of(spec: Spec, asked: dict[str, tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    """What a search of this system tries: what was asked for, or the part of the paper's grid that has an effect."""
    from classic.benchmark.runs.suites import grid
    from classic.systems.effects import idle, refuse_idle

    config = spec.config()
    if asked:  # what cannot be, or changes nothing in any trial, is refused before the first one
        corners = [dict(zip(asked, values, strict=True)) for values in itertools.product(*asked.values())]
        configs = [replace(spec, changes=spec.changes | corner).config() for corner in corners]
        for key in asked:
            if all(key in idle(each) for each in configs):
                refuse_idle(configs[0], [key])
        return dict(asked)
    if config.method != "classic":
        raise InputError(
            f"the paper's grid is of CLASSIC's settings; {config.method} has others",
            fix="say what to try: --try KEY=V,V",
        )
    without_effect = idle(config)
    for key in grid().keys() & without_effect.keys():
        typer.echo(f"{key} is not searched: {without_effect[key]}", err=True)
    return {key: values for key, values in grid().items() if key not in without_effect}


def _search(
    spec: Spec,
    space: dict[str, Sequence[Any]],
    trials: int,
    sampler: str,
    where: Engine,
    results: Path,
    work: Path,
    threads: int,
    board: RunProgress,
) -> None:
    from classic.benchmark.runs.search import SAMPLERS, search
    from classic.errors import unknown_name

    chosen = next((known for known in SAMPLERS if known == sampler), None)
    if chosen is None:
        raise unknown_name("sampler", sampler, list(SAMPLERS))
    found = search(
        spec,
        space,
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
