"""`classic evaluate`: score a store on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.cli.options import AsJson, ColumnNames, Device, Stars, Threads, prepare_torch, print_json, read_columns
from classic.data.readers import Columns
from classic.errors import InputError, unknown_name
from classic.types import POLARITIES, Example

if TYPE_CHECKING:
    from classic.runtime.answering import Answering

_METRICS = {"accuracy": "accuracy", "macro_f1": "macro-F1", "own_f1": "own F1"}


def evaluate(
    store: Annotated[
        Path,
        typer.Argument(
            help="Folder of the store, or a folder that `classic export` wrote.", metavar="STORE", show_default=False
        ),
    ],
    data: Annotated[
        list[str],
        typer.Argument(
            help="Labelled data, as NAME=PATH (NAME is the domain) or just PATH. A folder's test file is used, under the "
            "folder's name.",
            metavar="[NAME=]PATH",
            show_default=False,
        ),
    ],
    version: Annotated[int | None, typer.Option(help="Score an older version.", show_default=False)] = None,
    every: Annotated[
        bool, typer.Option("--all-versions", help="Score every version, for the report's heat map.")
    ] = False,
    save: Annotated[
        bool, typer.Option(help="Keep the scores (numbers only) in the store, for `classic report`.")
    ] = True,
    column: ColumnNames = None,
    stars: Stars = None,
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a store or an exported folder on labelled test data: scores with intervals, every class, the confusions.

    NAME is a learned domain; data of no learned domain is given as PATH alone. Answers are those of `classic predict`.
    Two macro-F1 are given: over the classes that occur in truth or answers (the paper's), and over the classes the data
    really has, where a stray answer is simply an error.

    For instance:

        classic evaluate reviews.store camera=camera_test.csv phone=phone_test.csv --all-versions
    """
    sets = _read_sets(data, read_columns(column, stars))
    from classic.runtime.folder import is_exported

    if is_exported(store):
        if every or version is not None:
            raise InputError("an exported folder holds one version", fix="leave the option out, or name the store")
        found = _score_export(store, sets, threads)
    else:
        found = _score_store(store, sets, version, every, save, prepare_torch(threads, device))
    if as_json:
        print_json(found)
        return
    show_scores(found)


def _read_sets(data: list[str], columns: Columns) -> dict[str, tuple[bool, list[Example]]]:
    """The examples by name, each with whether the name was given as that of a domain."""
    from classic.data import read_examples
    from classic.data.tasks import scored_file

    sets: dict[str, tuple[bool, list[Example]]] = {}
    for entry in data:
        name, separator, path = entry.partition("=")
        file = Path(path if separator else entry)
        own = file.stem
        if file.is_dir():
            own = file.resolve().name  # many a folder's file is called test
        key = name if separator else own
        if key in sets:
            raise InputError(
                f"two sets are called {key!r}",
                fix="rename a file or folder; data of a learned domain is given as NAME=PATH",
            )
        sets[key] = (bool(separator), read_examples(scored_file(file), columns=columns))
    return sets


def _refuse_unknown(sets: dict[str, tuple[bool, list[Example]]], domains: list[str]) -> None:
    for name, (named, _) in sets.items():
        if named and name not in domains:
            error = unknown_name("domain", name, domains)
            raise InputError(error.what, fix=f"{error.fix}; data of no learned domain is given as PATH, without a name")


def _refuse_untold(sets: dict[str, tuple[bool, list[Example]]], number: int, domains: list[str]) -> None:
    for name in sets:
        if name not in domains:
            raise InputError(
                f"version {number} must be told the domain of each set, and {name!r} is none it has learned",
                fix=f"give NAME=PATH; it knows {', '.join(domains)}",
            )


def _score_export(
    folder: Path, sets: dict[str, tuple[bool, list[Example]]], threads: int | None
) -> dict[int, dict[str, Any]]:
    from classic.cli.progress import RowProgress
    from classic.evaluation.details import detail
    from classic.prediction.testing import count_answers
    from classic.runtime import ExportedPredictor

    predictor = ExportedPredictor(folder, threads)
    _refuse_unknown(sets, predictor.domains)
    found: dict[str, Any] = {}
    with RowProgress() as progress:
        for name, (_, examples) in sets.items():
            progress.begin(f"testing {name}", len(examples))
            counted = count_answers(predictor, examples, predictor.card.domain, on_answer=progress.at)
            found[name] = detail(counted) | _found(predictor, examples, predictor.card.domain)
    return {predictor.version: found}


