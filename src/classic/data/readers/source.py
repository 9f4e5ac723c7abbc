"""Where the bytes of a data file come from, and how they become located lines of text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from classic.data.readers.columns import AS_KNOWN, Columns
from classic.errors import DataError

MAX_LINE_BYTES = 1 << 20
"""A sentence of 10,000 characters needs at most 120,000 bytes even if every character is escaped."""

MAX_WHOLE_FILE_BYTES = 128 << 20
"""Cap for the formats that have to be held in memory as a whole."""

ENDINGS = {".csv", ".tsv", ".txt", ".jsonl", ".json", ".xml", ".parquet", ".xlsx"}
"""How files of reviews are usually called; what is in them tells their format."""

SAVE_AS = "save the file as UTF-8, which Excel calls CSV UTF-8"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_ENCODINGS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\0\0\xfe\xff", "UTF-32"))
_ZIP_ERRORS = (OSError, RuntimeError, NotImplementedError, ValueError, EOFError)


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file; lines and columns start at 1."""

    path: str
    line: int | None = None
    column: int | None = None

    def error(self, what: str, *, expected: str = "", fix: str = "") -> DataError:
        """The error that points at this place."""
        return DataError(what, path=self.path, line=self.line, column=self.column, expected=expected, fix=fix)


@dataclass(frozen=True, slots=True)
class Source:
    """A regular file, or one member of a zip archive (``reviews.zip/folder/phone.txt``)."""

    path: str
    file: Path
    member: str | None = None
    columns: Columns = AS_KNOWN

    def open(self) -> BinaryIO:
        """Opens the bytes for reading, seekable."""
        if self.member is not None:
            return io.BytesIO(_read_member(self.file, self.member))
        try:
            return self.file.open("rb")
        except OSError as error:
            raise Place(self.path).error(
                f"the file cannot be opened ({error.strerror})", fix="check the name and the permissions"
            ) from error

    def head(self, size: int) -> bytes:
        """The first ``size`` bytes."""
        with self.open() as stream:
            return stream.read(size)

    def read_all(self, limit: int = MAX_WHOLE_FILE_BYTES) -> bytes:
        """All bytes of a file that has to be parsed as a whole."""
        with self.open() as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise Place(self.path).error(
                f"the file is larger than {limit >> 20} MiB",
                expected="a format that can be streamed for files of this size",
                fix="split the file, or use CSV, JSONL or Parquet",
            )
        return content


def locate(path: str | Path) -> Source:
    """Finds the file, or the zip archive on the way to it."""
    wanted = Path(path)
    try:
        if wanted.is_file():
            return Source(str(path), wanted)
        if wanted.is_dir():
            raise Place(str(path)).error(
                "this is a folder", expected="a data file", fix="name a file inside the folder"
            )
        if wanted.exists():
            raise Place(str(path)).error("this is not a regular file", expected="a data file")
        for parent in wanted.parents:
            if parent.is_file():
                return Source(str(path), parent, wanted.relative_to(parent).as_posix())
    except OSError as error:
        raise Place(str(path)).error(f"the file cannot be reached ({error.strerror})") from error
    meant = meant_file(wanted)
    raise Place(str(path)).error(
        "there is no such file", fix=f"did you mean {str(meant)!r}?" if meant else "check the path"
    )


def meant_file(wanted: Path) -> Path | None:
    """The file beside a missing one whose name is nearly its own, perhaps with another ending.

    Only what stands before the ending is compared, or every .csv would be like every other one.
    """
    try:
        names = sorted(entry.name for entry in wanted.parent.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return None
    endings = {*ENDINGS, wanted.suffix} - {""}
    # Of files that differ in nothing but their endings, the one that ends as was said comes last and counts.
    names.sort(key=lambda name: Path(name).suffix == wanted.suffix)
    stems = {Path(name).stem: name for name in names if Path(name).suffix.casefold() in endings}
    near = get_close_matches(wanted.stem, stems, n=1, cutoff=0.8)
    return wanted.with_name(stems[near[0]]) if near else None


def zip_members(file: Path) -> list[str]:
    """The names of the files in a zip archive."""
    # Imported here because only the two NLTK collections come as zip files.
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except (*_ZIP_ERRORS, zipfile.BadZipFile) as error:
        raise Place(str(file)).error("this is not a readable zip archive", fix="fetch the file again") from error


def _read_member(file: Path, member: str) -> bytes:
    import zipfile
    import zlib

    names = zip_members(file)
    found = [name for name in names if name == member] or [name for name in names if name.endswith(f"/{member}")]
    place = Place(f"{file}/{member}")
    if len(found) != 1:
        state = "more than one member" if found else "no member"
        raise place.error(f"the archive has {state} of this name", expected=f"one of {', '.join(names[:20])}")
    try:
        with zipfile.ZipFile(file) as archive, archive.open(found[0]) as stream:
            # The size in the archive's own table is not believed: a bomb lies about it.
            content = stream.read(MAX_WHOLE_FILE_BYTES + 1)
    except (*_ZIP_ERRORS, zipfile.BadZipFile, zlib.error) as error:
        raise place.error(
            "the member cannot be unpacked", fix="unpack the archive yourself and name the file"
        ) from error
    if len(content) > MAX_WHOLE_FILE_BYTES:
        raise place.error(f"the member is larger than {MAX_WHOLE_FILE_BYTES >> 20} MiB when unpacked")
    return content


def decode(raw: bytes, path: str, line: int = 1) -> str:
    """Decodes UTF-8 and refuses NUL; errors know line and column.

    Args:
        raw: One line, or a whole file when ``line`` is 1.
        path: For the error message.
        line: The line number of the first byte.
    """
    if line == 1:
        refuse_other_encodings(raw, path)
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        raise position(before, len(before), path, line).error(
            f"byte 0x{raw[error.start]:02x} is not valid UTF-8",
            expected="text encoded as UTF-8",
            fix=f"{SAVE_AS} (iconv -f windows-1252 -t utf-8 old > new)",
        ) from None
    if (nul := text.find("\0")) >= 0:
        raise position(text, nul, path, line).error(
            "a NUL character",
            expected="plain text encoded as UTF-8",
            fix="the file is binary, damaged or UTF-16; save it as UTF-8 text",
        )
    return text


def refuse_other_encodings(head: bytes, path: str) -> None:
    """Refuses what begins with the mark of UTF-16, which Excel calls Unicode text, or of UTF-32."""
    for mark, name in _OTHER_ENCODINGS:
        if head.startswith(mark):
            raise Place(path, 1, 1).error(
                f"the file is encoded as {name}",
                expected="text encoded as UTF-8",
                fix=f"{SAVE_AS} (iconv -f {name.lower()} -t utf-8 old > new)",
            )


def position(text: str, offset: int, path: str, first_line: int = 1) -> Place:
    """The line and column of a character offset."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(path, first_line + text.count("\n", 0, offset), offset - line_start + 1)


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yields (line number, line with its line end). Only LF ends a line, so numbers are an editor's."""
    with source.open() as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise Place(source.path, number, 1).error(
                    f"the line is longer than {MAX_LINE_BYTES:,} bytes",
                    expected="one example per line",
                    fix="check that the file has line ends and is a text file",
                )
            yield number, decode(raw, source.path, number)


def without_line_end(line: str) -> str:
    """The line without its LF or CR LF."""
    return line.removesuffix("\n").removesuffix("\r")
