"""`classic bench run`: makes the result files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classic.benchmark.runs.suites import Selection
from classic.cli.bench.options import RESULTS, Results, TableArgument, choosing
from classic.cli.bench.progress import RunProgress
from classic.cli.options import Settings, read_settings

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
    """
    from rich.console import Console

    from classic.benchmark.runs.engines import find
    from classic.benchmark.runs.runner import carry_out, plan
    from classic.benchmark.runs.spec import Spec
    from classic.benchmark.runs.suites import specs_of

    console = Console(stderr=True, highlight=False)
    specs = specs_of(table, replace(chosen, changes=read_settings(settings), valid=valid))  # type: ignore[arg-type]
    where = find(engine, address)
    if table == "search":
        if dry_run:
            console.print(f"a search of {trials} trials, chosen by {sampler}, for each of:")
            for spec in specs:
                console.print(f"  {spec.name}-valid")
            return
        with RunProgress(console) as board:
            _search(specs, trials, sampler, where, results, work, threads, board)
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


def _search(
    specs: Sequence[Spec],
    trials: int,
    sampler: str,
    where: Engine,
    results: Path,
    work: Path,
    threads: int,
    board: RunProgress,
) -> None:
    from classic.benchmark.runs.search import SAMPLERS, search
    from classic.benchmark.runs.suites import grid
    from classic.errors import unknown_name
    from classic.systems.effects import idle

    chosen = next((known for known in SAMPLERS if known == sampler), None)
    if chosen is None:
        raise unknown_name("sampler", sampler, list(SAMPLERS))
    for spec in specs:
        without_effect = idle(spec.config())
        for key in grid().keys() & without_effect.keys():
            board.say(f"{key} is not searched: {without_effect[key]}")
        found = search(
            spec,
            {key: values for key, values in grid().items() if key not in without_effect},
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
