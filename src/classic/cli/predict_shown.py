"""Answers of `classic predict` as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import typer

from classic.types import Example, Prediction

if TYPE_CHECKING:
    from rich.text import Text

    from classic.runtime.answering import Answering

_MOST_SHOWN = 8  # words of an explanation
_GAP = 3  # spaces between two of them


def show_explained(examples: list[Example], predictor: Answering, domain: str | None, as_json: bool) -> None:
    """Prints answers and the words that spoke for each: as JSON lines, or a table and a line of words."""
    import json
    from dataclasses import asdict

    from rich.console import Console
    from rich.text import Text

    from classic.runtime.records import record

    found = [predictor.explain(e.sentence, e.span or e.aspect, domain=domain) for e in examples]
    if as_json:
        for answer, words in found:
            told = record(answer) | {"words": [asdict(word) | {"weight": round(word.weight, 6)} for word in words]}
            typer.echo(json.dumps(told, ensure_ascii=False))
        return
    show_answers([answer for answer, _ in found])
    console = Console(highlight=False)
    for answer, words in found:
        speaking = [word for word in words if round(100 * word.weight)]
        strongest = sorted(speaking, key=lambda word: -abs(word.weight))[:_MOST_SHOWN]
        because = "because of" if strongest else "and no single word decides it"
        pieces = [Text(f"{answer.aspect}: {answer.polarity}, {because}")]
        for word in sorted(strongest, key=lambda word: word.start):
            style = "bold green" if word.weight > 0 else "red"
            pieces.append(Text(f"{word.text} {100 * word.weight:+.0f}", style=style))
        console.print()
        for line in _lines(pieces, console.width):
            console.print(line)
    typer.echo(
        "points of probability that the answer loses without the word; below 0 the word spoke against it", err=True
    )


def _lines(pieces: Iterable[Text], width: int) -> Iterator[Text]:
    """The pieces in lines of at most a width; a word stays beside its number."""
    from rich.text import Text

    line = Text()
    for piece in pieces:
        if line and line.cell_len + _GAP + piece.cell_len > width:
            yield line
            line = Text("  ")
        elif line:
            line.append(" " * _GAP)
        line.append_text(piece)
    yield line


def show_answers(answers: list[Prediction]) -> None:
    """Prints a table of answers, and what one should know about them."""
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
    if absent := [answer.aspect for answer in answers if not answer.aspect_found]:
        typer.echo(f"note: {', '.join(absent)} does not occur in the sentence; the answer is a guess", err=True)
    if any(answer.truncated for answer in answers):
        typer.echo("note: the sentence is too long; only its beginning was read", err=True)
