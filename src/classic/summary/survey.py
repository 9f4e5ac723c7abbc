"""The first reading of a file of reviews: what is in it, before a model is opened; and the second, review by review."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from classic.data.readers.tables import iter_table
from classic.errors import InputError
from classic.summary.columns import SAMPLE, Columns, choose_columns
from classic.summary.dates import Periods, is_day_first, parse_date

PRODUCTS = 12
"""Products that are shown by themselves; the rest are counted together."""
_STRAYS = 0.02  # share of reviews that may be strays in time
_FAR = timedelta(days=2 * 365)
_DIFFERENT = 10_000  # products that are told apart while they are counted


@dataclass(frozen=True)
class Review:
    """A review: where it stands, what it says, when (number of the period) and of which product, if that is known."""

    line: int
    text: str
    period: int | None = None
    product: str | None = None


@dataclass(frozen=True)
class Survey:
    """A file as it was found.

    Attributes:
        path: The file.
        columns: Which column is what.
        reviews: Rows with a text.
        empty: Rows without one; they are left out.
        undated: Reviews whose date cannot be read, or lies years away from all the others.
        periods: Into what the time is cut; None without dates, or if all are of one period.
        products: The most frequent ones, the first the most; none if there is but one.
        day_first: Whether 5/6/2024 is the fifth of June.
    """

    path: Path
    columns: Columns
    reviews: int
    empty: int = 0
    undated: int = 0
    periods: Periods | None = None
    products: tuple[str, ...] = ()
    day_first: bool = False


def survey(path: Path, text: str | None = None, date_column: str | None = None, product: str | None = None) -> Survey:
    """Reads a file once: it is refused before it costs anything, and its length is known.

    Args:
        path: CSV, TSV, JSONL, Parquet, Excel, or text with a review per line.
        text: The column of the reviews, if it is not to be found.
        date_column: The same for the dates; an empty name means none.
        product: The same for the products.

    Raises:
        InputError: There are no reviews, or a column that was named is not what it is said to be.
    """
    rows = iter_table(path)
    head = list(itertools.islice(rows, SAMPLE))
    columns = choose_columns([fields for _, fields in head], text, date_column, product)
    found = survey_rows((fields for _, fields in itertools.chain(head, rows)), columns, path)
    if not found.reviews:
        raise InputError(
            f"{path} has no review in its column {columns.text!r}", fix="say which column it is with --text"
        )
    if date_column and found.undated == found.reviews:
        raise InputError(f"the column {date_column!r} has no dates", fix="write them as 2024-05-31")
    return found


def survey_rows(rows: Iterable[Mapping[str, object]], columns: Columns, path: Path) -> Survey:
    """The same of rows whose columns are known; ``path`` is where they came from."""
    count = _Count()
    for fields in rows:
        count.add(fields, columns)
    day_first = bool(count.day_first)
    months = without_strays(count.months[day_first])
    dated = sum(month.reviews for month in months)
    periods = Periods.over(months[0].first, months[-1].last) if months else None
    frequent = [name for name, _ in count.products.most_common(PRODUCTS)]
    return Survey(
        path,
        columns,
        count.reviews,
        count.empty,
        count.reviews - dated if columns.date else 0,
        periods if periods and periods.index(periods.last) else None,
        tuple(frequent) if len(frequent) > 1 else (),
        day_first,
    )


def iter_reviews(found: Survey) -> Iterator[Review]:
    """The reviews of a surveyed file, one after another."""
    reviews = (as_review(line, fields, found) for line, fields in iter_table(found.path))
    return (review for review in reviews if review.text)


def as_review(line: int, fields: Mapping[str, object], found: Survey) -> Review:
    """A row of a survey's table as a review."""
    columns, periods = found.columns, found.periods
    day = parse_date(fields.get(columns.date), day_first=found.day_first) if columns.date and periods else None
    product = _text(fields.get(columns.product)) if columns.product else ""
    inside = day is not None and periods is not None and periods.first <= day <= periods.last
    return Review(
        line,
        _text(fields.get(columns.text)),
        periods.index(day) if inside and periods and day else None,
        product if product in found.products else None,
    )


@dataclass(frozen=True)
class Month:
    """Reviews of one month, its first and its last day that has any."""

    first: date
    last: date
    reviews: int = 1

    def plus(self, other: Month) -> Month:
        """Both together."""
        return Month(min(self.first, other.first), max(self.last, other.last), self.reviews + other.reviews)


def without_strays(months: Mapping[tuple[int, int], Month]) -> list[Month]:
    """The months in order, without a few reviews at an end that lie years away: 1970 is a date nobody entered.

    One such review would make years of the weeks.
    """
    ranked = [months[key] for key in sorted(months)]
    few = _STRAYS * sum(month.reviews for month in ranked)
    for kept in (ranked, ranked[::-1]):
        seen, cut = 0, 0
        for place, (month, following) in enumerate(itertools.pairwise(kept), start=1):
            seen += month.reviews
            if seen > few:
                break
            if abs(following.first - month.last) > _FAR:
                cut = place
        for month in kept[:cut]:
            ranked.remove(month)
    return ranked


class _Count:
    """What is counted while all rows go by; both readings of a date, until it is known which is meant."""

    def __init__(self) -> None:
        self.reviews = self.empty = 0
        self.products: Counter[str] = Counter()
        self.day_first: bool | None = None
        self.months: dict[bool, dict[tuple[int, int], Month]] = {False: {}, True: {}}

    def add(self, fields: Mapping[str, object], columns: Columns) -> None:
        if not _text(fields.get(columns.text)):
            self.empty += 1
            return
        self.reviews += 1
        if columns.date is not None:
            self._date(fields.get(columns.date))
        name = _text(fields.get(columns.product)) if columns.product else ""
        if name and (len(self.products) < _DIFFERENT or name in self.products):
            self.products[name] += 1

    def _date(self, cell: object) -> None:
        if self.day_first is None:
            self.day_first = is_day_first(cell)
        for way, months in self.months.items():
            if (day := parse_date(cell, day_first=way)) is not None:
                own, key = Month(day, day), (day.year, day.month)
                months[key] = months[key].plus(own) if key in months else own


def _text(cell: object) -> str:
    """A cell as text; what is no text in Parquet or JSON has none, and half a surrogate pair is no character."""
    return "" if cell is None or isinstance(cell, dict | list) else str(cell).strip().encode(errors="replace").decode()
