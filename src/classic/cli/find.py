"""`classic find`: reviews in, opinions out; nobody names the aspects."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.cli.answerers import answers_format, opener
from classic.cli.options import (
    AnswersFormat,
    AnswersOut,
    AsJson,
    BatchSize,
    Device,
    MinConfidence,
    OldVersion,
    StarterEncoder,
    Threads,
    ToldDomain,
    is_file,
    is_folder,
)
from classic.data.readers.source import ENDINGS, meant_file
from classic.errors import InputError
from classic.types import Found

if TYPE_CHECKING:
    from classic.runtime.answering import Answering

_Asked = tuple[Mapping[str, object], str]
"""What comes back beside an answer, and the text."""
_MOST_WORDS = 5  # of a file's name; a longer text that ends in one is a sentence about a file
_COLOURS = {"positive": "green", "negative": "red", "neutral": "yellow"}


def find(
    store: Annotated[
        str,  # a review that became a path would lose a slash of every two
        typer.Argument(
            help="Folder of the store, or a folder that `classic export` wrote. Without either, a review or a file is "
            "answered by the starter that comes with the package.",
            metavar="STORE|TEXT|FILE",
            show_default=False,
        ),
    ],
    text: Annotated[
        str | None,
        typer.Argument(
            help="A review; or a file of them, a row for each: CSV, TSV, JSONL, Parquet, Excel, or text with a review per "
            "line; or - for standard input: a review per line, or JSONL.",
            metavar="TEXT|FILE|-",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--text", help="Column of the reviews. Default: found by name or length.", show_default=False),
    ] = None,
    min_confidence: MinConfidence = 0.5,
    out: AnswersOut = None,
    form: AnswersFormat = None,
    domain: ToldDomain = None,
    version: OldVersion = None,
    encoder: StarterEncoder = None,
    batch_size: BatchSize = 32,
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the aspects of reviews, and what is said about each.

    A line per aspect: its place in the review, how certain it is that it is one, and its polarity. A review without any
    gets one empty line, so that none is lost. Every column of the input comes back; killed while it writes a file, the same
    command goes on where it was.

    For instance:

        classic find "The zoom is superb but the menu is a maze."

        classic find reviews.store reviews.csv -o opinions.csv --min-confidence 0.7
    """
    own, asked = (None, store) if text is None else (Path(store), text)
    form = answers_format(form, out, as_json)
    source = Path(asked) if asked != "-" and is_file(asked) else None
    if source is None and asked != "-":
        _refuse_path(asked, alone=text is None)
    if source and out is not None and out.exists() and out.samefile(source):
        raise InputError("input and output are the same file", fix="choose another name for --out")
    told = domain is not None
    open_predictor, job = opener(own, version, threads, device, told=told, finding=True, encoder=encoder)
    how: dict[str, Any] = {"min_confidence": min_confidence, "domain": domain, "batch_size": batch_size}
    if source:
        _find_in_file(source, column, out, form or "jsonl", open_predictor, job, how)
        return
    if out is not None:
        raise InputError("--out is for files", fix="give a file of reviews, or leave --out out")
    predictor = open_predictor()
    if asked == "-" or form or as_json:
        rows = _from_standard_input(column) if asked == "-" else iter([({}, asked)])
        _print(rows, predictor, form or "jsonl", how)
    else:
        show_found(predictor.find([asked], **how)[0], min_confidence)


def _refuse_path(asked: str, *, alone: bool) -> None:
    if not asked.strip():
        raise InputError("the review is empty", fix="write one between the quotes, or name a file")
    if alone and is_folder(asked):
        raise InputError("no review given", fix=f'write: classic find {asked} "The zoom is superb."')
    refuse_missing(asked)


def refuse_missing(text: str) -> None:
    """Refuses what is no sentence but a folder, or the path of a file that is not there."""
    if is_folder(text):
        raise InputError(f"{text!r} is a folder", fix="give a sentence, or name a file inside the folder")
    words = text.split()
    if not words or len(words) > _MOST_WORDS:
        return
    ends = Path(words[-1]).suffix.casefold() in ENDINGS
    # A word that ends as sentences do names no file.
    close = meant_file(Path(text.strip())) if ends or (len(words) == 1 and words[0][-1].isalnum()) else None
    if close or ends or (len(words) == 1 and "/" in text and text.rstrip()[-1] not in ".!?"):
        fix = f"did you mean {str(close)!r}?" if close else "check the path."
        raise InputError(f"there is no file {text!r}", fix=f"{fix} If it is a sentence, end it with a full stop")


