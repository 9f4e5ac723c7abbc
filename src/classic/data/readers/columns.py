"""What the columns of a table are: by the names we know, or as somebody says."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from classic.errors import InputError, unknown_name

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "sentence": ("sentence", "text", "review"),
    "aspect": ("aspect", "term", "span_text"),
    "polarity": ("polarity", "label", "sentiment"),
    "start": ("start", "from"),
    "end": ("end", "to"),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """What somebody says about a table whose columns have names of their own.

    >>> told = Columns({"aspect": "feature", "polarity": "stars"}, stars=(2, 4))
    >>> [told.label(cell) for cell in ("1", "3", "4,5", "neutral")]
    ['negative', 'neutral', 'positive', 'neutral']

    Attributes:
        names: The column of a field, such as ``{"aspect": "feature"}``; fields that are left out go by the known names.
        stars: What numbers in the column of polarities mean: up to the first negative, from the second on positive, and
            neutral between; None where they mean nothing.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    stars: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in self.names:
            if name not in FIELD_NAMES:
                raise unknown_name("field", name, list(FIELD_NAMES))
        plain = [column.strip().casefold() for column in self.names.values()]
        if len(set(plain)) < len(plain):
            raise InputError("one column is named for two fields", fix="name each column once")
        if self.stars is not None and not self.stars[0] < self.stars[1]:
            low, high = self.stars
            raise InputError(
                f"stars are negative up to {low:g} and positive from {high:g}", fix="give the smaller number first"
            )

    def __bool__(self) -> bool:
        return bool(self.names) or self.stars is not None

    def are(self, field: str, plain: str) -> bool:
        """Whether a column, by its name in small letters, is that of a field."""
        if field in self.names:
            return plain == self.names[field].strip().casefold()
        return plain in FIELD_NAMES[field] and plain not in self.spelt

    @property
    def spelt(self) -> set[str]:
        """The names that were said, as they are compared."""
        return {name.strip().casefold() for name in self.names.values()}

    def label(self, value: object) -> object:
        """A cell of the column of polarities, a number turned into a word if numbers mean something."""
        number = _number(value)
        if self.stars is None or number is None:
            return value
        low, high = self.stars
        return "positive" if number >= high else "negative" if number <= low else "neutral"


AS_KNOWN = Columns()


def unique_names(names: Iterable[str]) -> list[str]:
    """The names of a header, the second of two equal ones with a number, so that no column hides another.

    >>> unique_names(["note", "note", "note_2"])
    ['note', 'note_3', 'note_2']
    """
    names = list(names)
    taken, found = set(names), dict.fromkeys(names, 0)
    unique = []
    for name in names:
        own = name if not found[name] else free_name(name, taken)
        found[name] += 1
        taken.add(own)
        unique.append(own)
    return unique


def own_names(names: Iterable[str], told: Columns = AS_KNOWN) -> list[str]:
    """Under which names the columns of a table are given: each its own, and a field's only to the column of the field.

    >>> own_names(["sentence", "comment", "note", "note"], Columns({"sentence": "comment"}))
    ['input_sentence', 'comment', 'note', 'note_2']
    """
    unique = unique_names(names)
    others = {field for field in FIELD_NAMES if not told.are(field, field)}
    return list(beside(unique, others).values())


def beside(names: Iterable[str], reserved: set[str]) -> dict[str, str]:
    """Names for columns of the input beside reserved ones: ``input_`` goes before, and a number behind what is not free.

    >>> beside(["input_polarity", "polarity"], {"polarity"})
    {'input_polarity': 'input_polarity', 'polarity': 'input_polarity_2'}
    """
    names = list(names)
    taken = reserved.union(names)
    return {name: free_name(f"input_{name}", taken) if name in reserved else name for name in names}


def free_name(name: str, taken: Container[str]) -> str:
    """A name, with the first number from 2 on under which it is free if it is taken itself."""
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _number(value: object) -> float | None:
    """A number in a cell; the comma of many countries is a point."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value.replace(",", ".") if isinstance(value, str) else value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
