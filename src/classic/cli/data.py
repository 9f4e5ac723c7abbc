"""``classic data``: look at data, check them, convert them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from classic.cli.options import ColumnNames, Stars, read_columns
from classic.data import (
    DEMO_DOMAINS,
    DOMAINS,
    Finding,
    Note,
    Report,
    check,
    data_root,
    iter_rows,
    load_demo,
    load_task,
    read_orders,
    write_examples,
)
from classic.data.check import is_benchmark_root
from classic.data.starter import load_starter, starter_domains
from classic.data.tasks import SPLITS
from classic.data.writers import WRITABLE
from classic.errors import InputError, unknown_name
from classic.evaluation import accuracy, macro_f1
from classic.types import POLARITIES, Example, Polarity, Task

app = typer.Typer(help="Look at data, check them, convert them.", no_args_is_help=True)

PAPER_DATA = "asc19"
GOLDEN = {"always-positive": (0.7123, 0.3961), "train-majority": (0.7206, 0.4001)}
"""Accuracy and macro-F1 on the 19 test sets; both are printed in the paper, for systems that learned nothing."""

_SHOWN_PER_KIND = 3
_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@app.command("check")
def check_command(
    path: Annotated[
        str,
        typer.Argument(
            help="A file, a folder with train/dev/test files, or 'asc19' for the paper's data.", metavar="PATH"
        ),
    ],
    as_json: JsonOption = False,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Show the sentences too. They stay hidden otherwise.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail the check as well.")] = False,
    column: ColumnNames = None,
    stars: Stars = None,
) -> None:
    """Look for leaks, duplicates, contradictions, missing classes and unreadable lines.

    For the paper's data all 57 splits are compared with the paper's counts, and the metric is compared with two known
    results: always answering "positive", and each domain's most frequent training label.

    Exit code 0 means usable, 2 means errors were found (with --strict: or warnings).

    For instance:

        classic data check camera.csv

        classic data check phones/ --strict
    """
    root = data_root() if path == PAPER_DATA and not Path(path).exists() else Path(path)
    report = check(root, show_text=show_text, columns=read_columns(column, stars))
    golden = _golden_metrics(root) if is_benchmark_root(root) and not report.errors else {}
    wrong = [name for name, scores in golden.items() if not _as_known(scores)]
    if as_json:
        typer.echo(json.dumps({**asdict(report), "baselines": golden}, ensure_ascii=True, allow_nan=False))
    else:
        _print_report(report, golden)
    if report.errors or wrong or (strict and report.warnings):
        raise typer.Exit(2)


@app.command()
def domains(as_json: JsonOption = False) -> None:
    """List the 19 domains of the paper with their numbers of examples."""
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in DOMAINS]))
        return
    table = Table(title="The 19 domains of the paper: positive / negative / neutral examples")
    for title in ("domain", "source", "folder"):
        table.add_column(title)
    for split in SPLITS:
        table.add_column(split, justify="right")
    for entry in DOMAINS:
        numbers = (" / ".join(map(str, counts)) for counts in entry.counts.values())
        table.add_row(entry.name, entry.source, entry.folder, *numbers)
    Console().print(table)


@app.command()
def orders(as_json: JsonOption = False) -> None:
    """List the 20 task orders of the authors; the paper used the first five (0 to 4)."""
    known = read_orders()
    if as_json:
        typer.echo(json.dumps(known))
        return
    table = Table(title="Orders in which the domains are learned")
    table.add_column("order", justify="right")
    table.add_column("domains")
    for index, names in enumerate(known):
        table.add_row(str(index), " → ".join(names), style="" if index < 5 else "dim")
    Console().print(table)


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A data file in any known format.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Ends in .csv, .tsv or .jsonl.")],
    raw: Annotated[
        bool, typer.Option("--raw", help="Do not guard CSV cells against being run as formulas by a spreadsheet.")
    ] = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Allow examples without polarity.")] = False,
    column: ColumnNames = None,
    stars: Stars = None,
    force: ForceOption = False,
) -> None:
    """Convert a data file of any known format to CSV, TSV or JSONL.

    Known formats: CSV, TSV, JSONL, Excel, Parquet, SemEval-2014/15/16 XML, Hu & Liu annotations (also inside a zip:
    FILE.zip/MEMBER), the authors' JSON, PyABSA blocks, ASTE and quad lines, told apart by their content.

    In CSV a quote is put before cells that begin with = + - @, tab or line end, so that no spreadsheet
    runs them as formulas. JSONL, and CSV with --raw, keep every text as it is.

    For instance:

        classic data convert restaurants.xml restaurants.csv

        classic data convert new_reviews.xlsx new_reviews.jsonl --unlabelled

        classic data convert shop.csv shop.jsonl --column aspect=feature --column polarity=stars --stars 2:4
    """
    _refuse_existing([target], force, source)
    columns = read_columns(column, stars)
    notes: list[Note] = []
    count = 0

    def examples() -> Iterator[Example]:
        nonlocal count
        for row in iter_rows(source, not unlabelled, notes=notes, columns=columns):
            count += 1
            yield row.example

    guarded = write_examples(examples(), target, raw=raw)
    console = Console(stderr=True)
    console.print(Text(f"{count} example{'' if count == 1 else 's'} written to {target}"))
    for kind, number in sorted(Counter(note.kind for note in notes).items()):
        console.print(Text(f"{number} left out: {kind}", style="yellow"))
    if guarded:
        console.print(Text(f"{guarded} guarded with a quote; .jsonl or --raw keeps the text exactly", style="yellow"))


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="OUT_DIR", help="Is made if it does not exist.")],
    force: ForceOption = False,
) -> None:
    """Write the six demo domains as CSV files to play with: OUT_DIR/DOMAIN/{train,valid,test}.csv."""
    _refuse_existing(_targets(folder, DEMO_DOMAINS), force)
    for name in DEMO_DOMAINS:
        _write_task(load_demo(name), folder / name, "csv")
    Console(stderr=True).print(Text(f"{len(DEMO_DOMAINS)} domains written to {folder}"))


@app.command()
def starter(
    folder: Annotated[Path, typer.Argument(metavar="OUT_DIR", help="Is made if it does not exist.")],
    form: Annotated[str, typer.Option("--format", help="jsonl, csv or tsv.")] = "jsonl",
    force: ForceOption = False,
) -> None:
    """Write the starter corpus: 36 everyday domains, free for all uses (CC0), as OUT_DIR/DOMAIN/all.jsonl."""
    if f".{form}" not in WRITABLE:
        raise unknown_name("format", form, [suffix.removeprefix(".") for suffix in WRITABLE])
    files = {domain: folder / domain / f"all.{form}" for domain in starter_domains()}
    _refuse_existing(list(files.values()), force)
    count = 0
    for domain, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        examples = [example for sentence in load_starter(domain) for example in sentence.examples]
        write_examples(examples, file)
        count += len(examples)
    Console(stderr=True).print(Text(f"{count} examples of {len(files)} domains written to {folder}"))


@app.command()
def split(
    path: Annotated[str, typer.Argument(help="One data file in any known format.", metavar="FILE")],
    folder: Annotated[Path, typer.Argument(metavar="OUT_DIR", help="Is made if it does not exist.")],
    seed: Annotated[int, typer.Option(help="Another seed gives another split.")] = 0,
    column: ColumnNames = None,
    stars: Stars = None,
    force: ForceOption = False,
) -> None:
    """Split one file 80/10/10 into OUT_DIR/{train,valid,test}.jsonl.

    All aspects of a sentence stay together, and the polarities are spread as evenly as that allows.
    The split depends on the content and the seed only, not on the order of the lines.

    For instance:

        classic data split camera.csv camera/
    """
    if Path(path).is_dir():
        raise InputError(
            f"{path!r} is a folder", fix="give one file; a folder with train and test files is split already"
        )
    _refuse_existing([folder / f"{part}.jsonl" for part in SPLITS], force)
    task = load_task(folder.name, path, seed=seed, columns=read_columns(column, stars))
    _write_task(task, folder, "jsonl")
    sizes = ", ".join(f"{len(examples)} {part}" for part, examples in _parts(task))
    Console(stderr=True).print(Text(f"{sizes} examples written to {folder}"))


def _parts(task: Task) -> list[tuple[str, tuple[Example, ...]]]:
    return list(zip(SPLITS, (task.train, task.valid, task.test), strict=True))


def _targets(folder: Path, names: Sequence[str]) -> list[Path]:
    return [folder / name / f"{part}.csv" for name in names for part in SPLITS]


def _write_task(task: Task, folder: Path, suffix: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {str(folder)!r} ({error.strerror})", fix="choose another") from error
    for part, examples in _parts(task):
        write_examples(examples, folder / f"{part}.{suffix}")


def _refuse_existing(targets: Sequence[Path], force: bool, source: str | None = None) -> None:
    for target in targets:
        if source is not None and target.exists() and target.samefile(source):
            raise InputError("IN and OUT are the same file", fix="choose another name for OUT")
        if target.exists() and not force:
            raise InputError(f"{str(target)!r} exists already", fix="choose another name, or add --force to replace it")


def _golden_metrics(root: Path) -> dict[str, dict[str, float]]:
    """Two predictors whose scores on the paper's test sets are known: if these differ, data or metric are wrong."""
    tasks = [load_task(entry.name, root / entry.folder) for entry in DOMAINS]
    answers = {
        "always-positive": [Polarity.POSITIVE for _ in tasks],
        "train-majority": [_majority(task) for task in tasks],
    }
    result: dict[str, dict[str, float]] = {}
    for name, labels in answers.items():
        scores = [_constant_score(task, label) for task, label in zip(tasks, labels, strict=True)]
        result[name] = {
            "accuracy": round(sum(score[0] for score in scores) / len(scores), 4),
            "macro_f1": round(sum(score[1] for score in scores) / len(scores), 4),
            "expected_accuracy": GOLDEN[name][0],
            "expected_macro_f1": GOLDEN[name][1],
        }
    return result


