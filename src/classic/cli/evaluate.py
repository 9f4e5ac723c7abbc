"""`classic evaluate`: score a store on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from classic.cli.options import AsJson, Device, StorePath, Threads, WholeSentences, prepare_torch, print_json
from classic.errors import InputError


def evaluate(
    store: StorePath,
    data: Annotated[
        list[str],
        typer.Argument(
            help="Labelled data, as NAME=PATH (NAME is the domain) or just PATH. A folder's test file is used.",
            metavar="[NAME=]PATH...",
            show_default=False,
        ),
    ],
    version: Annotated[int | None, typer.Option(help="Score an older version.", show_default=False)] = None,
    every: Annotated[
        bool, typer.Option("--all-versions", help="Score every version, for the report's heat map.")
    ] = False,
    whole: WholeSentences = False,
    save: Annotated[
        bool, typer.Option(help="Keep the scores (numbers only) in the store, for `classic report`.")
    ] = True,
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score the current version, or all of them, on labelled test data.

    Answers are those of `classic predict`. Two macro-F1 are given: over the classes that occur in truth or answers (the
    paper's), and over the classes the data really has, where a stray answer is simply an error.

    Example:
        classic evaluate reviews.store camera=camera_test.csv phone=phone_test.csv --all-versions
    """
    from classic.data import read_examples
    from classic.data.tasks import split_files
    from classic.store.store import Store

    opened = Store.open(store)
    sets = {}
    for entry in data:
        name, separator, path = entry.partition("=")
        file = Path(path if separator else entry)
        if file.is_dir():
            files = split_files(file)
            if "test" not in files:
                raise InputError(f"{file} has no test file", fix="give the file itself")
            file = files["test"]
        sets[name if separator else file.stem] = read_examples(file)
    where = prepare_torch(threads, device)
    from classic.evaluation.scores import score
    from classic.learning.learner import load_learner
    from classic.learning.testing import confusion

    numbers = [v.number for v in opened.chain(version)] if every else [opened.current if version is None else version]
    found: dict[int, dict[str, Any]] = {}
    for number in numbers:
        learner = load_learner(opened, number, where)
        if not learner.domains:
            raise InputError(f"{store} has not learned any domain yet", fix="teach it one with `classic learn`")
        counted = {name: confusion(learner, name, examples, clauses=not whole) for name, examples in sets.items()}
        if save:
            opened.write_scores(number, opened.read_scores(number) | counted)
        found[number] = {name: score(pairs) for name, pairs in counted.items()}
    if as_json:
        print_json(found)
        return
    _show(found, {name: len(examples) for name, examples in sets.items()})


def _show(found: dict[int, dict[str, Any]], sizes: dict[str, int]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    for number, scores in found.items():
        table = Table(title=f"version {number}", title_justify="left")
        for column in ("data", "examples", "accuracy", "macro-F1", "own F1"):
            table.add_column(column, justify="left" if column == "data" else "right")
        rows = [(name, str(sizes[name]), score) for name, score in scores.items()]
        for name, size, score in rows:
            table.add_row(Text(name), size, *(f"{score[key]:.4f}" for key in ("accuracy", "macro_f1", "own_f1")))
        if len(rows) > 1:
            means = [sum(score[key] for _, _, score in rows) / len(rows) for key in ("accuracy", "macro_f1", "own_f1")]
            table.add_section()
            table.add_row("mean", "", *(f"{mean:.4f}" for mean in means), style="bold")
        Console().print(table)
