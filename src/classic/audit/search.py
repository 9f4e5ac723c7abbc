"""Looking for texts where none may be: in all the ways a text may be written down, and as runs of token ids."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import unicodedata
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SHORTEST = 6  # bytes: less is found by chance
_FEWEST_IDS = 3
_MOST_UNPACKED = 256 << 20
Tokenize = Callable[[str], list[int]]


@dataclass(frozen=True)
class Hit:
    """A text that was found: which (counted from 0), where, and how it was written."""

    text: int
    file: str
    form: str


def forms(text: str, tokenize: Tokenize | None = None) -> dict[str, bytes]:
    """A text in every way it may be written down, by name; those too short to mean anything are left out."""
    plain = unicodedata.normalize("NFKD", text)
    stripped = "".join(letter for letter in plain if not unicodedata.combining(letter)).lower()
    found: dict[str, bytes] = {}
    for name, spelling in (("", text), (" lower", text.lower()), (" stripped", stripped)):
        data = spelling.encode("utf-8", "surrogatepass")
        found[f"utf-8{name}"] = data
        found[f"utf-16{name}"] = spelling.encode("utf-16-le", "surrogatepass")
        found[f"utf-32{name}"] = spelling.encode("utf-32-le", "surrogatepass")
        found[f"json{name}"] = json.dumps(spelling)[1:-1].encode()
        found[f"url{name}"] = urllib.parse.quote(spelling, errors="replace").encode()
        found[f"hex{name}"] = data.hex().encode()
        for shift in range(3):  # base64 of something in the middle of something: its inner letters do not depend on it
            inner = base64.b64encode(b"\0" * shift + data)
            found[f"base64{name} {shift}"] = inner[4 if shift else 0 : len(inner) - 4]
    if tokenize is not None:
        ids = tokenize(text)
        if len(ids) >= _FEWEST_IDS:
            for kind in ("<h", "<i", "<q"):
                if max(ids) < 2 ** (8 * struct.calcsize(kind) - 1):
                    found[f"token ids {8 * struct.calcsize(kind)}"] = b"".join(struct.pack(kind, each) for each in ids)
            found["token ids in json"] = json.dumps(ids)[1:-1].encode()
    unique: dict[bytes, str] = {}
    for name, data in found.items():
        if len(data) >= _SHORTEST:
            unique.setdefault(data, name)
    return {name: data for data, name in unique.items()}


def search(folders: Iterable[Path], texts: list[str], tokenize: Tokenize | None = None) -> tuple[list[Hit], int]:
    """Every text in every form in every file; and how many bytes were looked at."""
    needles = [
        (number, name, data) for number, text in enumerate(texts) for name, data in forms(text, tokenize).items()
    ]
    hits: list[Hit] = []
    looked = 0
    for file, content in _contents(folders):
        looked += len(content)
        # The name counts, too.
        whole = content + b"\0" + file.encode("utf-8", "surrogateescape")
        hits += [Hit(number, file, name) for number, name, data in needles if data in whole]
    return hits, looked


def control(texts: list[str], tokenize: Tokenize | None, folder: Path) -> tuple[int, int]:
    """Plants every form of every text in files, some packed, and looks for them: (found, planted)."""
    found = planted = 0
    for number, text in enumerate(texts):
        for place, (name, data) in enumerate(forms(text, tokenize).items()):
            file = folder / f"{number}-{place}"
            content = b"before " + data + b" after"
            file.write_bytes(gzip.compress(content) if place % 3 == 1 else content)
            hits, _ = search([file], [text], tokenize)
            planted += 1
            found += any(hit.form == name for hit in hits)
            file.unlink()
    return found, planted


def _contents(places: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Every file, and what is packed in it."""
    for place in places:
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_symlink():
                yield str(file), str(file.readlink()).encode()
            elif file.is_file():
                data = file.read_bytes()
                yield str(file), data
                yield from _unpacked(file, data)


def _unpacked(file: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"\x1f\x8b"):
        try:
            yield f"{file} (unpacked)", zlib.decompressobj(31).decompress(data, _MOST_UNPACKED)
        except zlib.error:
            return
    elif data.startswith(b"PK"):
        try:
            with zipfile.ZipFile(file) as archive:
                for entry in archive.infolist():
                    if entry.file_size <= _MOST_UNPACKED:
                        yield f"{file}/{entry.filename}", archive.read(entry)
        except (zipfile.BadZipFile, OSError, RuntimeError, zlib.error, NotImplementedError, EOFError):
            return
