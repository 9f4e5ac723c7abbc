"""A JSON list of objects, each as a line of JSONL has it: ``[{"sentence": ..., "aspect": ..., "polarity": ...}, ...]``."""

from __future__ import annotations

from collections.abc import Iterator

from classic.data.readers.json_objects import Lines, decode_value, read_members, skip_space
from classic.data.readers.jsonl import rows_of
from classic.data.readers.row import BadRow, Note, Row
from classic.data.readers.source import Source, decode
from classic.errors import DataError


def read_json_list(source: Source, labelled: bool, _notes: list[Note]) -> Iterator[Row | BadRow]:
    """Reads the whole list; for files larger than memory there is JSONL."""
    text = decode(source.read_all(), source.path)
    lines = Lines(text, source.path)
    at = skip_space(text, skip_space(text, 0) + 1)
    while not text.startswith("]", at):
        value, end = decode_value(text, at, lines.place)
        number = lines.number(at)
        try:
            members, _ = read_members(text, at, lines.place)
        except DataError as error:
            yield BadRow(error, number, dict(value) if isinstance(value, dict) else {})
        else:
            yield from rows_of(members, text, at, number, lines.place, labelled=labelled)
        at = skip_space(text, end)
        if text.startswith(",", at):
            at = skip_space(text, at + 1)
        elif not text.startswith("]", at):
            raise lines.place(at).error("the list is not continued", expected="a comma or ]")
    rest = skip_space(text, at + 1)
    if rest < len(text):
        raise lines.place(rest).error("something follows the end of the list", expected="one list per file")
