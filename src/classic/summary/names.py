"""Names of aspects: which spellings are the same, and which names mean the same thing.

A name belongs to the name of its head ("lcd screen" to "screen"), to one that an encoder finds next to it ("photo" to
"picture"), or to one that is a letter away and far more frequent ("battry" to "battery"); never by way of a third.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

Similarity = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""How near names are to each other by an encoder: a row and a column per name, 1 for the same."""

COMPARED = 600
"""So many of the most frequent names are compared by the encoder; the rest by their spelling only."""

_SAME = (
    0.72  # of cosines between MiniLM's vectors: photo and picture have 0.85, price and cost 0.74, key and keyboard 0.58
)
_SAME_HEAD = 0.65  # of names with one head: screen and touch screen have 0.70, room and bathroom no common head
_TYPO = 10  # times as frequent must a name be for another one to be its misspelling
_LEAST_LETTERS = 6  # of names that may be misspelt: "case" and "cage" are two things
_BEFORE = {
    *("a", "an", "the", "this", "that", "these", "those", "some", "any", "all", "no", "each", "both"),
    *("my", "your", "his", "her", "its", "our", "their"),
}
_GENERAL = {
    *("quality", "life", "time", "system", "service", "size", "level", "number", "thing", "part", "area"),
    *("side", "option", "feature", "mode", "product"),
}  # "sound quality" and "build quality" are two things; what is in common says nothing
_IRREGULAR = {
    **{"knives": "knife", "shelves": "shelf", "leaves": "leaf", "wives": "wife", "loaves": "loaf", "halves": "half"},
    **{"children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth"},
    **{"shoes": "shoe", "toes": "toe", "movies": "movie", "cookies": "cookie", "lenses": "lens", "buses": "bus"},
    **{word: word for word in ("lens", "gps", "gas", "news", "series", "ios", "windows", "always", "plus", "focus")},
}
_WORD = re.compile(r"[^\W_]+(?:['’.&+][^\W_]+)*\+*")


def key_of(aspect: str) -> str:
    """What all spellings of an aspect have in common: small letters, no article, the last word in the singular.

    >>> key_of("The Touch-Screens"), key_of("  my batteries"), key_of("lenses")
    ('touch screen', 'battery', 'lens')
    """
    words = _WORD.findall(aspect.casefold())
    while len(words) > 1 and words[0] in _BEFORE:
        words = words[1:]
    return " ".join([*words[:-1], singular(words[-1])]) if words else ""


def singular(word: str) -> str:
    """An English noun in the singular, by rule; a word that is none may change, but always in the same way."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith(("'s", "’s")):
        return word[:-2]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "oes")):
        return word[:-2]
    return word[:-1]


def group_names(counts: Mapping[str, int], similarity: Similarity | None = None) -> dict[str, str]:
    """Which name each name belongs to; a name of its own belongs to itself.

    Args:
        counts: How often each key comes.
        similarity: Compares names by an encoder; without it, only spellings are compared.
    """
    weight = Counter(counts)  # a head weighs as much as all its names, so that it leads them
    for name in counts:
        if (head := _head(name)) is not None and head in counts:
            weight[head] += counts[name]
    names = sorted(counts, key=lambda name: (-weight[name], name))
    near = _Near(names[:COMPARED], similarity)
    leaders: dict[str, str] = {}
    by_letters: dict[str, str] = {}
    for name in names:
        leader = (
            _by_head(name, counts, leaders, near)
            or near.best(name, leaders)
            or _by_letters(name, counts, by_letters)
            or name
        )
        leaders[name] = leader
        if leader == name:
            for letters in _without_one(name):
                by_letters.setdefault(letters, name)
    return leaders


class _Near:
    """What an encoder says about the most frequent names."""

    def __init__(self, names: Sequence[str], similarity: Similarity | None) -> None:
        self._place = {name: place for place, name in enumerate(names)} if similarity else {}
        self._names = names
        self._table = similarity(names) if similarity and names else []

    def knows(self, one: str, other: str) -> bool:
        return one in self._place and other in self._place

    def of(self, one: str, other: str) -> float:
        return self._table[self._place[one]][self._place[other]]

    def best(self, name: str, leaders: Mapping[str, str]) -> str | None:
        """The nearest of the names that lead a group, if it is near enough."""
        if name not in self._place:
            return None
        row, place = self._table[self._place[name]], self._place[name]
        before = [(row[other], self._names[other]) for other in range(place)]
        led = [(value, other) for value, other in before if value >= _SAME and leaders[other] == other]
        return max(led)[1] if led else None


def _by_head(name: str, counts: Mapping[str, int], leaders: Mapping[str, str], near: _Near) -> str | None:
    """The leader of the name's last word, if the encoder finds them near; without one, if that is the more frequent."""
    head = _head(name)
    if head is None or head not in leaders:
        return None
    alike = near.of(name, head) >= _SAME_HEAD if near.knows(name, head) else counts[head] >= counts[name]
    return leaders[head] if alike else None


def _head(name: str) -> str | None:
    """The last word of a name of several, if it means something by itself."""
    before, _, head = name.rpartition(" ")
    return head if before and head not in _GENERAL else None


def _by_letters(name: str, counts: Mapping[str, int], by_letters: Mapping[str, str]) -> str | None:
    """A leader that one letter more, less or other makes of the name, if the name is rare beside it."""
    if len(name) < _LEAST_LETTERS:
        return None
    likely = {by_letters[letters] for letters in _without_one(name) if letters in by_letters}
    frequent = [(counts[other], other) for other in likely if counts[other] >= _TYPO * counts[name]]
    return max(frequent)[1] if frequent else None


def _without_one(name: str) -> list[str]:
    """The name, and the name without each of its letters: names that share one of these are a letter apart."""
    if len(name) < _LEAST_LETTERS or any(letter.isdigit() for letter in name):
        return []
    return [name, *(name[:place] + name[place + 1 :] for place in range(len(name)))]
