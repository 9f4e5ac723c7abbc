"""Which column of a table has the reviews, which the dates, which the products; by name, or else by what is in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from classic.errors import InputError, unknown_name
from classic.summary.dates import has_short_year, parse_date

SAMPLE = 200
"""Rows that are looked at."""

TEXT = (
    *("review", "text", "sentence", "review text", "review body", "reviews text", "comment", "comments", "body"),
    *("content", "feedback", "message", "answer", "verbatim", "description"),
)
DATE = (
    *("date", "review date", "created", "created at", "timestamp", "time", "datetime", "day", "month", "review time"),
    *("unix review time", "submitted", "submitted at", "submission date", "posted", "posted at", "published at", "at"),
)
PRODUCT = (
    *("product", "product name", "product title", "item", "item name", "product id", "asin", "parent asin", "sku"),
    *("model", "brand", "hotel", "restaurant", "business", "business id", "store", "branch", "location", "place"),
    *("app", "course", "title"),
)
_BETWEEN = re.compile("[^a-z0-9]+")  # the words of a name
_MEAN_LENGTH = 20  # characters that the texts of a column without a known name have at least
_DATED = 0.8  # share of cells that must be dates


@dataclass(frozen=True)
class Columns:
    """The columns in use; None where there is none."""

    text: str
    date: str | None = None
    product: str | None = None


def choose_columns(
    rows: Sequence[dict[str, object]], text: str | None = None, date: str | None = None, product: str | None = None
) -> Columns:
    """Finds the columns among the first rows of a table; those that are named are taken.

    Args:
        rows: The first rows, by column name.
        text: The column of the reviews, if somebody said which.
        date: The same for the dates; an empty name means none.
        product: The same for the products.

    Raises:
        InputError: There is no such column, or none with reviews in it.
    """
    if not rows:
        raise InputError(
            "the file has no rows", fix="give one with a review in each row, below the header if it has one"
        )
    names = list(dict.fromkeys(name for row in rows for name in row))
    for given in filter(None, (text, date, product)):
        if given not in names:
            raise unknown_name("column", given, names)
    chosen = text or text_column(rows, names)
    if chosen is None:
        raise InputError("no column has reviews in it", fix=f"say which it is: --text with one of {', '.join(names)}")
    rest = [name for name in names if name != chosen]
    if date is None:
        date = date_column(rows, rest)
    if product is None:
        product = product_column(rows, [name for name in rest if name != date])
    return Columns(chosen, date or None, product or None)


def text_column(rows: Sequence[dict[str, object]], names: Sequence[str]) -> str | None:
    """The column of the reviews: one with a name that is known, or that with the longest texts."""
    return column_called(TEXT, names) or _longest(rows, names)


def date_column(rows: Sequence[dict[str, object]], names: Sequence[str]) -> str | None:
    """A column with dates in it, if possible one with a name that is known."""
    dated = [name for name in names if _share_of_dates(rows, name) >= _DATED]
    return column_called(DATE, dated) or next((name for name in dated if _spelt_out(rows, name)), None)


def product_column(rows: Sequence[dict[str, object]], names: Sequence[str]) -> str | None:
    """A column with the name of a product, with values that come more than once."""
    return column_called(PRODUCT, [name for name in names if _repeats(rows, name)])


def column_called(known: Sequence[str], names: Sequence[str]) -> str | None:
    """The name that is the earliest of those known, however its words are written.

    >>> column_called(("review text", "text"), ["id", "text", "ReviewText"])
    'ReviewText'
    """
    written = {_plain(name): name for name in reversed(names)}
    return next((written[_plain(name)] for name in known if _plain(name) in written), None)


def _plain(name: str) -> str:
    """A name as it is compared: reviewText, review_text and reviewtext are one."""
    return _BETWEEN.sub("", name.casefold())


def _longest(rows: Sequence[dict[str, object]], names: Sequence[str]) -> str | None:
    """The column with the longest texts, if they are long enough to be reviews."""

    def length(name: str) -> float:
        texts = [value for row in rows if isinstance(value := row.get(name), str)]
        return sum(len(text) for text in texts if " " in text) / max(1, len(texts))

    best = max(names, key=length, default=None)
    return best if best is not None and length(best) >= _MEAN_LENGTH else None


def _cells(rows: Sequence[dict[str, object]], name: str) -> list[object]:
    return [value for row in rows if (value := row.get(name)) is not None and str(value).strip()]


def _share_of_dates(rows: Sequence[dict[str, object]], name: str) -> float:
    cells = _cells(rows, name)
    # Day and month may stand the other way round; which it is, is seen when all rows are read.
    dated = sum(parse_date(cell) is not None or parse_date(cell, day_first=True) is not None for cell in cells)
    return dated / len(cells) if cells else 0.0


def _spelt_out(rows: Sequence[dict[str, object]], name: str) -> bool:
    """Whether no number could be meant by it: a price of 1500000000 is no date, nor is a version 4.12.23."""
    return not any(_is_number(cell) or has_short_year(cell) for cell in _cells(rows, name))


def _is_number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True


def _repeats(rows: Sequence[dict[str, object]], name: str) -> bool:
    """Whether values come more than once: a title of every review's own is no product."""
    cells = [str(cell) for cell in _cells(rows, name)]
    return bool(cells) and len(set(cells)) <= max(1, len(cells) // 2)
