"""Writing examples as CSV, TSV or JSONL."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from classic.errors import InputError
from classic.types import Example

WRITABLE = (".csv", ".tsv", ".jsonl")
_HEADER = ("sentence", "aspect", "polarity", "start", "end")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_examples(examples: Iterable[Example], path: str | Path, *, raw: bool = False) -> int:
    """Writes examples in the format the ending of the name tells.

    In CSV and TSV a quote is put before every text that a spreadsheet would run as a formula; offsets are
    moved along with it. JSONL, and CSV with ``raw``, are read back exactly as they were.

    Args:
        examples: What to write.
        path: Ends in .csv, .tsv or .jsonl.
        raw: Leaves texts that look like formulas as they are.

    Returns:
        How many examples were guarded against being run as a formula.
    """
    target = Path(path)
    suffix = target.suffix.casefold()
    if suffix not in WRITABLE:
        raise InputError(f"cannot write {target.name!r}", fix=f"let the name end in {', '.join(WRITABLE)}")
    # Written beside the target and renamed, so that an error in the middle leaves no half a file.
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            if suffix == ".jsonl":
                guarded = _write_jsonl(examples, stream)
            else:
                guarded = _write_delimited(examples, stream, "\t" if suffix == ".tsv" else ",", raw)
        partial.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {str(target)!r} ({error.strerror})", fix="choose another place") from error
    finally:
        partial.unlink(missing_ok=True)
    return guarded


def _write_jsonl(examples: Iterable[Example], stream: TextIO) -> int:
    for example in examples:
        stream.write(json.dumps(_as_object(example), ensure_ascii=False) + "\n")
    return 0


def _write_delimited(examples: Iterable[Example], stream: TextIO, delimiter: str, raw: bool) -> int:
    # CR LF also makes the writer put quotes around texts with a lone CR.
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(_HEADER)
    guarded = 0
    for example in examples:
        cells = _cells(example)
        safe = cells if raw else _guarded(example)
        guarded += safe != cells
        writer.writerow(safe)
    return guarded


def _as_object(example: Example) -> dict[str, object]:
    fields: dict[str, object] = {"sentence": example.sentence, "aspect": example.aspect}
    if example.polarity is not None:
        fields["polarity"] = example.polarity.value
    if example.span is not None:
        fields["start"], fields["end"] = example.span
    return fields


def _cells(example: Example) -> list[str | int]:
    polarity = "" if example.polarity is None else example.polarity.value
    return [example.sentence, example.aspect, polarity, *(example.span or ("", ""))]


def _guarded(example: Example) -> list[str | int]:
    sentence, aspect = _is_formula(example.sentence), _is_formula(example.aspect)
    span = example.span
    if span is not None:
        # A guarded aspect is not what stands at the offsets; the quote before a sentence moves them by one.
        span = None if aspect else (span[0] + sentence, span[1] + sentence)
    return _cells(
        Example(
            "'" * sentence + example.sentence,
            "'" * aspect + example.aspect,
            example.polarity,
            span,
        )
    )


def safe_cell(text: str) -> str:
    """The text with a quote before it where a spreadsheet would run it as a formula."""
    return "'" + text if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Spreadsheets skip leading white space, so we do; some also look at later lines of a cell."""
    return text.startswith(_FORMULA) or any(
        line.strip().startswith(_FORMULA) for line in text.replace("\r", "\n").split("\n")
    )
