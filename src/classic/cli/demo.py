"""`classic demo`: see it work on six small domains that come with the package."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from classic.cli import completion
from classic.cli.options import AsJson, Device, Threads, keep_quick, prepare_torch, print_json

RECIPE: dict[str, Any] = {}  # what the demo sets differently: nothing
_QUESTIONS = (
    ("The crema is thick and lovely, but descaling takes forever.", ("crema", "descaling")),
    ("Our room faced the courtyard and the pillows were far too soft.", ("room", "pillows")),
    ("The waiter forgot our order twice and the soup arrived cold.", ("waiter", "soup")),
)


def demo(
    store: Annotated[Path, typer.Argument(help="Where to put the store.", metavar="STORE")] = Path("classic-demo"),
    domains: Annotated[int, typer.Option(help="How many of the six domains to learn.", min=1, max=6)] = 6,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Do without the starter that a new store begins with.")
    ] = False,
    encoder: Annotated[
        str,
        typer.Option(
            help="minilm, or mpnet, which answers better and takes longer (`classic encoders`).",
            autocompletion=completion.of("minilm", "mpnet"),
        ),
    ] = "minilm",
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Learn six small domains one after another, test on all of them after each, and ask three questions.

    Takes a few minutes. The store stays, so that you can go on playing with it. Kill it and start it again: it goes on.
    """
    from rich.console import Console

    from classic.data import DEMO_DOMAINS, load_demo

    tasks = [load_demo(name) for name in DEMO_DOMAINS[:domains]]
    console = Console(quiet=as_json)
    console.print(
        f"[bold]CLASSIC demo[/bold]: {domains} product domains, one after another, into the store [cyan]{store}[/cyan].\n"
        "After a domain is learned its data is not looked at again. At the end one model answers for all of them."
    )
    where = prepare_torch(threads, device, store)
    from classic.cli.progress import TrainingProgress
    from classic.evaluation.matrix import ResultMatrix
    from classic.learning.sequence import learn_sequence, summary
    from classic.prediction.predictor import Predictor
    from classic.report.page import write_report
    from classic.store.versions import Version
    from classic.systems.system import SystemConfig

    def tell(version: Version, matrix: ResultMatrix) -> None:
        t = matrix.learned - 1
        console.print(
            f"  {t + 1}. {version.domain:16s} {matrix.value('accuracy', t, t):8.3f}"
            f" {matrix.final_accuracy:12.3f} {matrix.final_macro_f1:10.3f} {version.run.get('seconds', math.nan):7.0f}"
        )

    console.print("\n     domain           accuracy  mean so far   macro-F1 seconds", style="dim")
    began = time.perf_counter()
    with TrainingProgress(quiet=as_json) as progress:
        system = SystemConfig.preset("default", changes=RECIPE | {"backbone.encoder": encoder})
        opened, matrix = learn_sequence(
            store, tasks, system, starter=not from_scratch, finder=True, device=where, watcher=progress, on_task=tell
        )
    keep_quick(opened)
    report = store / "report.html"
    write_report(opened, report)
    predictor = Predictor.open(opened, device=where)
    answers = [answer for sentence, aspects in _QUESTIONS for answer in predictor.predict(sentence, list(aspects))]
    if as_json:
        shown = [{"sentence": a.sentence, "aspect": a.aspect, "polarity": str(a.polarity)} for a in answers]
        print_json(summary(opened, matrix) | {"answers": shown})
        return
    console.print()
    console.print(matrix.table("accuracy"))
    console.print(
        f"\n  right after each domain (forward): accuracy {matrix.forward_accuracy:.3f}, "
        f"macro-F1 {matrix.forward_macro_f1:.3f}"
        f"\n  after the last one (final):        accuracy {matrix.final_accuracy:.3f}, "
        f"macro-F1 {matrix.final_macro_f1:.3f}\n"
    )
    for sentence, _ in _QUESTIONS:
        console.print(f"  “{sentence}”")
        for a in answers:
            if a.sentence == sentence:
                share = max(a.probabilities)
                unlike = ", unlike anything learned" if a.unfamiliar else ""
                console.print(
                    f"      {a.aspect}: [bold]{a.polarity}[/bold] ({share:.0%}; resembles {a.nearest_domain}{unlike})"
                )
    console.print(
        f"\n  {time.perf_counter() - began:.0f} s. Open [cyan]{report}[/cyan] in a browser, or go on:\n"
        f'  classic predict {store} "The foam wand sputters." --aspect "foam wand"\n'
        f"  classic store list {store}"
    )
