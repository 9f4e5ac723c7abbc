"""PyABSA's three-line blocks: the sentence with ``$T$`` for the aspect, the aspect, and its polarity."""

from __future__ import annotations

from collections.abc import Iterator

from classic.data.readers.row import WORD_LABELS, Note, Row, make_example
from classic.data.readers.source import Place, Source, text_lines, without_line_end
from classic.types import Polarity

MARK = "$T$"
_LABELS = {"1": Polarity.POSITIVE, "-1": Polarity.NEGATIVE, "0": Polarity.NEUTRAL, **WORD_LABELS}
_UNKNOWN = "-100"
"""PyABSA's own way to say that a polarity is to be predicted."""


def read_pyabsa(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row]:
    """Reads the blocks; blank lines between blocks are skipped, never inside one."""
    block: list[tuple[int, str]] = []
    for number, raw in text_lines(source):
        line = without_line_end(raw)
        if block or line.strip():
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


def _read_block(block: list[tuple[int, str]], path: str, labelled: bool) -> Row:
    (first, template), (second, aspect_line), (third, label) = block
    marks = template.count(MARK)
    if marks != 1:
        column = template.find(MARK, template.find(MARK) + 1) + 1 if marks else 1
        raise Place(path, first, column).error(
            f"{marks} marks {MARK} in a sentence",
            expected=f"exactly one {MARK} per sentence, three lines per block",
            fix="check that every block before this line has three lines",
        )
    aspect = aspect_line.strip()
    start = template.index(MARK)
    values: dict[str, object] = {
        "sentence": template.replace(MARK, aspect),
        "aspect": aspect,
        "polarity": None if not labelled and label.strip() == _UNKNOWN else label,
        "start": start,
        "end": start + len(aspect),
    }
    lines = {"aspect": second, "polarity": third}

    def where(field: str) -> Place:
        return Place(path, lines.get(field, first), 1)

    return Row(make_example(values, labelled=labelled, where=where, labels=_LABELS), first)
