"""Counting what is found while reviews go by. Memory stays the same, however many they are.

There are at most so many names, a few spellings and sentences of each, a few dozen periods and a dozen products. When there
are too many names, the rarest are let go of and counted together.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from classic.summary.names import key_of
from classic.summary.survey import Review
from classic.types import POLARITIES, Found, Polarity

MOST_NAMES = 8_000
SENTENCES = 3
"""Typical sentences that are kept of each name and polarity."""
_SPELLINGS = 12
_LONGEST = 280  # characters of a sentence that is shown
_GOOD_LENGTH = (40, 160)  # characters of one that is easily read


@dataclass(frozen=True, slots=True, order=True)
class Quote:
    """A typical sentence. The better comes last; of equals, the first in the file.

    Attributes:
        score: How typical it is: how sure the answer is, less what its length costs.
        line: Minus the line of the review.
        sentence: The sentence.
        start, end: The aspect's characters in it.
    """

    score: float
    line: int
    sentence: str
    start: int
    end: int


class Sentences:
    """The best few sentences of those that were shown to it; each only once."""

    def __init__(self) -> None:
        self.kept: list[Quote] = []

    def add(self, quote: Quote) -> None:
        """Keeps it if it is among the best."""
        if len(self.kept) == SENTENCES and quote < self.kept[0]:
            return
        if any(quote.sentence == each.sentence for each in self.kept):
            return
        heapq.heappush(self.kept, quote)
        if len(self.kept) > SENTENCES:
            heapq.heappop(self.kept)

    def best(self) -> list[Quote]:
        """The best first."""
        return sorted(self.kept, reverse=True)


def no_counts() -> list[int]:
    """Nothing counted yet: positive, negative, neutral."""
    return [0] * len(POLARITIES)


@dataclass(slots=True)
class Entry:
    """What is known of one name, or of a group of them."""

    counts: list[int] = field(default_factory=no_counts)
    unfamiliar: int = 0
    spellings: Counter[str] = field(default_factory=Counter)
    periods: dict[int, list[int]] = field(default_factory=dict)
    products: dict[str, list[int]] = field(default_factory=dict)
    sentences: tuple[Sentences, Sentences, Sentences] = field(
        default_factory=lambda: (Sentences(), Sentences(), Sentences())
    )

    @property
    def mentions(self) -> int:
        """How often it comes in all."""
        return sum(self.counts)

    def merge(self, other: Entry) -> None:
        """Takes another name in."""
        _plus(self.counts, other.counts)
        self.unfamiliar += other.unfamiliar
        self.spellings.update(other.spellings)
        for period, counts in other.periods.items():
            _plus(self.periods.setdefault(period, no_counts()), counts)
        for product, counts in other.products.items():
            _plus(self.products.setdefault(product, no_counts()), counts)
        for mine, theirs in zip(self.sentences, other.sentences, strict=True):
            for quote in theirs.kept:
                mine.add(quote)


class Tally:
    """Takes reviews and what was found in them, one after another.

    A review counts once for each name and polarity, however often it repeats itself.

    Attributes:
        entries: What is known of each name, by its key (`classic.summary.names.key_of`).
        everything: The same of all names together.
        reviews: How many reviews went by.
        silent: In how many of them nothing was found.
        dropped: Mentions of names that were too rare to be kept.
    """

    def __init__(self, most_names: int = MOST_NAMES) -> None:
        self._most = most_names
        self.entries: dict[str, Entry] = {}
        self.everything = Entry()
        self.reviews = self.silent = self.dropped = 0

    def add(self, review: Review, found: Iterable[Found]) -> None:
        """Counts a review."""
        self.reviews += 1
        seen: set[tuple[str, Polarity]] = set()
        for each in found:
            key = key_of(each.aspect)
            polarity = each.prediction.polarity
            if not key:
                continue
            entry = self.entries.setdefault(key, Entry())
            entry.sentences[polarity.column].add(_quote(review, each))
            if (key, polarity) in seen:
                continue
            seen.add((key, polarity))
            spelling = _spelling(each)
            if len(entry.spellings) < _SPELLINGS or spelling in entry.spellings:
                entry.spellings[spelling] += 1
            for counted in (entry, self.everything):
                _count(counted, review, polarity, each.prediction.unfamiliar)
        self.silent += not seen
        if len(self.entries) > self._most:
            self._let_go()

    def _let_go(self) -> None:
        """Lets the rarer half of the names go."""
        ranked = sorted(self.entries, key=lambda key: self.entries[key].mentions, reverse=True)
        for key in ranked[self._most // 2 :]:
            self.dropped += self.entries.pop(key).mentions


def _count(entry: Entry, review: Review, polarity: Polarity, unfamiliar: bool) -> None:
    entry.counts[polarity.column] += 1
    entry.unfamiliar += unfamiliar
    if review.period is not None:
        entry.periods.setdefault(review.period, no_counts())[polarity.column] += 1
    if review.product is not None:
        entry.products.setdefault(review.product, no_counts())[polarity.column] += 1


def _plus(counts: list[int], more: list[int]) -> None:
    for column, number in enumerate(more):
        counts[column] += number


def _spelling(found: Found) -> str:
    """The aspect as it would stand within a sentence: a capital that only begins one is none of its own."""
    words = " ".join(found.aspect.split())
    begins = found.prediction.span is not None and found.prediction.span[0] == 0
    return words[:1].lower() + words[1:] if begins and words[1:2].islower() else words


def _quote(review: Review, found: Found) -> Quote:
    said = found.prediction
    sentence, start = said.sentence, said.span[0] if said.span else max(0, said.sentence.find(found.aspect))
    end = start + len(found.aspect)
    if len(sentence) > _LONGEST:  # the part around the aspect
        first = max(0, min(start - _LONGEST // 2, len(sentence) - _LONGEST))
        sentence, start, end = sentence[first : first + _LONGEST], start - first, end - first
    least, most = _GOOD_LENGTH
    awkward = max(0, least - len(sentence)) / least + max(0, len(sentence) - most) / most
    score = said.probabilities[said.polarity.column] * found.confidence - 0.3 * awkward
    return Quote(round(score, 6), -review.line, sentence, start, end)