def _score_store(
    store: Path,
    sets: dict[str, tuple[bool, list[Example]]],
    version: int | None,
    every: bool,
    save: bool,
    device: str,
) -> dict[int, dict[str, Any]]:
    from classic.cli.progress import RowProgress
    from classic.evaluation.details import detail
    from classic.learning.testing import confusion
    from classic.prediction.predictor import Predictor
    from classic.prediction.testing import count_answers
    from classic.store.store import Store
    from classic.types import Scenario, TaskId

    opened = Store.open(store)
    if not opened.domains():
        raise InputError(f"{store} has not learned any domain yet", fix="teach it one with `classic learn`")
    _refuse_unknown(sets, opened.domains())
    numbers = [v.number for v in opened.chain(version)] if every else [opened.current if version is None else version]
    found: dict[int, dict[str, Any]] = {}
    with RowProgress() as progress:
        for number in numbers:
            progress.begin(f"opening version {number}", None)
            predictor = Predictor.open(opened, number, device)
            told = predictor.learner.config.scenario is Scenario.TIL
            if told:
                _refuse_untold(sets, number, opened.domains() if every else predictor.domains)
            counted = {}
            for name, (_, examples) in sets.items():
                progress.begin(f"version {number}: testing {name}", len(examples))
                if predictor.learner.config.task_id is TaskId.ENTROPY:  # only asked for in experiments
                    counted[name] = confusion(predictor.learner, name, examples)
                elif not told or name in predictor.domains:
                    counted[name] = count_answers(predictor, examples, name if told else None, on_answer=progress.at)
            if save:
                opened.write_scores(number, opened.read_scores(number) | counted)
            found[number] = {
                name: detail(pairs) | _found(predictor, sets[name][1], name if told else None)
                for name, pairs in counted.items()
            }
    return found


def _found(predictor: Answering, examples: list[Example], domain: str | None) -> dict[str, Any]:
    """How well aspects are found without being named, where there is a finder."""
    from classic.prediction.testing import count_found

    return {"finder": count_found(predictor, examples, domain)} if predictor.finds else {}


def show_scores(found: dict[int, dict[str, Any]]) -> None:
    """Prints the scores of every version, and of the last one the classes and the confusions as well."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for number, scores in found.items():
        caption = "95 % intervals in brackets"
        table = Table(  # fits 80 columns
            title=f"version {number}", title_justify="left", caption=caption, show_edge=False, pad_edge=False
        )
        for column in ("data", "examples", *_METRICS.values()):
            table.add_column(column, justify="left" if column == "data" else "right")
        for name, score in scores.items():
            cells = (_with_interval(score, metric) for metric in _METRICS)
            table.add_row(Text(name), str(score["examples"]), *cells)
        if len(scores) > 1:
            means = [sum(score[key] for score in scores.values()) / len(scores) for key in _METRICS]
            table.add_section()
            table.add_row("mean", "", *(f"{mean:.3f}" for mean in means), style="bold")
        console.print(table)
        _show_found({name: score["finder"] for name, score in scores.items() if "finder" in score})
    last = found[max(found)] if found else {}
    for name, score in last.items():
        title = Text(f"\n{name}: classes and confusions")
        table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)  # fits 80 columns
        table.add_column("true")
        for column in ("examples", "precision", "recall", "F1", *(f"said\n{polarity}" for polarity in POLARITIES)):
            table.add_column(column, justify="right")
        for polarity in POLARITIES:
            if str(polarity) in score["classes"]:
                own = score["classes"][str(polarity)]
                shares = (f"{own[key]:.3f}" for key in ("precision", "recall", "f1"))
                table.add_row(polarity, str(own["examples"]), *shares, *map(str, score["confusion"][polarity.column]))
        console.print(table)


def _show_found(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not found:
        return
    table = Table(
        title="aspects found by itself, exact match",
        title_justify="left",
        caption="pair: aspect and polarity; unlabelled finds are errors",
    )
    for column in ("data", "aspects", "precision", "recall", "F1", "pair F1"):
        table.add_column(column, justify="left" if column == "data" else "right")
    for name, own in found.items():
        shares = (f"{own['aspects'][key]:.3f}" for key in ("precision", "recall", "f1"))
        table.add_row(Text(name), str(own["aspects"]["true"]), *shares, f"{own['pairs']['f1']:.3f}")
    Console().print(table)


def _with_interval(score: dict[str, Any], metric: str) -> str:
    low, high = score["intervals"][metric]
    return f"{score[metric]:.3f} ({low:.2f}-{high:.2f})"
