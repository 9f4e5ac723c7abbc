"""`classic predict`: ask a store about sentences."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from classic.cli.options import AsJson, Device, StorePath, Threads, prepare_torch
from classic.data.writers import safe_cell
from classic.errors import DataError, InputError
from classic.types import Example, Prediction, make_example

_COLUMNS = (
    *("sentence", "aspect", "polarity", "positive", "negative", "neutral"),
    *("nearest_domain", "unfamiliar", "truncated", "version", "start", "end"),
)


def predict(
    store: StorePath,
    text: Annotated[
        str | None,
        typer.Argument(
            help="A sentence; or a file of sentences and aspects in any format `learn` reads (labels are not needed); or "
            "- for JSON lines from standard input.",
            metavar="[SENTENCE|FILE|-]",
            show_default=False,
        ),
    ] = None,
    aspect: Annotated[
        list[str] | None,
        typer.Option(help="Aspect term in the sentence. May be repeated.", show_default=False),
    ] = None,
    span: Annotated[
        list[str] | None,
        typer.Option(help="Aspect as START:END characters of the sentence. May be repeated.", show_default=False),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="The domain; only in a store that learns task-incrementally.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write to a file: .jsonl or .csv. Default: standard output.", show_default=False
        ),
    ] = None,
    form: Annotated[str | None, typer.Option("--format", help="jsonl or csv.", show_default=False)] = None,
    version: Annotated[int | None, typer.Option(help="Ask an older version.", show_default=False)] = None,
    batch_size: Annotated[
        int, typer.Option(help="Examples computed at once; 1 answers standard input line by line.", min=1)
    ] = 32,
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say positive, negative or neutral for each aspect; nobody needs to say the domain.

    Files and standard input are streamed: memory stays flat and answers come as they are found.

    Examples:
        classic predict reviews.store "The zoom is superb but the menu is a maze." --aspect zoom --aspect menu

        classic predict reviews.store new_reviews.csv -o answers.csv

        cat lines.jsonl | classic predict reviews.store - > answers.jsonl
    """
    if text is None:
        if sys.stdin.isatty():
            raise InputError(
                "nothing to predict", fix='give a sentence with --aspect, a file, or "-" for standard input'
            )
        text = "-"
    is_file = text != "-" and not aspect and not span and Path(text).is_file()
    form = _form(form, out)
    if is_file and out is not None and out.exists() and out.samefile(text):
        raise InputError("input and output are the same file", fix="choose another name for --out")
    examples = _examples(text, aspect or [], span or [], is_file)

    from classic.store import Store

    opened = Store.open(store)
    where = prepare_torch(threads, device)
    from classic.inference import Predictor

    predictor = Predictor.open(opened, version, where)
    # On the other side of a pipe somebody may be waiting for an answer before asking again.
    window = batch_size if text == "-" else None
    answers = predictor.stream(examples, domain=domain, batch_size=batch_size, window=window)
    if out is None and form is None and not as_json and (aspect or span):
        _show(list(answers))
        return
    if out is None:
        _write(answers, sys.stdout, form or "jsonl")
        return
    # Written beside the target and renamed, so that an error in the middle leaves what was there before.
    partial = out.with_name(f".{out.name}.partial")
    try:
        with partial.open("w", newline="", encoding="utf-8") as handle:
            _write(answers, handle, form or "jsonl")
        partial.replace(out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}", fix="choose another place") from None
    finally:
        partial.unlink(missing_ok=True)
    typer.echo(f"wrote {out}", err=True)


def _form(form: str | None, out: Path | None) -> str | None:
    if form is None and out is not None:
        form = out.suffix.removeprefix(".").lower()
    if form not in (None, "jsonl", "csv"):
        raise InputError(f"output format {form!r}", fix="use jsonl or csv")
    return form


def _examples(text: str, aspects: list[str], spans: list[str], is_file: bool) -> Iterable[Example]:
    if text == "-":
        return _from_standard_input()
    if is_file:
        from classic.data.readers import iter_rows

        return (row.example for row in iter_rows(text, labelled=False))
    if not aspects and not spans:
        looks_like_path = "/" in text or Path(text).suffix in {".csv", ".tsv", ".jsonl", ".json", ".xml", ".parquet"}
        if looks_like_path and " " not in text:
            raise InputError(f"there is no file {text!r}", fix="check the path")
        raise InputError("no aspect given", fix="say which aspect is meant, e.g. --aspect battery")
    return _from_options(text, aspects, spans)


def _from_options(sentence: str, aspects: list[str], spans: list[str]) -> list[Example]:
    places: list[str | tuple[int, int]] = list(aspects)
    for entry in spans:
        start, separator, end = entry.partition(":")
        if not separator or not start.isdigit() or not end.isdigit():
            raise InputError(f"span {entry!r}", fix="write START:END, e.g. 4:11")
        places.append((int(start), int(end)))
    return [make_example(sentence, place) for place in places]


def _from_standard_input() -> Iterator[Example]:
    """JSON lines, as they come."""
    from classic.data.readers.jsonl import parse_line

    place = "<standard input>"
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise DataError("not UTF-8", path=place, line=number, expected="JSON lines in UTF-8") from None
        for row in parse_line(line.rstrip("\r\n"), number, place, labelled=False):
            yield row.example


def _record(answer: Prediction) -> dict[str, Any]:
    return {
        "sentence": answer.sentence,
        "aspect": answer.aspect,
        "span": list(answer.span) if answer.span else None,
        "polarity": str(answer.polarity),
        "positive": round(answer.probabilities[0], 6),
        "negative": round(answer.probabilities[1], 6),
        "neutral": round(answer.probabilities[2], 6),
        "nearest_domain": answer.nearest_domain,
        "unfamiliar": answer.unfamiliar,
        "truncated": answer.truncated,
        "version": answer.version,
    }


def _write(answers: Iterator[Prediction], handle: TextIO, form: str) -> None:
    if form == "jsonl":
        for answer in answers:
            handle.write(json.dumps(_record(answer), ensure_ascii=False) + "\n")
            handle.flush()
        return
    writer = csv.DictWriter(handle, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for answer in answers:
        record = _record(answer)
        span = record.pop("span")
        record |= {"start": span[0] if span else "", "end": span[1] if span else ""}
        # A spreadsheet must not take a review for a formula.
        writer.writerow({key: safe_cell(value) if isinstance(value, str) else value for key, value in record.items()})


def _show(answers: list[Prediction]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"positive": "green", "negative": "red", "neutral": "yellow"}
    table = Table(show_edge=False)
    for column in ("aspect", "polarity", "positive", "negative", "neutral", "resembles"):
        table.add_column(column, justify="right" if column in colours else "left")
    for answer in answers:
        shares = [f"{share:.1%}" for share in answer.probabilities]
        resembles = answer.nearest_domain + (" (unlike anything learned)" if answer.unfamiliar else "")
        table.add_row(
            Text(answer.aspect),
            Text(answer.polarity, style=f"bold {colours[answer.polarity]}"),
            *shares,
            Text(resembles),
        )
    Console().print(table)
    if any(answer.truncated for answer in answers):
        typer.echo("note: the sentence is too long; only its beginning was read", err=True)
