"""`classic predict` over files: what is in them, what comes back, and how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from classic.data.readers import BadRow, Columns, Row, iter_entries
from classic.data.readers.jsonl import parse_line
from classic.errors import MOST_SHOWN, DataError, InputError, several

ON_ERROR = ("stop", "skip", "mark")
Entries = Iterable[Row | BadRow]


@dataclass
class Survey:
    """A file as it was found on a first reading, before the model is opened.

    Attributes:
        rows: How many rows there are, the bad ones included.
        names: The columns, in the order they come up.
        bad: The first bad rows.
        count: How many rows are bad.
    """

    rows: int = 0
    names: dict[str, None] = field(default_factory=dict)
    bad: list[DataError] = field(default_factory=list)
    count: int = 0


def survey(path: Path, on_error: str, columns: Columns) -> Survey:
    """Reads a file once: to know how long it is and what comes back, and to refuse it before it costs anything.

    Raises:
        DataError: There are bad rows, and ``on_error`` is stop; all of them are told.
    """
    found = Survey()
    for entry in iter_entries(path, labelled=False, columns=columns):
        found.rows += 1
        found.names.update(dict.fromkeys(entry.fields))
        if isinstance(entry, BadRow):
            found.count += 1
            if len(found.bad) < MOST_SHOWN:
                found.bad.append(entry.error)
    if found.bad and on_error == "stop":
        raise several(found.bad, found.count)
    return found


def entries(path: Path, on_error: str, columns: Columns) -> Iterator[Row | BadRow]:
    """The rows of a surveyed file: all, or the good ones if bad ones are to be skipped."""
    found = iter_entries(path, labelled=False, columns=columns)
    return (entry for entry in found if on_error == "mark" or isinstance(entry, Row))


def from_standard_input(on_error: str) -> Iterator[Row | BadRow]:
    """JSON lines, as they come."""
    place = "<standard input>"
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            error = DataError("not UTF-8", path=place, line=number, expected="JSON lines in UTF-8")
            found: Entries = [BadRow(error, number)]
        else:
            found = parse_line(line.rstrip("\r\n"), number, place, labelled=False)
        for row in found:
            if isinstance(row, Row) or on_error == "mark":
                yield row
            elif on_error == "stop":
                raise row.error if b"{" in raw else _plain_text(row.error)


def _plain_text(error: DataError) -> DataError:
    fix = "reviews in plain lines, whose aspects are to be found, are for `classic find -`"
    return DataError(
        error.problem, path=error.path, line=error.line, column=error.column, expected=error.expected, fix=fix
    )


def check_on_error(on_error: str) -> None:
    """Refuses anything but what `--on-error` knows."""
    if on_error not in ON_ERROR:
        raise InputError(f"--on-error {on_error!r}", fix=f"use {', '.join(ON_ERROR)}")


def into_file(
    rows: Entries,
    out: Path,
    form: str,
    make_engine: Callable[[Callable[[], None]], Any],
    job: dict[str, Any],
    source: Path | None,
    known: Survey | None,
    on_error: str,
) -> None:
    """Answers rows into a file, with a bar on standard error, and says the truth when it is stopped."""
    import uuid

    from classic.cli.progress import RowProgress
    from classic.prediction.bulk import describe_input, predict_file
    from classic.runtime.records import columns

    marked = on_error == "mark"
    # Only a file can be read again from its first row; whatever else was asked is asked anew.
    asked = {"input": uuid.uuid4().hex if source is None else describe_input(source), "on_error": on_error}
    total = None if known is None else known.rows - (0 if marked else known.count)
    kept = 0
    with RowProgress() as progress:
        progress.begin("loading the model", total)

        def on_start(done: int) -> None:
            nonlocal kept
            kept = done
            progress.begin("predicting", total, done)

        def on_chunk(done: int) -> None:
            nonlocal kept
            kept = done
            progress.at(done)

        try:
            names = columns(known.names if known else (), marked=marked)
            engine = make_engine(progress.advance)
            written = predict_file(rows, out, form, engine, job | asked, on_chunk, names=names, on_start=on_start)
        except KeyboardInterrupt:
            if source is None:
                typer.echo("\nNothing is kept: standard input cannot be read again.", err=True)
            else:
                typer.echo(f"\n{kept:,} rows are written; the same command goes on.", err=True)
            raise
    typer.echo(f"wrote {out}: {written:,} row{'' if written == 1 else 's'}", err=True)
    if known:
        tell_bad(known, marked)


def tell_bad(known: Survey, marked: bool) -> None:
    """Says on standard error what became of the bad rows, if there are any."""
    if known.count:
        done = "marked in the column error" if marked else "left out"
        rows_were = "1 bad row was" if known.count == 1 else f"{known.count:,} bad rows were"
        typer.echo(f"{rows_were} {done}; the first: {known.bad[0].told}", err=True)
