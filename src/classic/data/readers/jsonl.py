"""JSONL: one object per line, either one aspect each or ``{"sentence": ..., "aspects": [...]}``.

The list holds objects, or just terms where no polarity is needed: ``{"sentence": ..., "aspects": ["waiter", "food"]}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from classic.data.readers.columns import FIELD_NAMES, free_name
from classic.data.readers.json_objects import (
    Member,
    PlaceAt,
    decode_value,
    example_from_members,
    read_members,
    skip_space,
)
from classic.data.readers.row import BadRow, Note, Row, match_fields
from classic.data.readers.source import Place, Source, text_lines, without_line_end
from classic.errors import DataError

_LIST = "aspects"


def read_jsonl(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Streams the lines; blank ones are skipped."""
    for number, raw in text_lines(source):
        yield from parse_line(without_line_end(raw), number, source.path, labelled=labelled)


def parse_line(line: str, number: int, path: str, *, labelled: bool) -> Iterator[Row | BadRow]:
    """The rows of one line, none if it is blank; ``number`` and ``path`` are for messages."""
    start = skip_space(line, 0)
    if start == len(line):
        return

    def place_at(offset: int) -> Place:
        return Place(path, number, offset + 1)

    try:
        members, end = read_members(line, start, place_at)
    except DataError as error:
        yield BadRow(error, number, {})
        return
    rest = skip_space(line, end)
    if rest < len(line):
        followed = place_at(rest).error(
            "something follows the end of the object",
            expected="one JSON object per line",
            fix="start a new line here",
        )
        yield BadRow(followed, number, _fields(members))
        return
    yield from rows_of(members, line, start, number, place_at, labelled=labelled)


def rows_of(
    members: list[Member], text: str, start: int, number: int, place_at: PlaceAt, *, labelled: bool
) -> Iterator[Row | BadRow]:
    """The rows of the object that begins at ``start`` of a text: one, or one for each of its aspects."""
    listed = next((member for member in members if member.key == _LIST), None)
    if listed is None:
        yield _row(members, _fields(members), start, number, place_at, {}, labelled)
        return
    try:
        inherited = _inherited(members, place_at)
    except DataError as error:
        yield BadRow(error, number, _fields(members))
        return
    beside = {name: value for name, value in _fields(members).items() if name != _LIST}
    for at, item in _items(text, listed, number, place_at, beside):
        if isinstance(item, BadRow):
            yield item
        else:
            yield _row(item, _together(beside, _fields(item)), at, number, place_at, inherited, labelled)


def _row(
    members: list[Member],
    fields: Mapping[str, object],
    at: int,
    number: int,
    place_at: PlaceAt,
    inherited: Mapping[str, object],
    labelled: bool,
) -> Row | BadRow:
    try:
        example = example_from_members(members, place_at, at, labelled=labelled, inherited=inherited)
    except DataError as error:
        return BadRow(error, number, fields)
    return Row(example, number, fields)


def _fields(members: list[Member]) -> dict[str, object]:
    return {member.key: member.value for member in members}


def _together(beside: Mapping[str, object], inside: Mapping[str, object]) -> dict[str, object]:
    """What stands beside a list of aspects and inside one of them; of two that share a name, none hides the other."""
    taken = {*beside, *inside}
    found = dict(beside)
    for name, value in inside.items():
        if name in beside and name in FIELD_NAMES["sentence"]:  # the inner one is asked about
            found[free_name(f"input_{name}", taken)] = beside[name]
            found[name] = value
        else:
            found[free_name(f"aspect_{name}", taken) if name in beside else name] = value
    return found


def _inherited(members: list[Member], place_at: PlaceAt) -> dict[str, object]:
    """What stands beside a list of aspects and holds for all of them: the sentence."""
    shared = match_fields((member.key for member in members), lambda index: place_at(members[index].key_at))
    if set(shared) - {"sentence"}:
        extra = members[next(index for field, index in shared.items() if field != "sentence")]
        raise place_at(extra.key_at).error(
            'aspect fields beside "aspects"',
            expected='them inside the list "aspects"',
            fix="move them into the list",
        )
    return {"sentence": members[shared["sentence"]].value} if "sentence" in shared else {}


def _items(
    line: str, listed: Member, number: int, place_at: PlaceAt, fields: Mapping[str, object]
) -> Iterator[tuple[int, list[Member] | BadRow]]:
    """The members of each item and its offset; the list was decoded before, so its syntax is valid."""
    if not isinstance(listed.value, list):
        error = place_at(listed.value_at).error(
            '"aspects" is not a list', expected='a list of objects, or of terms: ["waiter", "food"]'
        )
        yield listed.value_at, BadRow(error, number, fields)
        return
    at = listed.value_at + 1
    for item in listed.value:
        at = skip_space(line, at)
        _, end = decode_value(line, at, place_at)
        if isinstance(item, str):
            yield at, [Member("aspect", item, at, at)]
        else:
            try:
                yield at, read_members(line, at, place_at)[0]
            except DataError as error:
                yield at, BadRow(error, number, fields)
        # Past the comma or bracket behind the item.
        at = skip_space(line, end) + 1
