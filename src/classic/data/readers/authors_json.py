"""The authors' JSON files: ``{"0": {"polarity": "+", "term": ..., "sentence": ..., "id": 0}, ...}``.

Some of their other sets wrap the examples: ``{"data": {"0": {...}, ...}, ...}``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from classic.data.readers.json_objects import Member, example_from_members, iter_members, read_members, skip_space
from classic.data.readers.row import BadRow, Note, Row
from classic.data.readers.source import Place, Source, decode
from classic.errors import DataError

_WRAPPER = "data"


def read_authors_json(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads one object of numbered examples, or one that wraps it under "data"."""
    text = decode(source.read_all(), source.path)
    # One pass over the file instead of one per example.
    line_starts = [0, *(end.end() for end in re.finditer("\n", text))]

    def place_at(offset: int) -> Place:
        line = bisect_right(line_starts, offset)
        return Place(source.path, line, offset - line_starts[line - 1] + 1)

    behind: list[int] = []
    entries = list(iter_members(text, skip_space(text, 0), place_at, behind))
    if wrapper := next((entry for entry in entries if _wraps(entry)), None):
        entries, _ = read_members(text, wrapper.value_at, place_at)
    for entry in entries:
        line = bisect_right(line_starts, entry.value_at)
        fields = dict(entry.value) if isinstance(entry.value, dict) else {}
        try:
            members, _ = read_members(text, entry.value_at, place_at)
            example = example_from_members(members, place_at, entry.value_at, labelled=labelled)
        except DataError as error:
            yield BadRow(error, line, fields)
        else:
            yield Row(example, line, fields)
    rest = skip_space(text, behind[0])
    if rest < len(text):
        raise place_at(rest).error(
            "something follows the end of the object",
            expected="one object per file",
            fix="for one object per line leave out the numbered outer object (JSONL)",
        )


def _wraps(entry: Member) -> bool:
    """Whether an entry is no example but holds them all: an object of objects called "data"."""
    inside = entry.value
    return entry.key == _WRAPPER and isinstance(inside, dict) and all(isinstance(v, dict) for v in inside.values())
