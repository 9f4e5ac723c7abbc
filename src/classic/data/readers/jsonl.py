"""JSONL: one object per line, either one aspect each or ``{"sentence": ..., "aspects": [{...}, ...]}``."""

from __future__ import annotations

from collections.abc import Iterator

from classic.data.readers.json_objects import (
    Member,
    PlaceAt,
    example_from_members,
    read_members,
    skip_space,
)
from classic.data.readers.row import Note, Row, match_fields
from classic.data.readers.source import Place, Source, text_lines, without_line_end


def read_jsonl(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row]:
    """Streams the lines; blank ones are skipped."""
    for number, raw in text_lines(source):
        yield from parse_line(without_line_end(raw), number, source.path, labelled=labelled)


def parse_line(line: str, number: int, path: str, *, labelled: bool) -> Iterator[Row]:
    """The rows of one line, none if it is blank; ``number`` and ``path`` are for messages."""
    start = skip_space(line, 0)
    if start == len(line):
        return

    def place_at(offset: int) -> Place:
        return Place(path, number, offset + 1)

    members, end = read_members(line, start, place_at)
    rest = skip_space(line, end)
    if rest < len(line):
        raise place_at(rest).error(
            "something follows the end of the object",
            expected="one JSON object per line",
            fix="start a new line here",
        )
    aspects = next((member for member in members if member.key == "aspects"), None)
    if aspects is None:
        yield Row(example_from_members(members, place_at, start, labelled=labelled), number)
        return
    shared = match_fields((member.key for member in members), lambda index: place_at(members[index].key_at))
    if set(shared) - {"sentence"}:
        extra = members[next(index for field, index in shared.items() if field != "sentence")]
        raise place_at(extra.key_at).error(
            'aspect fields beside "aspects"',
            expected='them inside the list "aspects"',
            fix="move them into the list",
        )
    inherited = {"sentence": members[shared["sentence"]].value} if "sentence" in shared else {}
    for offset, inner in _list_items(line, aspects, place_at):
        example = example_from_members(inner, place_at, offset, labelled=labelled, inherited=inherited)
        yield Row(example, number)


def _list_items(line: str, aspects: Member, place_at: PlaceAt) -> Iterator[tuple[int, list[Member]]]:
    """The objects of the list and their offsets; the list was decoded before, so its syntax is valid."""
    if not isinstance(aspects.value, list):
        raise place_at(aspects.value_at).error('"aspects" is not a list', expected="a list of objects")
    at = aspects.value_at + 1
    for _ in aspects.value:
        at = skip_space(line, at)
        members, end = read_members(line, at, place_at)
        yield at, members
        # Past the comma or bracket behind the object.
        at = skip_space(line, end) + 1