def _as_known(scores: Mapping[str, float]) -> bool:
    return all(scores[key] == scores[f"expected_{key}"] for key in ("accuracy", "macro_f1"))


def _majority(task: Task) -> Polarity:
    counts = Counter(example.polarity for example in task.train)
    return max(POLARITIES, key=lambda polarity: counts[polarity])


def _constant_score(task: Task, label: Polarity) -> tuple[float, float]:
    truth = [example.polarity for example in task.test]
    predicted = [label] * len(truth)
    return accuracy(truth, predicted), macro_f1(truth, predicted)


def _print_report(report: Report, golden: Mapping[str, Mapping[str, float]]) -> None:
    console = Console()
    table = Table(title=Text(f"Examples in {report.name}"))
    table.add_column("domain")
    table.add_column("split")
    for title in (*POLARITIES, "examples", "sentences"):
        table.add_column(title, justify="right")
    for count in report.counts:
        numbers = (count.positive, count.negative, count.neutral, count.examples, count.sentences)
        table.add_row(Text(count.domain), count.split, *map(str, numbers))
    console.print(table)
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in sorted(report.findings, key=lambda each: list(_STYLES).index(each.severity)):
        kinds.setdefault((finding.severity, finding.kind), []).append(finding)
    for (severity, kind), findings in kinds.items():
        console.print(Text(f"{severity}: {kind} ({len(findings)})", style=_STYLES[severity]))
        for finding in findings[: len(findings) if severity == "error" else _SHOWN_PER_KIND]:
            console.print(Text(f"    {_place(finding)}: {finding.message}"))
            if finding.text is not None:
                console.print(Text(f"        {_printable(finding.text)}", style="italic"))
        if severity != "error" and len(findings) > _SHOWN_PER_KIND:
            console.print(Text(f"    and {len(findings) - _SHOWN_PER_KIND} more; --json lists all", style="dim"))
    for name, scores in golden.items():
        known = f"{scores['expected_accuracy']:.4f} / {scores['expected_macro_f1']:.4f}"
        found = f"{scores['accuracy']:.4f} / {scores['macro_f1']:.4f}"
        console.print(
            Text(
                f"{name}: accuracy / macro-F1 {found}, known {known}",
                style="green" if _as_known(scores) else "bold red",
            )
        )
    console.print(Text(f"{_counted(report.errors, 'error')}, {_counted(report.warnings, 'warning')}"))


def _place(finding: Finding) -> str:
    line = "" if finding.line is None else f":{finding.line}"
    return f"{finding.domain}/{finding.split}{line}"


def _printable(text: str) -> str:
    """Control characters in a review must not reach the terminal as commands."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
