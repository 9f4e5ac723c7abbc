"""Reviews cut into sentences, each with its place, and marks in them. No torch."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_BREAK = r"<\s*/?\s*(?:br|p|div|li|ul|ol)\b[^<>]{0,80}>"  # what pages write for the end of a line
_END = re.compile(
    rf"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s|{_BREAK}|&nbsp;)|\n\s*\n|\n(?=\s*[-*\u2022])|{_BREAK}", re.IGNORECASE
)
_BLANK = re.compile(rf"(?:\s|&nbsp;|{_BREAK})*", re.IGNORECASE)
_ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});"
_ATTRIBUTE = r"\s+[\w-]{1,30}\s*=\s*(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|[^\s<>\"']{1,500})"
_INLINE = "a|abbr|b|big|cite|code|del|em|font|i|img|ins|mark|q|s|small|span|strike|strong|sub|sup|tt|u"
_MARKUP = re.compile(rf"{_ENTITY}|</?(?:{_INLINE})(?:{_ATTRIBUTE}){{0,20}}\s*/?>", re.IGNORECASE)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-HJ-Zb-z]|(?:[A-Za-z]\.)+[A-Za-z]|"
    r"mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|approx|incl|nr|inc|ltd|corp|dept|fig|hr|hrs|lb|lbs|oz|ft)$",
    re.IGNORECASE,
)
_MOST = 400  # characters: a "sentence" without an end is cut at a comma or a space before the encoder would cut it


class Mark(NamedTuple):
    """An aspect in a sentence: its characters, and how certain it is."""

    start: int
    end: int
    confidence: float


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with its first character's place in it; white space around them is left out.

    A sentence ends at ``.``, ``!``, ``?`` or an ellipsis before white space, or at an empty line or HTML's ``<br>``; not
    behind an abbreviation or before a small letter. One that is far too long for an encoder is cut where a comma or a space
    is.

    >>> list(sentences_of("Soft bed. Mr. Lee was kind!  The lift (approx. 2 m) is noisy"))
    [(0, 'Soft bed.'), (10, 'Mr. Lee was kind!'), (29, 'The lift (approx. 2 m) is noisy')]
    """
    start = 0
    for end in [*_ends(text), len(text)]:
        yield from _pieces(text, start, end)
        start = end


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match[0].startswith("."):
            after = text[match.end() :].lstrip()
            if len(match[0]) == 1 and _ABBREVIATED.search(text[max(0, match.start() - 12) : match.start()]):
                continue
            if after[:1].islower():
                continue
        if match[0].startswith("<"):
            yield match.start()
        yield match.end()


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    while True:
        blank = _BLANK.match(text, start, end)
        start = blank.end() if blank else start
        if start >= end:
            return
        stop = end
        if end - start > _MOST:
            window = text[start : start + _MOST]
            cut = max(window.rfind(", "), window.rfind("; ")) + 1 or window.rfind(" ") + 1 or _MOST
            stop = start + cut
        yield start, text[start:stop].rstrip()
        start = stop


def unescaped(sentence: str) -> tuple[str, Sequence[int]]:
    """A sentence as a page would show it, and where each of its characters, and the end, stood before.

    HTML's entities are the characters they mean. A tag within a line, such as ``<b>``, is a space, so that a word beside it
    ends where the tag begins.

    >>> clean, places = unescaped("It didn&#39;t fit, R&D &amp; all.")
    >>> clean, places[clean.index("t fit")]
    ("It didn't fit, R&D & all.", 12)
    """
    if "&" not in sentence and "<" not in sentence:
        return sentence, range(len(sentence) + 1)
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for match in _MARKUP.finditer(sentence):
        meant = " " if match[0].startswith("<") else html.unescape(match[0])
        parts += [sentence[at : match.start()], meant]
        places += [*range(at, match.start()), *[match.start()] * len(meant)]
        at = match.end()
    return "".join([*parts, sentence[at:]]), [*places, *range(at, len(sentence) + 1)]
