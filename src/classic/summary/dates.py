"""Dates as people write them, and the periods a range of dates is cut into."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

Unit = Literal["day", "week", "month", "quarter", "year"]

_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[t ].*)?")
_NUMBERS = re.compile(r"(\d{1,2})([./-]|\s)\s?(\d{1,2})(?:\2|,?\s)\s?(\d{4}|\d\d)(?:,?\s.*)?")
_WORDS = re.compile(
    r"(?:[a-z]{3,9},?\s)?(?:(\d{1,2})(?:st|nd|rd|th)?\s)?([a-z]{3,9})\.?(?:\s(\d{1,2})(?:st|nd|rd|th)?)?,?\s(\d{4}).*"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEARS = (1970, 2100)  # of reviews: what lies outside is no date that somebody meant
_SECONDS = (10**8, 10**10)  # Unix time from 1973 to 2286; a thousand times as much are milliseconds
_LONGEST: tuple[tuple[Unit, int], ...] = (("day", 31), ("week", 26 * 7), ("month", 3 * 366), ("quarter", 9 * 366))


def parse_date(value: object, *, day_first: bool = False) -> date | None:
    """The day that a cell means; None if it is none.

    ISO dates, 31.05.2024, 31.05.24, 5/31/2024, "31 May 2024", "May 31, 2024", Unix time in seconds or milliseconds.

    >>> parse_date("2024-05-31T09:30:00Z"), parse_date("5/31/2024"), parse_date("two days ago")
    (datetime.date(2024, 5, 31), datetime.date(2024, 5, 31), None)

    Args:
        value: A text, a number, or what Excel and Parquet give.
        day_first: Whether 5/6/2024 is the fifth of June.
    """
    day = value if isinstance(value, date) else _parse(value, day_first)
    day = day.date() if isinstance(day, datetime) else day
    return day if day is not None and _YEARS[0] <= day.year <= _YEARS[1] else None


def _parse(value: object, day_first: bool) -> date | None:
    text = "" if value is None or isinstance(value, bool) else str(value).strip().casefold()
    try:
        if found := _ISO.fullmatch(text):
            return date(int(found[1]), int(found[2]), int(found[3] or 1))
        if found := _NUMBERS.fullmatch(text):
            first, second, year = int(found[1]), int(found[3]), _year(found[4])
            if found[2] == "." or day_first:
                first, second = second, first
            return date(year, first, second)
        if (found := _WORDS.fullmatch(text)) and found[2][:3] in _MONTHS:
            return date(int(found[4]), _MONTHS.index(found[2][:3]) + 1, int(found[1] or found[3] or 1))
        number = float(text)
    except ValueError:
        return None
    seconds = number / 1000 if number >= _SECONDS[1] else number
    return datetime.fromtimestamp(seconds, UTC).date() if _SECONDS[0] <= seconds < _SECONDS[1] else None


def _year(digits: str) -> int:
    """A year of four digits, or of two: 24 is 2024, and 70 is 1970."""
    year = int(digits)
    return year if len(digits) > 2 else year + (2000 if year < 70 else 1900)


def has_short_year(value: object) -> bool:
    """Whether the year has two digits, so that a number of a version, 4.12.23, could be meant as well."""
    found = _NUMBERS.fullmatch(str(value).strip())
    return found is not None and len(found[4]) == 2


def is_day_first(value: object) -> bool | None:
    """Whether 31/5/2024 or 5/31/2024 is written; None if the value does not tell."""
    found = _NUMBERS.fullmatch(str(value).strip())
    if not found or found[2] == "." or (int(found[1]) > 12) == (int(found[3]) > 12):
        return None
    return int(found[1]) > 12


@dataclass(frozen=True)
class Periods:
    """A range of days in equal parts; never more than some three dozen.

    >>> months = Periods.over(date(2024, 1, 20), date(2024, 12, 1))
    >>> months.unit, len(months.labels()), months.label(months.index(date(2024, 5, 31)))
    ('month', 12, '2024-05')
    """

    first: date
    last: date
    unit: Unit

    @classmethod
    def over(cls, first: date, last: date) -> Periods:
        """Days for a month, weeks for half a year, months for three years, then quarters and years."""
        days = (last - first).days
        return cls(first, last, next((unit for unit, longest in _LONGEST if days <= longest), "year"))

    def index(self, day: date) -> int:
        """Which period a day lies in, from 0."""
        return self._number(day) - self._number(self.first)

    def labels(self) -> list[str]:
        """The names of all of them, in order."""
        return [self.label(index) for index in range(self.index(self.last) + 1)]

    def label(self, index: int) -> str:
        """The name of one: 2024-05-31, 2024-05, 2024 Q2, 2024."""
        number = self._number(self.first) + index
        if self.unit in ("day", "week"):
            return (date.min + timedelta(days=number * (7 if self.unit == "week" else 1))).isoformat()
        if self.unit == "month":
            return f"{number // 12:04}-{number % 12 + 1:02}"
        return f"{number // 4} Q{number % 4 + 1}" if self.unit == "quarter" else str(number)

    def _number(self, day: date) -> int:
        if self.unit in ("day", "week"):  # the first day of all was a Monday
            return (day - date.min).days // (7 if self.unit == "week" else 1)
        if self.unit == "month":
            return day.year * 12 + day.month - 1
        return day.year * 4 + (day.month - 1) // 3 if self.unit == "quarter" else day.year
