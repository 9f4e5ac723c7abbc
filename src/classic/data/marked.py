"""Sentences with their aspects marked: what the finder learns from (`classic.finding`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from classic.errors import DataError
from classic.types import Example

Span = tuple[int, int]
_EXPECTED = "SemEval XML, or JSON objects with `tokens` and `labels` (B, I, O)"
_TERMS = {"aspectTerm": "term", "Opinion": "target"}


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence and the places of its aspects.

    Attributes:
        sentence: The sentence.
        spans: Character ranges of the aspects that are marked, from left to right.
        complete: Whether somebody marked all of them: then every other word is known to be none.
    """

    sentence: str
    spans: tuple[Span, ...]
    complete: bool = False


def marked_of(examples: Iterable[Example]) -> list[Marked]:
    """The sentences of some rows, each once, with the aspects that its rows name; others may be in it unnamed.

    An aspect without a span is marked wherever it stands as a whole word; one that does not occur marks nothing.

    >>> marked_of([Example("Good zoom, bad lens.", "lens"), Example("Good zoom, bad lens.", "zoom")])
    [Marked(sentence='Good zoom, bad lens.', spans=((5, 9), (15, 19)), complete=False)]
    """
    found: dict[str, set[Span]] = {}
    for example in examples:
        spans = found.setdefault(example.sentence, set())
        spans.update(spans_of(example))
    return [Marked(sentence, _apart(spans)) for sentence, spans in found.items() if spans]


def read_marked(path: str | Path) -> list[Marked]:
    """Sentences whose aspects are all marked, those without any included.

    Args:
        path: SemEval XML of 2014 to 2016; or a JSON file of objects with ``tokens`` and ``labels``, one of B, I and O per
            token: a list of them, a table of them by id, or one per line.

    Raises:
        DataError: The file cannot be read so.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"it cannot be read ({error})", path=str(path), expected=_EXPECTED) from None
    found = _from_xml(text, str(path)) if text.lstrip().startswith("<") else _from_json(text, str(path))
    if not found:
        raise DataError("it has no sentences", path=str(path), expected=_EXPECTED)
    return found


def spans_of(example: Example) -> list[Span]:
    """Where an example's aspect is: its span, or wherever it stands as a whole word."""
    if example.span or not example.aspect.strip():
        return [example.span] if example.span else []
    pattern = rf"(?<!\w){re.escape(example.aspect.strip())}(?!\w)"
    return [match.span() for match in re.finditer(pattern, example.sentence, re.IGNORECASE)]


def _apart(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans from left to right; of two that overlap, the longer one."""
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        if all(end <= other[0] or start >= other[1] for other in kept):
            kept.append((start, end))
    return tuple(sorted(kept))


def _from_json(text: str, path: str) -> list[Marked]:
    try:
        value = json.loads(text)
    except ValueError:
        try:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise DataError(f"it is no JSON ({error})", path=path, expected=_EXPECTED) from None
    if isinstance(value, dict) and "tokens" not in value:
        value = list(value.values())
    return [_from_tokens(each, path) for each in (value if isinstance(value, list) else [value])]


def _from_tokens(value: object, path: str) -> Marked:
    tokens, labels = (value.get("tokens"), value.get("labels")) if isinstance(value, dict) else (None, None)
    whole = isinstance(tokens, list) and isinstance(labels, list) and len(tokens) == len(labels)
    if (
        not whole
        or any(not isinstance(token, str) for token in tokens or [])
        or not set(labels or []) <= {"B", "I", "O"}
    ):
        raise DataError("an object without tokens and as many labels B, I, O", path=path, expected=_EXPECTED)
    text, spans = "", list[Span]()
    for token, label in zip(tokens or [], labels or [], strict=True):
        start = len(text) + 1 if text else 0
        text = f"{text} {token}" if text else token
        if label == "I" and spans:
            spans[-1] = (spans[-1][0], len(text))
        elif label != "O":
            spans.append((start, len(text)))
    return Marked(text, tuple(spans), complete=True)


def _from_xml(text: str, path: str) -> list[Marked]:
    if "<!DOCTYPE" in text:
        raise DataError("the file has a DOCTYPE", path=path, expected="XML without DOCTYPE and entities")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"not well-formed XML: {error}", path=path, expected=_EXPECTED) from None
    found: list[Marked] = []
    for element in root.iter("sentence"):
        sentence = element.findtext("text") or ""
        spans: set[Span] = set()
        for term in (each for each in element.iter() if each.tag in _TERMS):
            if term.get(_TERMS[term.tag], "").casefold() == "null":
                continue
            try:
                start, end = int(term.get("from", "")), int(term.get("to", ""))
            except ValueError:
                start, end = 0, 0
            if not 0 <= start < end <= len(sentence):
                raise DataError(f"an aspect outside its sentence {sentence[:40]!r}", path=path, expected="from, to")
            spans.add((start, end))
        if sentence.strip():
            found.append(Marked(sentence, _apart(spans), complete=True))
    return found
