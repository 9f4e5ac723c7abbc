"""The authors' JSON files: ``{"0": {"polarity": "+", "term": ..., "sentence": ..., "id": 0}, ...}``."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from classic.data.readers.json_objects import example_from_members, iter_members, read_members, skip_space
from classic.data.readers.row import Note, Row
from classic.data.readers.source import Place, Source, decode


def read_authors_json(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row]:
    """Reads one object of numbered examples. The keys and ids are not kept."""
    text = decode(source.read_all(), source.path)
    # One pass over the file instead of one per example.
    line_starts = [0, *(end.end() for end in re.finditer("\n", text))]

    def place_at(offset: int) -> Place:
        line = bisect_right(line_starts, offset)
        return Place(source.path, line, offset - line_starts[line - 1] + 1)

    behind: list[int] = []
    for entry in iter_members(text, skip_space(text, 0), place_at, behind):
        members, _ = read_members(text, entry.value_at, place_at)
        example = example_from_members(members, place_at, entry.value_at, labelled=labelled)
        yield Row(example, bisect_right(line_starts, entry.value_at))
    rest = skip_space(text, behind[0])
    if rest < len(text):
        raise place_at(rest).error(
            "something follows the end of the object",
            expected="one object per file",
            fix="for one object per line leave out the numbered outer object (JSONL)",
        )
