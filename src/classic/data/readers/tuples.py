"""Lines of triplets and quadruplets: ``sentence####[([0], [4], 'POS')]``, ``sentence####[['food', ..., 'positive', ...]]``.

The first element of a tuple is the aspect, as positions of words or as a term, and the third is the polarity; opinions and
categories are not used. One aspect often stands in several tuples of a line: it gives one example.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from classic.data.readers.row import BadRow, Note, Row, read_row
from classic.data.readers.source import Place, Source, text_lines, without_line_end
from classic.errors import DataError

TUPLES = re.compile(r"####\s*\[")
_SEPARATOR = "####"
_NO_TARGET = "null"
_LONGEST = 20_000
"""Characters of the tuples of one line; a sentence has a handful of them."""
_EXPECTED = "sentence####[([0], [4], 'POS'), ...] or sentence####[['food', 'category', 'positive', 'opinion'], ...]"

_Span = tuple[int, int]


def read_tuples(source: Source, labelled: bool, notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads the lines; aspects ``NULL`` and aspects with two polarities are left out and noted."""
    for number, raw in text_lines(source):
        line = without_line_end(raw)
        if not line.strip():
            continue
        sentence, separator, tail = line.rpartition(_SEPARATOR)
        place = Place(source.path, number, len(sentence) + len(separator) + 1)
        try:
            aspects = _aspects(sentence, _parse(tail if separator else "", place), place, number, notes)
        except DataError as error:
            yield BadRow(error, number)
            continue
        for (aspect, span), polarities in aspects.items():
            if len(polarities) > 1:
                notes.append(Note("conflict-label", number, "an aspect with two polarities was left out"))
                continue
            values: dict[str, object] = {"sentence": sentence, "aspect": aspect, "polarity": polarities[0]}
            if span is not None:
                values["start"], values["end"] = span
            places = {"sentence": Place(source.path, number, 1)}

            def where(field: str, place: Place = place, places: dict[str, Place] = places) -> Place:
                return places.get(field, place)

            yield read_row(values, number, values, labelled=labelled, where=where)


def _parse(text: str, place: Place) -> list[tuple[object, object]]:
    """The aspect and the polarity of each tuple. Nothing is run: only literals are read."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        found = ast.literal_eval(text.strip())
        return [(each[0], each[2]) for each in found if isinstance(each, list | tuple) or _refuse()]
    except (ValueError, SyntaxError, TypeError, IndexError, MemoryError, RecursionError):
        raise place.error("no list of tuples behind ####", expected=_EXPECTED, fix="correct the line") from None


def _refuse() -> bool:
    raise ValueError


def _aspects(
    sentence: str, pairs: list[tuple[object, object]], place: Place, number: int, notes: list[Note]
) -> dict[tuple[str, _Span | None], list[object]]:
    """The polarities of each aspect, in the order of their first tuples."""
    words = [match.span() for match in re.finditer(r"\S+", sentence)]
    found: dict[tuple[str, _Span | None], list[object]] = {}
    for aspect, polarity in pairs:
        if isinstance(aspect, list | tuple):
            span = _span(aspect, words, place)
            key: tuple[str, _Span | None] = (sentence[span[0] : span[1]], span)
        elif isinstance(aspect, str) and aspect.strip().casefold() == _NO_TARGET:
            notes.append(Note("no-target", number, "an opinion without an aspect was left out"))
            continue
        elif isinstance(aspect, str):
            key = (aspect, None)
        else:
            raise place.error("an aspect that is neither words nor their positions", expected=_EXPECTED)
        polarities = found.setdefault(key, [])
        if polarity not in polarities:
            polarities.append(polarity)
    return found


def _span(positions: list[object] | tuple[object, ...], words: list[_Span], place: Place) -> _Span:
    """From the first to the last of the words an aspect has."""
    if not positions or not all(type(each) is int and 0 <= each < len(words) for each in positions):
        raise place.error(
            "the position of an aspect is not that of a word",
            expected=f"positions from 0 to {len(words) - 1}, words parted by spaces",
            fix="correct the positions",
        )
    numbers = [each for each in positions if isinstance(each, int)]
    return words[min(numbers)][0], words[max(numbers)][1]
