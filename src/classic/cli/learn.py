"""`classic learn`: teach a store one more domain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classic.cli import completion
from classic.cli.options import (
    AsJson,
    ColumnNames,
    Device,
    Settings,
    Stars,
    StorePath,
    Threads,
    keep_quick,
    prepare_torch,
    print_json,
    read_columns,
    read_settings,
)
from classic.data.tasks import check_name

# Measured on Ipod, 153 examples: after the printed 30 epochs every answer was "positive", the loss still falling.
PAPER_OVER_MINILM = (
    "note: the paper's rate and epochs were printed for BERT-base; over the embedded MiniLM a small domain is "
    "hardly learned in them. Give --encoder bert-base-uncased, or --preset default."
)


def learn(
    store: StorePath,
    path: Annotated[
        Path,
        typer.Argument(
            help="Labelled data: a file (CSV, JSONL, Excel, Parquet, SemEval XML, ...), split 80/10/10 by sentence, or a "
            "folder with train, dev and test files.",
            metavar="DATA",
            show_default=False,
        ),
    ],
    domain: Annotated[str, typer.Option(help="Name of the new domain.", show_default=False)],
    preset: Annotated[
        str | None,
        typer.Option(
            help="Recipe of a NEW store: default, paper or authors. A store keeps its recipe.",
            show_default=False,
            autocompletion=completion.preset,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method of a NEW store; see `classic systems`.", show_default=False, autocompletion=completion.method
        ),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="What of a NEW store learns: bert_adapter (adapters in a frozen encoder; the default) or bert (the whole "
            "encoder: better answers, larger versions, no starter).",
            show_default=False,
            autocompletion=completion.backbone,
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="Of a NEW store: dil (nobody says the domain) or til (predict with --domain).",
            show_default=False,
            autocompletion=completion.scenario,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Encoder of a NEW store: minilm (the default), mpnet (better answers, seven times the time), a folder, or "
            "a Hugging Face id. See `classic encoders`.",
            show_default=False,
            autocompletion=completion.of("minilm", "mpnet"),
        ),
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="A NEW store does without the starter it would begin with.")
    ] = False,
    finder: Annotated[
        bool, typer.Option("--finder/--no-finder", help="Whether a NEW store learns to find aspects by itself, too.")
    ] = True,
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="More sentences of the domain for the finder, with all their aspects marked: SemEval XML, or JSON with "
            "tokens and labels B, I, O.",
            show_default=False,
        ),
    ] = None,
    column: ColumnNames = None,
    stars: Stars = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a NEW store.", show_default=False)] = None,
    threads: Threads = None,
    device: Device = "auto",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every epoch: losses, how hard each pulls, validation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Teach a store a new domain; a store that does not exist is made.

    A new store of the default system, or of --method ncl, begins with the starter: a model that has read 28 everyday domains
    and knows what an aspect is. --from-scratch does without it.

    The data is read, checked and learned; nothing of it is kept (but by the methods that replay: derpp, retrain, joint).
    Interrupt or kill it whenever you like: the same command goes on where it stopped and ends with the same model, to the
    bit.

    For instance:

        classic learn reviews.store camera.csv --domain camera

        classic learn reviews.store phones/ --domain phone --threads 2

        classic learn reviews.store shop.csv --domain shop --column aspect=feature --column polarity=stars --stars 2:4
    """
    from classic.cli.progress import TrainingProgress, describe_version
    from classic.data import load_task
    from classic.data.check import absent_note
    from classic.data.marked import read_marked

    with TrainingProgress(quiet=as_json, verbose=verbose) as progress:
        progress.on_stage("", f"reading {path}")
        task = load_task(check_name(domain), path, columns=read_columns(column, stars))
        marked = read_marked(sentences) if sentences else ()
        progress.on_stage("", "loading the programs that learn")
        where = prepare_torch(threads, device, store)
        from classic.config import check_preset
        from classic.errors import InputError
        from classic.learning.learner import begin
        from classic.learning.teach import check_task, teach
        from classic.systems.effects import refuse_idle
        from classic.systems.system import SystemConfig
        from classic.types import POLARITIES, Scenario

        check_task(task)
        chosen = None
        changes = read_settings(settings)
        if encoder:
            changes["backbone.encoder"] = encoder
        if any(value is not None for value in (preset, method, backbone, scenario)) or changes or seed is not None:
            if scenario not in (None, "dil", "til"):
                raise InputError(f"scenario {scenario!r}", fix="use dil or til")
            chosen = SystemConfig.preset(
                check_preset(preset or "default"),
                method=method or "classic",
                backbone=backbone or "bert_adapter",
                scenario=Scenario(scenario or "dil"),
                changes=changes,
            )
            refuse_idle(chosen, changes)
            over_minilm = chosen.backbone_config.get("encoder") == "minilm"
            if preset == "paper" and over_minilm and "train.learning_rate" not in changes:
                typer.echo(PAPER_OVER_MINILM, err=True)
        progress.on_stage(domain, "opening the store")
        opened, ready = begin(store, chosen, seed or 0, where, starter=not from_scratch, finder=finder)
        before = opened.current
        version, _ = teach(opened, task, device=where, watcher=progress, learner=ready, sentences=marked)
        progress.on_stage(domain, "keeping an export for quick answers")
        keep_quick(opened)
    repeated = version.number <= before  # whatever is learned now gets a higher number
    if as_json:
        print_json({"version": version.number, "record": version.record, "run": version.run, "sha256": opened.digest()})
    elif not repeated:
        describe_version(version)
    if repeated:
        typer.echo(f"{domain} was learned already, as version {version.number}; nothing was done", err=as_json)
    elif absent := [polarity for polarity in POLARITIES if polarity not in task.classes]:
        typer.echo(f"note: {absent_note(absent)}", err=True)