def _from_standard_input(column: str | None) -> Iterator[_Asked]:
    """Lines of standard input: JSON objects as in a file of them, or else a review each, with the number of its line.

    The first line says which. A review may begin with a brace, so only a whole object is one.
    """
    from classic.data.readers.source import decode
    from classic.data.readers.tables import parse_fields
    from classic.summary.columns import choose_columns

    place = "<standard input>"
    raw = sys.stdin.buffer.readline()
    if not raw:
        return
    first = decode(raw, place)
    rest = (decode(raw, place, number) for number, raw in enumerate(sys.stdin.buffer, start=2))
    lines = ((number, line.rstrip("\r\n")) for number, line in enumerate(itertools.chain([first], rest), start=1))
    try:
        fields = parse_fields(first, 1, place)
    except InputError:
        yield from (({"line": number}, line) for number, line in lines)
        return
    chosen = choose_columns([fields], column, "", "").text
    for number, line in lines:
        if line.strip():
            fields = parse_fields(line, number, place)
            yield fields, "" if fields.get(chosen) is None else str(fields[chosen])


def _print(rows: Iterator[_Asked], predictor: Answering, form: str, how: dict[str, Any]) -> None:
    """What is found in each text, as soon as it is: somebody may be waiting on the other side of a pipe.

    The columns of CSV are those of the first row.
    """
    from classic.runtime.found_records import found_columns, found_lines
    from classic.runtime.records import header

    ahead = list(itertools.islice(rows, 1))
    columns = found_columns(ahead[0][0] if ahead else ())
    sys.stdout.write(header(form, columns))
    for fields, text in itertools.chain(ahead, rows):
        (found,) = predictor.find([text], **how)
        sys.stdout.write(found_lines([(fields, found)], form, columns))
        sys.stdout.flush()


def _find_in_file(
    source: Path,
    column: str | None,
    out: Path | None,
    form: str,
    open_predictor: Callable[[], Answering],
    job: dict[str, Any],
    how: dict[str, Any],
) -> None:
    from classic.cli.progress import RowProgress
    from classic.data.readers.tables import iter_table
    from classic.prediction.bulk import describe_input
    from classic.prediction.found_files import CHUNK, find_file, find_in_rows
    from classic.runtime.found_records import found_columns, found_lines
    from classic.runtime.records import header

    names, total, column = _survey(source, column)
    rows: Iterator[dict[str, object]] = (fields for _, fields in iter_table(source))
    if out is None:
        predictor = open_predictor()
        columns = found_columns(names)
        sys.stdout.write(header(form, columns))
        while ahead := list(itertools.islice(rows, CHUNK)):
            sys.stdout.write(found_lines(find_in_rows(predictor, ahead, column, **how), form, columns))
            sys.stdout.flush()
        return
    asked = job | {"input": describe_input(source), **how, "find": True}
    with RowProgress() as progress:
        progress.begin("loading the model", total)

        def on_start(done: int) -> None:
            progress.begin("finding aspects", total, done)

        try:
            predictor = open_predictor()
            find_file(rows, out, form, predictor, column, names, asked, on_chunk=progress.at, on_start=on_start, **how)
        except KeyboardInterrupt:
            typer.echo("\nWhat is written so far is kept; the same command goes on.", err=True)
            raise
    typer.echo(f"wrote {out}: aspects of {total:,} review{'' if total == 1 else 's'} from column {column!r}", err=True)


def _survey(source: Path, column: str | None) -> tuple[list[str], int, str]:
    """All columns of a file, its number of rows, and the column of the reviews; a bad file is refused before any work."""
    from classic.data.readers.tables import iter_table
    from classic.summary.columns import SAMPLE, choose_columns

    rows = (fields for _, fields in iter_table(source))
    head = list(itertools.islice(rows, SAMPLE))
    chosen = choose_columns(head, column, "", "").text
    names: dict[str, None] = {}
    total = 0
    for fields in itertools.chain(head, rows):
        total += 1
        names.update(dict.fromkeys(fields))
    return list(names), total, chosen


def show_found(found: Sequence[Found], min_confidence: float) -> None:
    """A table of what was found in one text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not found:
        typer.echo(f"no aspect found with a confidence of at least {min_confidence:g}")
        return
    table = Table(show_edge=False)
    for name in ("aspect", "place", "confidence", "polarity", *_COLOURS):
        table.add_column(name, justify="left" if name in ("aspect", "place", "polarity") else "right")
    for each in found:
        answer = each.prediction
        table.add_row(
            Text(each.aspect),
            f"{each.start}:{each.end}",
            f"{each.confidence:.0%}",
            Text(answer.polarity, style=f"bold {_COLOURS[answer.polarity]}"),
            *(f"{share:.1%}" for share in answer.probabilities),
        )
    Console().print(table)


def print_found(found: Sequence[Found], form: str) -> None:
    """The same as JSON lines or CSV."""
    from classic.runtime.found_records import found_columns, found_lines
    from classic.runtime.records import header

    columns = found_columns(())
    lines = found_lines([({}, found)], form, columns) if found else ""  # else an empty line for a text without any
    sys.stdout.write(header(form, columns) + lines)
