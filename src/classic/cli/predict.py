"""`classic predict`: ask a store about sentences."""

from __future__ import annotations

import itertools
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classic.cli import completion
from classic.cli.answerers import answers_format, opener
from classic.cli.find import print_found, refuse_missing, show_found
from classic.cli.options import (
    AnswersFormat,
    AnswersOut,
    AsJson,
    ColumnNames,
    Device,
    OldVersion,
    StarterEncoder,
    Threads,
    ToldDomain,
    is_file,
    is_folder,
    read_columns,
)
from classic.cli.predict_files import (
    ON_ERROR,
    Survey,
    check_on_error,
    entries,
    from_standard_input,
    into_file,
    survey,
    tell_bad,
)
from classic.cli.predict_shown import show_answers, show_explained
from classic.data.readers import BadRow, Row
from classic.errors import InputError
from classic.types import Example, example_about

if TYPE_CHECKING:
    from classic.runtime.answering import Answering

_PATH = re.compile(r"/.*[^.!?]$|\w\.\w+$")  # a word with a slash or an ending, unless it ends as sentences do
_LONGEST_SHOWN = 40  # characters of a word that an error repeats


def predict(
    store: Annotated[
        str,  # a sentence that became a path would lose a slash of every two
        typer.Argument(
            help="Folder of the store, or a folder that `classic export` wrote: that needs no torch. Without either, a "
            "sentence or a file is answered by the starter that comes with the package.",
            metavar="STORE|SENTENCE|FILE",
            show_default=False,
        ),
    ],
    text: Annotated[
        str | None,
        typer.Argument(
            help="A sentence; or a file of sentences and aspects in any format `learn` reads (labels are not needed); or "
            "- for JSON lines from standard input.",
            metavar="SENTENCE|FILE|-",
            show_default=False,
        ),
    ] = None,
    aspect: Annotated[
        list[str] | None,
        typer.Option(help="Aspect term in the sentence. May be repeated.", metavar="WORD", show_default=False),
    ] = None,
    span: Annotated[
        list[str] | None,
        typer.Option(
            help="Aspect by the characters of the sentence, from 0. May be repeated.",
            metavar="START:END",
            show_default=False,
        ),
    ] = None,
    domain: ToldDomain = None,
    out: AnswersOut = None,
    form: AnswersFormat = None,
    on_error: Annotated[
        str,
        typer.Option(
            help="Rows that cannot be read: stop before any work, skip them, or mark them in a column error.",
            autocompletion=completion.of(*ON_ERROR),
        ),
    ] = "stop",
    column: ColumnNames = None,
    version: OldVersion = None,
    encoder: StarterEncoder = None,
    min_confidence: Annotated[
        float,
        typer.Option(help="Without an aspect: leave out those that are less certain to be one.", min=0.0, max=1.0),
    ] = 0.5,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which words spoke for each answer; for one sentence.")
    ] = False,
    batch_size: Annotated[
        int, typer.Option(help="Examples computed at once; 1 answers standard input line by line.", min=1)
    ] = 32,
    engine: Annotated[
        str,
        typer.Option(help="Who answers a file with --out: local, this process; ray, worker processes or a cluster."),
    ] = "local",
    workers: Annotated[int, typer.Option(help="Worker processes of the engine ray.", min=1)] = 2,
    threads: Threads = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Say positive, negative or neutral for each aspect; nobody needs to say the domain.

    The aspects of a sentence are found if none is given; `classic find` does the same for files of whole reviews.

    Files and standard input are streamed: memory stays flat and answers come as they are found. Every column of the input
    comes back. Killed while it writes a file, the same command goes on where it was.

    For instance:

        classic predict "Lovely bed, but the lift is out of order." --aspect bed --aspect lift

        classic predict "The zoom is superb but the menu is a maze."

        classic predict reviews.store "The zoom is superb but the menu is a maze." --aspect zoom --aspect menu

        classic predict reviews.store new_reviews.csv -o answers.csv

        cat lines.jsonl | classic predict reviews.store - > answers.jsonl
    """
    named = bool(aspect or span)
    _refuse_empty(store, text)
    by_starter = text is None and (named or store == "-" or " " in store or is_file(store)) and not is_folder(store)
    if by_starter:
        text = store
        _refuse_word(store, named=named)
    if text is None:
        if not is_folder(store):
            _refuse_word(store, named=False)
        if sys.stdin.isatty():
            raise InputError(
                "nothing to predict", fix='give a sentence with --aspect, a file, or "-" for standard input'
            )
        text = "-"
    from_file = text != "-" and is_file(text)
    if text != "-" and not from_file:
        refuse_missing(text)
    if from_file and named:
        raise InputError(
            "--aspect and --span are for one sentence",
            fix="leave them out; a file names the aspect of every row in a column",
        )
    form = answers_format(form, out, as_json)
    if from_file and out is not None and out.exists() and out.samefile(text):
        raise InputError("input and output are the same file", fix="choose another name for --out")
    if engine not in ("local", "ray"):
        raise InputError(f"engine {engine!r}", fix="use local or ray")
    if engine == "ray" and (out is None or not from_file):
        raise InputError("the engine ray answers files into files", fix="give a file and --out, or leave --engine out")
    check_on_error(on_error)
    columns = read_columns(column)
    if columns and not from_file:
        raise InputError("--column is for files", fix="give a CSV, TSV, Excel or Parquet file, or leave it out")
    if explain and (out is not None or form == "csv" or from_file or text == "-"):
        raise InputError(
            "--explain is for one sentence", fix="give a sentence; for files use Predictor.explain in Python"
        )
    asked, told = None if by_starter else Path(store), domain is not None
    if text != "-" and not from_file and not named:
        if out is not None:
            raise InputError("--out is for files", fix="give a file, or leave --out out")
        open_predictor, _ = opener(asked, version, threads, device, told=told, finding=True, encoder=encoder)
        predictor = open_predictor()
        (found,) = predictor.find([text], min_confidence=min_confidence, domain=domain, batch_size=batch_size)
        if explain and found:
            judged = [each.prediction for each in found]
            examples = [example_about(each.sentence, each.span or each.aspect) for each in judged]
            show_explained(examples, predictor, domain, as_json or form == "jsonl")
            return
        print_found(found, form or "jsonl") if as_json or form else show_found(found, min_confidence)
        return
    known = survey(Path(text), on_error, columns) if from_file else None
    rows = entries(Path(text), on_error, columns) if from_file else _rows(text, aspect or [], span or [], on_error)
    if engine == "ray":
        threads = threads or 1  # a worker has one CPU
    open_predictor, job = opener(asked, version, threads, device, told=told, encoder=encoder)
    if out is not None:

        def make_engine(on_answer: Callable[[], None]) -> Any:
            return _engine(engine, open_predictor, domain, batch_size, workers, on_answer)

        source = Path(text) if from_file else None
        settings = job | {"domain": domain, "batch_size": batch_size, "named": dict(columns.names)}
        into_file(rows, out, form or "jsonl", make_engine, settings, source, known, on_error)
        return
    predictor = open_predictor()
    if explain:
        show_explained(
            [row.example for row in rows if isinstance(row, Row)], predictor, domain, as_json or form == "jsonl"
        )
        return
    if form is None and not as_json and named:
        examples = [row.example for row in rows if isinstance(row, Row)]
        show_answers(list(predictor.stream(examples, domain=domain, batch_size=batch_size)))
        return
    # On the other side of a pipe somebody may be waiting for an answer before asking again.
    from classic.runtime.answering import WINDOW

    window = batch_size if text == "-" else WINDOW
    _write(predictor, rows, form or "jsonl", known, on_error == "mark", domain, batch_size, window)


def _refuse_empty(store: str, text: str | None) -> None:
    if text is not None and not store.strip():
        raise InputError("the name of the store is empty", fix="name its folder, or leave it out to ask the starter")
    if not (store if text is None else text).strip():
        raise InputError("the sentence is empty", fix="write one between the quotes, or name a file")


def _refuse_word(word: str, *, named: bool) -> None:
    """Refuses one word that names nothing: it may be a mistyped path, or a very short review, if it has an aspect."""
    if word == "-" or " " in word or is_file(word):
        return
    shown = word if len(word) <= _LONGEST_SHOWN else f"{word[:_LONGEST_SHOWN]}…"
    if _PATH.search(word):
        sentence = "; if it is a sentence, end it with a full stop" if named else ""
        raise InputError(f"there is no file or folder {shown!r}", fix=f"check the path{sentence}")
    if named:
        return
    raise InputError(
        f"{shown!r} was taken for the folder of a store, because it is one word; there is no such file or folder",
        fix=f"check the path; to ask about a text of one word, name its aspect: --aspect {shlex.quote(shown)}",
    )


def _engine(
    name: str,
    open_predictor: Callable[[], Answering],
    domain: str | None,
    batch_size: int,
    workers: int,
    on_answer: Callable[[], None],
) -> Any:
    from classic.prediction.bulk import local_engine, ray_engine

    if name == "ray":
        return ray_engine(open_predictor, domain, batch_size, workers)
    return local_engine(open_predictor(), domain, batch_size, on_answer)


def _write(
    predictor: Answering,
    rows: Iterable[Row | BadRow],
    form: str,
    known: Survey | None,
    marked: bool,
    domain: str | None,
    batch_size: int,
    window: int,
) -> None:
    """Answers to standard output, as they are found. The columns of CSV are those of the file, or of the first line."""
    from classic.prediction.bulk import pair
    from classic.runtime.records import columns, header, lines

    waiting = iter(rows)
    ahead = list(itertools.islice(waiting, window))
    first = ahead[0].fields if ahead else ()
    names = columns(first if known is None else known.names, marked=marked)
    sys.stdout.write(header(form, names))
    while ahead:
        examples = [row.example for row in ahead if isinstance(row, Row)]
        answers = predictor.stream(examples, domain=domain, batch_size=batch_size)
        sys.stdout.write(lines(pair(ahead, answers), form, names))
        sys.stdout.flush()
        ahead = list(itertools.islice(waiting, window))
    if known is not None:
        tell_bad(known, marked)


def _rows(text: str, aspects: list[str], spans: list[str], on_error: str) -> Iterable[Row | BadRow]:
    if text == "-":
        return from_standard_input(on_error)
    return [Row(example, 1) for example in _from_options(text, aspects, spans)]


def _from_options(sentence: str, aspects: list[str], spans: list[str]) -> list[Example]:
    places: list[str | tuple[int, int]] = list(aspects)
    for entry in spans:
        start, separator, end = entry.partition(":")
        if not separator or not start.isdigit() or not end.isdigit():
            raise InputError(f"span {entry!r}", fix="write START:END, e.g. 4:11")
        places.append((int(start), int(end)))
    return [example_about(sentence, place) for place in places]
