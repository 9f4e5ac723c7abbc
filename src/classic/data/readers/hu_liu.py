"""Annotated review lines of Hu & Liu (2004) and Ding et al. (2008): ``feature[+2], other[-1][u]##sentence``.

``[u]`` and ``[p]`` mark a feature that is not in the sentence, ``[s]`` a suggestion, ``[cc]`` and ``[cs]``
comparisons, and ``[t]`` begins the title of a review. The published files have some forty slips (``{+1]``,
``[+2``, a missing comma). A slip that leaves no doubt about the sign is read; an annotation without a sign or a
line without ``##`` is left out and noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from classic.data.readers.row import MAX_TEXT, BadRow, Note, Row, read_row
from classic.data.readers.source import Place, Source, text_lines, without_line_end

_TAG = re.compile(r"[\[(](?:u|p|s|cc|cs)[\])]", re.IGNORECASE)
# With its opening bracket a mark may lack the rest; without, it needs a digit and the closing bracket.
_MARK = re.compile(r"[\[{]\s*(?P<sign>[+-])\s*(?:[0-9]\s*)?(?:[\]}]+|$|(?=,))|(?P<bare>[+-])[0-9]\s*[\]}]+")
_UNSIGNED_MARK = re.compile(r"\s*[\[{]\s*[0-9]\s*[\]}]")

_LONGEST_SOUGHT = 200
"""The search costs length of aspect times length of sentence; a feature name has a few words."""


def is_annotated(line: str) -> bool:
    """Whether a line is of this format and no other: a title, or a sign before ``##``; headings of Markdown have ##, too."""
    annotation, separator, _ = line.partition("##")
    return line.startswith("[t]") or bool(separator and _MARK.search(annotation))


def read_hu_liu(source: Source, labelled: bool, notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads the annotated sentences; sentences without an annotation have no aspect and give no example."""
    for number, raw in text_lines(source):
        line = without_line_end(raw)
        if not line.strip() or line.startswith(("[t]", "*")):
            continue
        annotation, separator, sentence = line.partition("##")
        if not separator:
            notes.append(Note("no-separator", number, "a line without ## was left out"))
            continue
        for aspect, sign, offset in _annotations(annotation, number, notes):
            span = _only_occurrence(aspect, sentence)
            values: dict[str, object] = {"sentence": sentence, "aspect": aspect, "polarity": sign}
            if span is not None:
                values["start"], values["end"] = span
            columns = {"sentence": len(annotation) + 3}

            def where(
                field: str, number: int = number, offset: int = offset, columns: dict[str, int] = columns
            ) -> Place:
                return Place(source.path, number, columns.get(field, offset + 1))

            yield read_row(values, number, values, labelled=labelled, where=where)


def _annotations(annotation: str, number: int, notes: list[Note]) -> Iterator[tuple[str, str, int]]:
    """Yields (aspect, sign, offset). A mark ends an aspect, so a missing comma does no harm."""
    # Tags are blanked, not cut, so that offsets stay those of the file.
    plain = _TAG.sub(lambda tag: " " * len(tag.group()), annotation)
    begin = 0
    for mark in _MARK.finditer(plain):
        # What stands before the last comma had no sign of its own.
        *unsigned, name = plain[begin : mark.start()].split(",")
        _note_unsigned(unsigned, number, notes)
        aspect = name.strip()
        if aspect:
            offset = mark.start() - len(name) + (len(name) - len(name.lstrip()))
            yield aspect, mark["sign"] or mark["bare"], offset
        else:
            notes.append(Note("no-aspect", number, "an annotation without a feature name was left out"))
        begin = mark.end()
    _note_unsigned(plain[begin:].split(","), number, notes)
    if annotation.strip() and not plain.strip():
        notes.append(Note("no-aspect", number, "an annotation without a feature name was left out"))


def _note_unsigned(pieces: list[str], number: int, notes: list[Note]) -> None:
    for piece in pieces:
        if piece.strip(" \t[]{}"):
            kind = "a strength without + or -" if _UNSIGNED_MARK.search(piece) else "no strength"
            notes.append(Note("no-sign", number, f"a feature with {kind} was left out"))


def _only_occurrence(aspect: str, sentence: str) -> tuple[int, int] | None:
    """Where the aspect stands, if it occurs exactly once as whole words; else the source does not tell."""
    if len(aspect) > _LONGEST_SOUGHT or len(sentence) > MAX_TEXT:
        return None
    found = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(aspect)}(?!\w)", sentence, re.IGNORECASE)]
    if len(found) != 1:
        return None
    start, end = found[0]
    # IGNORECASE also equates a few letters (dotless i) that casefold keeps apart.
    return (start, end) if sentence[start:end].casefold() == aspect.casefold() else None
