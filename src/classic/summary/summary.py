"""From counts to the summary: groups, shares with their intervals, what changed, and typical sentences. Plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from classic.evaluation.details import wilson
from classic.summary.names import Similarity, group_names, key_of
from classic.summary.survey import Survey
from classic.summary.tally import Entry, Quote, Tally, no_counts
from classic.types import POLARITIES, Polarity

LEAST = 5
"""Mentions an aspect, a cell or half a time line must have for its share to be told."""
MOST_ASPECTS = 500
"""Aspects of a summary; more are nobody's to read."""
_SURE = 2.576  # a change is told if its interval of 99 % leaves 0 out: many aspects are looked at
_OTHER_NAMES = 6


@dataclass(frozen=True)
class Share:
    """A share of mentions and its 95 % interval by Wilson."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Cell:
    """Counts by polarity (positive, negative, neutral) of an aspect in a period or of a product."""

    name: str
    counts: tuple[int, ...]

    @property
    def mentions(self) -> int:
        """All of them."""
        return sum(self.counts)

    @property
    def positive(self) -> Share | None:
        """The positive share; None where there are too few mentions."""
        return share(self.counts, Polarity.POSITIVE) if self.mentions >= LEAST else None


@dataclass(frozen=True)
class Change:
    """The positive share in the earlier and in the later half of the time, and the interval (99 %) of their difference."""

    before: float
    after: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether it is more than chance would make."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class AspectSummary:
    """What is said of one aspect.

    Attributes:
        name: Its usual spelling.
        names: Other names that are counted with it, the most frequent first.
        counts: Mentions by polarity; a review counts once for each name and polarity.
        shares: The share of each polarity.
        unfamiliar: Mentions in texts unlike all that the model has learned.
        periods, products: The same by period and by product, if there are any.
        change: Between the halves of the time, if there are mentions enough.
        quotes: Typical sentences of each polarity, the best first.
    """

    name: str
    names: tuple[str, ...]
    counts: tuple[int, ...]
    shares: tuple[Share, ...]
    unfamiliar: int
    periods: tuple[Cell, ...]
    products: tuple[Cell, ...]
    change: Change | None
    quotes: tuple[tuple[Quote, ...], ...]

    @property
    def mentions(self) -> int:
        """All of them."""
        return sum(self.counts)

    def share(self, polarity: Polarity) -> Share:
        """The share of a polarity."""
        return self.shares[polarity.column]


@dataclass(frozen=True)
class Summary:
    """What many reviews say.

    Attributes:
        title: Heading.
        source: Name of the file.
        model: Who found and judged the aspects, in words.
        reviews, silent, empty, undated: Reviews read, without any aspect, rows without a text, reviews without a date.
        everything: All aspects together.
        aspects: Those with mentions enough, the most frequent first.
        rare: How many names are rarer, and their mentions.
        least: Mentions an aspect needs to be shown.
        unit, periods: What the time is cut into, and the names of the parts.
        cut: The first period of the later half: about as many mentions lie before it as behind it.
        products: The names of the products that are shown.
        columns: Which column was taken for what.
    """

    title: str
    source: str
    model: str
    reviews: int
    silent: int
    empty: int
    undated: int
    everything: AspectSummary
    aspects: tuple[AspectSummary, ...]
    rare: tuple[int, int]
    least: int
    unit: str | None
    periods: tuple[str, ...]
    cut: int
    products: tuple[str, ...]
    columns: Mapping[str, str | None]


def summarise(
    tally: Tally,
    survey: Survey,
    *,
    title: str,
    model: str,
    similarity: Similarity | None = None,
    least: int = LEAST,
) -> Summary:
    """The summary of what was counted.

    Args:
        tally: The counts of all reviews.
        survey: The file they came from.
        title: Heading.
        model: Who answered, in words.
        similarity: Compares names by an encoder (`classic.summary.nearness`); spellings only, if there is none.
        least: Mentions an aspect needs to be shown by itself.
    """
    groups: dict[str, list[str]] = {}
    belongs = group_names({key: entry.mentions for key, entry in tally.entries.items()}, similarity)
    for key, leader in belongs.items():
        groups.setdefault(leader, []).append(key)
    merged = [(leader, _merge(tally, keys)) for leader, keys in groups.items()]
    ranked = sorted(merged, key=lambda each: (-each[1].mentions, each[0]))
    labels = survey.periods.labels() if survey.periods else []
    cut = middle([sum(tally.everything.periods.get(index, ())) for index in range(len(labels))])
    frequent = sum(entry.mentions >= least for _, entry in ranked[:MOST_ASPECTS])
    shown = [_aspect(name, entry, labels, cut, survey.products) for name, entry in ranked[:frequent]]
    rare = [entry.mentions for _, entry in ranked[frequent:]]
    return Summary(
        title=title,
        source=survey.path.name,
        model=model,
        reviews=tally.reviews,
        silent=tally.silent,
        empty=survey.empty,
        undated=survey.undated,
        everything=_aspect("", tally.everything, labels, cut, survey.products),
        aspects=tuple(shown),
        rare=(len(rare), sum(rare) + tally.dropped),
        least=least,
        unit=survey.periods.unit if survey.periods else None,
        periods=tuple(labels),
        cut=cut,
        products=survey.products,
        columns={name: getattr(survey.columns, name) for name in ("text", "date", "product")},
    )


def share(counts: Sequence[int], polarity: Polarity) -> Share:
    """The share of a polarity and its interval; all is possible where nothing was counted."""
    total, hits = sum(counts), counts[polarity.column]
    return Share(hits / total, *wilson(hits, total)) if total else Share(0.0, 0.0, 1.0)


def change_between(before: Sequence[int], after: Sequence[int]) -> Change | None:
    """How the positive share changed, with Newcombe's interval of a difference; None where there are too few mentions.

    Formula: d - sqrt((p2 - l2)² + (u1 - p1)²) to d + sqrt((u2 - p2)² + (p1 - l1)²), d = p2 - p1, l and u Wilson's ends
    """
    if min(sum(before), sum(after)) < 2 * LEAST:
        return None
    column = Polarity.POSITIVE.column
    p1, p2 = before[column] / sum(before), after[column] / sum(after)
    l1, u1 = wilson(before[column], sum(before), _SURE)
    l2, u2 = wilson(after[column], sum(after), _SURE)
    difference = p2 - p1
    return Change(p1, p2, difference - math.hypot(p2 - l2, u1 - p1), difference + math.hypot(u2 - p2, p1 - l1))


def _merge(tally: Tally, keys: Sequence[str]) -> Entry:
    merged = Entry()
    for key in keys:
        merged.merge(tally.entries[key])
    return merged


def _aspect(leader: str, entry: Entry, labels: Sequence[str], cut: int, products: Sequence[str]) -> AspectSummary:
    spelt = _spellings(entry, leader)
    periods = [entry.periods.get(index, no_counts()) for index in range(len(labels))]
    return AspectSummary(
        name=spelt[0] if spelt else "",
        names=tuple(spelt[1 : 1 + _OTHER_NAMES]),
        counts=tuple(entry.counts),
        shares=tuple(share(entry.counts, polarity) for polarity in POLARITIES),
        unfamiliar=entry.unfamiliar,
        periods=tuple(Cell(label, tuple(counts)) for label, counts in zip(labels, periods, strict=True)),
        products=tuple(Cell(name, tuple(entry.products.get(name, no_counts()))) for name in products),
        change=change_between(_total(periods[:cut]), _total(periods[cut:])) if labels else None,
        quotes=tuple(tuple(sentences.best()) for sentences in entry.sentences),
    )


def _spellings(entry: Entry, leader: str) -> list[str]:
    """Spellings: the leader's own first, in the singular if anybody wrote it, then the more frequent.

    Those that differ only in capitals are one, in the way most people write it.
    """
    totals: Counter[str] = Counter()
    usual: dict[str, str] = {}
    for spelling, count in entry.spellings.most_common():
        totals[spelling.casefold()] += count
        usual.setdefault(spelling.casefold(), spelling)

    def rank(letters: str) -> tuple[bool, bool, int, str]:
        return letters != leader, key_of(letters) != leader, -totals[letters], letters

    return [usual[letters] for letters in sorted(totals, key=rank)]


def middle(mentions: Sequence[int]) -> int:
    """Where to cut a row of numbers so that both parts weigh about the same; neither is empty if there are two.

    >>> middle([1, 1, 1, 5]), middle([9, 1, 1])
    (3, 1)
    """
    total = sum(mentions)
    places = range(1, len(mentions))
    return min(places, key=lambda place: abs(total - 2 * sum(mentions[:place])), default=0)


def _total(periods: Sequence[Sequence[int]]) -> list[int]:
    return [sum(counts[column] for counts in periods) for column in range(len(POLARITIES))]
