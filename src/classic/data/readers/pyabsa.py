"""PyABSA's three-line blocks: the sentence with ``$T$`` for the aspect, the aspect, and its polarity."""

from __future__ import annotations

from collections.abc import Iterator

from classic.data.readers.row import WORD_LABELS, BadRow, Note, Row, read_row
from classic.data.readers.source import Place, Source, text_lines, without_line_end
from classic.errors import DataError
from classic.types import Polarity

MARK = "$T$"
_LABELS = {"1": Polarity.POSITIVE, "-1": Polarity.NEGATIVE, "0": Polarity.NEUTRAL, **WORD_LABELS}
_UNKNOWN = "-100"
"""PyABSA's own way to say that a polarity is to be predicted."""


def read_pyabsa(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads the blocks; blank lines between blocks are skipped, never inside one."""
    block: list[tuple[int, str]] = []
    lost = False  # between a line that begins no block and the next one that does
    for number, raw in text_lines(source):
        line = without_line_end(raw)
        if not block:
            if not line.strip() or (lost and MARK not in line):
                continue
            lost = MARK not in line
            if lost:
                yield BadRow(_no_mark(Place(source.path, number, 1)), number)
                continue
        block.append((number, line))
        if len(block) == 3:
            yield _read_block(block, source.path, labelled)
            block = []
    if block:
        raise Place(source.path, block[0][0], 1).error(
            f"a block of {len(block)} lines",
            expected="three lines: the sentence with $T$, the aspect, the polarity",
            fix="complete the block or remove it",
        )


def _no_mark(place: Place) -> DataError:
    return place.error(
        f"0 marks {MARK} in a sentence",
        expected=f"{MARK} where the aspect stands, three lines per block",
        fix="check that every block before this line has three lines",
    )


def _read_block(block: list[tuple[int, str]], path: str, labelled: bool) -> Row | BadRow:
    (first, template), (second, aspect_line), (third, label) = block
    aspect = aspect_line.strip()
    values: dict[str, object] = {
        "sentence": template.replace(MARK, aspect),
        "aspect": aspect,
        "polarity": None if not labelled and label.strip() == _UNKNOWN else label,
    }
    if template.count(MARK) == 1:  # with more of them every occurrence is meant, and no span can say so
        start = template.index(MARK)
        values |= {"start": start, "end": start + len(aspect)}
    lines = {"aspect": second, "polarity": third}

    def where(field: str) -> Place:
        return Place(path, lines.get(field, first), 1)

    return read_row(values, first, values, labelled=labelled, where=where, labels=_LABELS)
