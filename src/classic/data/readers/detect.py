"""Which format a file has, decided by its first bytes and never by its name."""

from __future__ import annotations

import json
import re
from pathlib import Path

from classic.data.readers.delimited import DELIMITERS, KNOWN_NAMES, known_columns
from classic.data.readers.excel import WORKBOOK
from classic.data.readers.hu_liu import is_annotated
from classic.data.readers.pyabsa import MARK
from classic.data.readers.source import Place, Source, locate, refuse_other_encodings, zip_members
from classic.data.readers.tuples import TUPLES

FORMATS = ("authors-json", "semeval-xml", "hu-liu", "csv", "jsonl", "json-list", "parquet", "excel", "pyabsa", "tuples")

_SAMPLE = 1 << 16
_NESTED_OBJECT = re.compile(r'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*\{|\}\s*$)')
_LIST_OF_OBJECTS = re.compile(r"\[\s*[{\]]")
_COMPRESSED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))


def detect_format(path: str | Path) -> str:
    """Names the format of a data file: one of ``FORMATS``; "csv" stands for every delimiter.

    Raises:
        DataError: The file cannot be opened, is empty or is of no known format.
    """
    return detect(locate(path))


def detect(source: Source) -> str:
    """The same for a file that was located already."""
    head = source.head(_SAMPLE)
    if head.startswith(b"PAR1"):
        return "parquet"
    if source.member is None and head.startswith(b"PK\x03\x04") and WORKBOOK in zip_members(source.file):
        return "excel"
    _refuse_containers(head, source)
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    body = text.lstrip()
    if not body:
        raise Place(source.path, 1, 1).error(
            "the file is empty" if len(head) < _SAMPLE else "the file begins with nothing but white space",
            expected=f"data in one of the formats {', '.join(FORMATS)}",
        )
    if body.startswith("<"):
        return "semeval-xml"
    if body.startswith("{"):
        return "authors-json" if _NESTED_OBJECT.match(body) and not _is_example(body) else "jsonl"
    lines = body.split("\n")
    if known_columns(lines[0], source.columns) >= 2:
        return "csv"
    if MARK in lines[0]:
        return "pyabsa"
    if TUPLES.search(lines[0]):
        return "tuples"
    if any(is_annotated(line) for line in lines):
        return "hu-liu"
    if _LIST_OF_OBJECTS.match(body):
        return "json-list"
    if any(delimiter in lines[0] for delimiter in DELIMITERS):
        return "csv"
    raise Place(source.path, 1, 1).error(
        "the format is not recognised",
        expected=f"one of {', '.join(FORMATS)}",
        fix="the simplest is CSV with the header sentence,aspect,polarity; reviews without aspects are for `classic find`",
    )


def _is_example(body: str) -> bool:
    """Whether the first line alone is an object with a field we know; values may be objects too."""
    try:
        value = json.loads(body.partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and any(name in value for name in ("aspects", *KNOWN_NAMES))


def _refuse_containers(head: bytes, source: Source) -> None:
    place = Place(source.path, 1, 1)
    if head.startswith(b"PK\x03\x04"):
        members = ", ".join(zip_members(source.file)[:20]) if source.member is None else ""
        raise place.error(
            f"a zip archive with the members {members}" if members else "a zip archive",
            expected="a data file",
            fix=f"name the member: {source.path}/MEMBER",
        )
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise place.error("an old Excel file (.xls)", expected="an .xlsx file", fix="save it as .xlsx or CSV")
    for magic, name in _COMPRESSED:
        if head.startswith(magic):
            raise place.error(f"the file is compressed ({name})", expected="a plain file", fix="uncompress it first")
    refuse_other_encodings(head, source.path)
