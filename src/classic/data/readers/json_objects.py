"""JSON objects whose members remember where they stand, for error messages with line and column."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from classic.data.readers.row import make_example, match_fields, require_fields
from classic.data.readers.source import Place
from classic.types import Example

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()

PlaceAt = Callable[[int], Place]
"""Turns a character offset into a place; called only when something is wrong."""


@dataclass(frozen=True, slots=True)
class Member:
    """One ``"key": value`` of an object, with the offsets of both."""

    key: str
    value: object
    key_at: int
    value_at: int


class Lines:
    """Where the lines of a text begin, found in one pass instead of one per example."""

    def __init__(self, text: str, path: str) -> None:
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]
        self._path = path

    def number(self, offset: int) -> int:
        """The line an offset is on, from 1."""
        return bisect_right(self._starts, offset)

    def place(self, offset: int) -> Place:
        """Line and column of an offset."""
        line = self.number(offset)
        return Place(self._path, line, offset - self._starts[line - 1] + 1)


def skip_space(text: str, offset: int) -> int:
    """The offset of the next character that is not white space."""
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def decode_value(text: str, offset: int, place_at: PlaceAt) -> tuple[object, int]:
    """Decodes the value that begins at ``offset``; returns it and the offset behind it."""
    try:
        value, end = _DECODER.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        raise place_at(error.pos).error(
            f"not valid JSON: {error.msg}", expected="a JSON value", fix="correct the syntax at this place"
        ) from None
    except RecursionError:
        raise place_at(offset).error("the value is nested too deeply", expected="flat objects") from None
    except ValueError:
        # Python refuses to convert numbers of several thousand digits.
        raise place_at(offset).error("a number with too many digits", expected="texts and small numbers") from None
    return value, end


def iter_members(text: str, offset: int, place_at: PlaceAt, what_follows: list[int]) -> Iterator[Member]:
    """Yields the members of the object at ``offset``; appends the offset behind it to ``what_follows``."""
    if not text.startswith("{", offset):
        raise place_at(offset).error("no JSON object", expected="an object in curly brackets")
    seen: set[str] = set()
    at = skip_space(text, offset + 1)
    if text.startswith("}", at):
        what_follows.append(at + 1)
        return
    while True:
        if not text.startswith('"', at):
            raise place_at(at).error("no member name", expected="a name in double quotes", fix="check the commas")
        key, after_key = decode_value(text, at, place_at)
        colon = skip_space(text, after_key)
        if not text.startswith(":", colon):
            raise place_at(colon).error("no colon behind a member name", expected=":")
        value_at = skip_space(text, colon + 1)
        value, after_value = decode_value(text, value_at, place_at)
        name = str(key)
        if name in seen:
            raise place_at(at).error(
                "the same member name twice in one object",
                expected="every name once",
                fix="rename or remove one",
            )
        seen.add(name)
        yield Member(name, value, at, value_at)
        comma = skip_space(text, after_value)
        if text.startswith("}", comma):
            what_follows.append(comma + 1)
            return
        if not text.startswith(",", comma):
            raise place_at(comma).error("the object is not continued", expected="a comma or }")
        at = skip_space(text, comma + 1)


def read_members(text: str, offset: int, place_at: PlaceAt) -> tuple[list[Member], int]:
    """The members of the object at ``offset``, and the offset behind it."""
    behind: list[int] = []
    members = list(iter_members(text, offset, place_at, behind))
    return members, behind[0]


def example_from_members(
    members: Sequence[Member],
    place_at: PlaceAt,
    object_at: int,
    *,
    labelled: bool,
    inherited: Mapping[str, object] | None = None,
) -> Example:
    """Builds the example an object describes.

    Args:
        members: The members of the object.
        place_at: Turns offsets into places.
        object_at: Where the object begins.
        labelled: Whether a polarity is required.
        inherited: Values the surrounding object gives, such as the sentence of a list of aspects.
    """
    found = match_fields((member.key for member in members), lambda index: place_at(members[index].key_at))
    values = dict(inherited or {})
    values.update({field: members[index].value for field, index in found.items()})
    require_fields(values, labelled, lambda: place_at(object_at), names=[member.key for member in members])

    def where(field: str) -> Place:
        return place_at(members[found[field]].value_at if field in found else object_at)

    return make_example(values, labelled=labelled, where=where)
