"""What every reader has in common: names of fields, labels, and the checks each example must pass."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from classic.data.readers.columns import AS_KNOWN, FIELD_NAMES, Columns
from classic.data.readers.source import Place
from classic.errors import DataError
from classic.types import Example, Polarity

MAX_TEXT = 10_000
"""Longest sentence or aspect, in characters."""

WORD_LABELS: Mapping[str, Polarity] = {
    "positive": Polarity.POSITIVE,
    "negative": Polarity.NEGATIVE,
    "neutral": Polarity.NEUTRAL,
    "pos": Polarity.POSITIVE,
    "neg": Polarity.NEGATIVE,
    "neu": Polarity.NEUTRAL,
    "+": Polarity.POSITIVE,
    "-": Polarity.NEGATIVE,
}

STARS = "for a table file, --stars 2:4 tells the command line what they mean"
"""How it is told; who has another way to tell it says so instead."""

_FORBIDDEN = re.compile("[\0\ud800-\udfff]")
_MOST_NAMED = 20  # columns that an error lists
_NUMBER = re.compile(r"\s*[+-]?[0-9]+(?:[.,][0-9]+)?\s*")
_WHOLE_NUMBER = re.compile(r"\s*[0-9]{1,9}\s*")


@dataclass(frozen=True, slots=True)
class Row:
    """An example and the physical line it stands on (for Parquet: the row number).

    Attributes:
        example: What the row says.
        line: Where it stands.
        fields: Everything that stands there, by the names the file uses; see `own_names` for tables.
    """

    example: Example
    line: int
    fields: Mapping[str, object] = dataclasses.field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that makes no example; the rows behind it can still be read."""

    error: DataError
    line: int
    fields: Mapping[str, object] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader left out on purpose; never contains review text."""

    kind: str
    line: int
    message: str


Where = Callable[[str], Place]
"""Tells the place of a field by its canonical name; called only when something is wrong."""


def read_row(
    values: Mapping[str, object],
    line: int,
    fields: Mapping[str, object],
    *,
    labelled: bool,
    where: Where,
    labels: Mapping[str, Polarity] = WORD_LABELS,
    told: Columns = AS_KNOWN,
) -> Row | BadRow:
    """A row from raw values by canonical field name, good or bad; ``fields`` is what the file says."""
    try:
        if told.stars:
            label = told.label(values.get("polarity"))
            if labelled and not (isinstance(label, str) and label.strip().casefold() in labels):
                raise _no_number(label, where("polarity"))
            values = {**values, "polarity": label}
        return Row(make_example(values, labelled=labelled, where=where, labels=labels), line, fields)
    except DataError as error:
        return BadRow(error, line, fields)


def _no_number(value: object, place: Place) -> DataError:
    missing = value is None or (isinstance(value, str) and not value.strip())
    return place.error(
        "the rating is missing" if missing else f"unknown rating {_shown(value)}",
        expected="a number, because --stars was given",
        fix="write a number, or remove the row",
    )


def match_fields(names: Iterable[str], where: Callable[[int], Place], told: Columns = AS_KNOWN) -> dict[str, int]:
    """Maps canonical field names to positions among ``names``; unknown names are ignored."""
    names = list(names)
    found: dict[str, int] = {}
    for index, name in enumerate(names):
        plain = name.strip().casefold()
        for field, known in FIELD_NAMES.items():
            if told.are(field, plain):
                if field in found:
                    raise where(index).error(
                        f"a second field for the {field}",
                        expected=f"exactly one of {', '.join(known)}",
                        fix="remove or rename one of the two",
                    )
                found[field] = index
    for field, column in told.names.items():
        if field not in found:
            raise where(0).error(
                f"no column {column!r}, which was named for the {field}",
                expected=f"one of {_listed(names)}",
                fix="name a column as the first line of the table has it",
            )
    return found


def require_fields(
    found: Container[str], labelled: bool, where: Callable[[], Place], seen: str = "", names: Iterable[str] = ()
) -> None:
    """Refuses data without sentence, aspect or (when labelled) polarity; ``names`` are those the data has."""
    needed = ("sentence", "aspect", "polarity") if labelled else ("sentence", "aspect")
    fix = "name the fields sentence, aspect, polarity (and optionally start, end)"
    if not labelled:
        fix = "name the fields sentence and aspect; to have aspects found, use `classic find`, in Python Predictor.find"
    missing = [field for field in needed if field not in found]
    if not missing:
        return
    if seen:
        fix += f"; or keep your names and say which is which: {' '.join(f'--column {each}=NAME' for each in missing)}"
    names = list(names)
    there = f"; there are {_listed(names)}" if names else ""
    raise where().error(
        f"no field for the {missing[0]}{seen}",
        expected=f"a field called {' or '.join(FIELD_NAMES[missing[0]])}{there}",
        fix=_meant(missing[0], names) or fix,
    )


def _listed(names: list[str]) -> str:
    more = ", …" if len(names) > _MOST_NAMED else ""
    return ", ".join(_shown(name) for name in names[:_MOST_NAMED]) + more


def _meant(field: str, names: Iterable[str]) -> str:
    for name in names:
        if get_close_matches(name.strip().casefold(), FIELD_NAMES[field], n=1, cutoff=0.75):
            return f"did you mean {field!r} by {_shown(name)}? Rename it"
    return ""


def parse_polarity(value: object, labelled: bool, where: Where, labels: Mapping[str, Polarity]) -> Polarity | None:
    """Turns a label into a polarity; where none is needed, one that is missing or unknown is none."""
    polarity = labels.get(value.strip().casefold()) if isinstance(value, str) else None
    if polarity is not None or not labelled:
        return polarity
    if value is None or (isinstance(value, str) and not value.strip()):
        raise where("polarity").error(
            "the polarity is missing", expected=f"one of {', '.join(labels)}", fix="add the label"
        )
    close = get_close_matches(value.strip().casefold(), labels, n=1, cutoff=0.75) if isinstance(value, str) else []
    fix = "write the label as a word"
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        fix += f"; numbers mean different things in different data sets; {STARS}"
    raise where("polarity").error(
        f"unknown label {_shown(value)}" + (f", did you mean {close[0]!r}?" if close else ""),
        expected=f"one of {', '.join(labels)}",
        fix=fix,
    )


def make_example(
    values: Mapping[str, object],
    *,
    labelled: bool,
    where: Where,
    labels: Mapping[str, Polarity] = WORD_LABELS,
) -> Example:
    """Checks the raw values of one example, by canonical field name, and builds it."""
    sentence = _text(values.get("sentence"), "sentence", where)
    aspect = _text(values.get("aspect"), "aspect", where)
    polarity = parse_polarity(values.get("polarity"), labelled, where, labels)
    start = _offset(values.get("start"), "start", where)
    end = _offset(values.get("end"), "end", where)
    if start is None:
        if end is not None:
            raise where("end").error("an end without a start", expected="both or none", fix="add the start")
        return Example(sentence, aspect, polarity)
    span = (start, start + len(aspect) if end is None else end)
    check_span(sentence, aspect, span, where)
    return Example(sentence, aspect, polarity, span)


def check_span(sentence: str, aspect: str, span: tuple[int, int], where: Where) -> None:
    """The characters from start to end must be the aspect; only upper and lower case may differ."""
    start, end = span
    if end > len(sentence) or sentence[start:end].casefold() != aspect.casefold():
        found = sentence.find(aspect)
        hint = f"the aspect first stands at {found}" if found >= 0 else "the aspect is not in the sentence"
        raise where("start").error(
            f"characters {start} to {end} of the sentence are not the aspect",
            expected="offsets in characters, counted from 0, the end exclusive",
            fix=f"{hint}; correct the offsets or leave them out",
        )


def _text(value: object, field: str, where: Where) -> str:
    if not isinstance(value, str):
        found = "no value" if value is None else f"a value of type {type(value).__name__}"
        raise where(field).error(f"{found} for the {field}", expected="a text", fix=f"give the {field} as text")
    if not value.strip():
        raise where(field).error(f"the {field} is empty", expected="a text", fix="fill it in or remove the row")
    if len(value) > MAX_TEXT:
        raise where(field).error(
            f"the {field} has {len(value):,} characters",
            expected=f"at most {MAX_TEXT:,}",
            fix="split the review into sentences",
        )
    if bad := _FORBIDDEN.search(value):
        kind = "a NUL character" if bad.group() == "\0" else f"half a surrogate pair (U+{ord(bad.group()):04X})"
        raise where(field).error(
            f"{kind} in the {field}, at character {bad.start()}",
            expected="valid Unicode text",
            fix="write the file again as UTF-8 from the original text",
        )
    return value


def _offset(value: object, field: str, where: Where) -> int | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    raise where(field).error(
        f"{_shown(value)} is not a position", expected="a whole number, 0 or more", fix=f"correct the {field}"
    )


def _shown(value: object) -> str:
    """A short value as it is; a long one could be a review in the wrong column and is not repeated."""
    if isinstance(value, str) and len(value) > 20:
        return f"of {len(value)} characters"
    return ascii(value) if isinstance(value, (str, int, float, bool)) else f"of type {type(value).__name__}"
