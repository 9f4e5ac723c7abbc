"""The authors' JSON files: ``{"0": {"polarity": "+", "term": ..., "sentence": ..., "id": 0}, ...}``.

Some of their other sets wrap the examples: ``{"data": {"0": {...}, ...}, ...}``.
"""

from __future__ import annotations

from collections.abc import Iterator

from classic.data.readers.json_objects import (
    Lines,
    Member,
    example_from_members,
    iter_members,
    read_members,
    skip_space,
)
from classic.data.readers.row import BadRow, Note, Row
from classic.data.readers.source import Source, decode
from classic.errors import DataError

_WRAPPER = "data"


def read_authors_json(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads one object of numbered examples, or one that wraps it under "data"."""
    text = decode(source.read_all(), source.path)
    lines = Lines(text, source.path)
    behind: list[int] = []
    entries = list(iter_members(text, skip_space(text, 0), lines.place, behind))
    if wrapper := next((entry for entry in entries if _wraps(entry)), None):
        entries, _ = read_members(text, wrapper.value_at, lines.place)
    for entry in entries:
        line = lines.number(entry.value_at)
        fields = dict(entry.value) if isinstance(entry.value, dict) else {}
        try:
            members, _ = read_members(text, entry.value_at, lines.place)
            example = example_from_members(members, lines.place, entry.value_at, labelled=labelled)
        except DataError as error:
            yield BadRow(error, line, fields)
        else:
            yield Row(example, line, fields)
    rest = skip_space(text, behind[0])
    if rest < len(text):
        raise lines.place(rest).error(
            "something follows the end of the object",
            expected="one object per file",
            fix="for one object per line leave out the numbered outer object (JSONL)",
        )


def _wraps(entry: Member) -> bool:
    """Whether an entry is no example but holds them all: an object of objects called "data"."""
    inside = entry.value
    return entry.key == _WRAPPER and isinstance(inside, dict) and all(isinstance(v, dict) for v in inside.values())
