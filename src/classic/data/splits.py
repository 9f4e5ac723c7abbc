"""A split for data that come without one. It depends on the content and a seed, and on nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from classic.types import Example, Polarity

FRACTIONS = {"train": 0.8, "test": 0.1, "valid": 0.1}
"""Share of each part. The order breaks ties: of two equally empty parts the first is served first."""


@dataclass(frozen=True, slots=True)
class Split:
    """The three parts of a data set."""

    train: tuple[Example, ...]
    valid: tuple[Example, ...]
    test: tuple[Example, ...]


def normalise(sentence: str) -> str:
    """What makes two sentences the same sentence: everything but white space and case."""
    return " ".join(sentence.casefold().split())


def split_examples(examples: Iterable[Example], *, seed: int = 0) -> Split:
    """Splits about 80/10/10 so that no sentence is in two parts and the polarities are spread evenly.

    Sentences are taken in the order of a keyed hash; each goes, with all its examples, to the part whose need
    for these polarities is greatest: Σ_c n_c (1 - have_c / (fraction · total_c)). The result does not depend on
    the order of the examples.
    """
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[normalise(example.sentence)].append(example)
    totals = Counter(example.polarity for group in groups.values() for example in group)
    have: dict[str, Counter[Polarity | None]] = {part: Counter() for part in FRACTIONS}
    parts: dict[str, list[Example]] = {part: [] for part in FRACTIONS}
    for sentence in sorted(groups, key=lambda text: _key(text, seed)):
        group = groups[sentence]
        polarities = Counter(example.polarity for example in group)
        need = {
            part: sum(
                count * (1 - have[part][polarity] / (fraction * totals[polarity]))
                for polarity, count in sorted(polarities.items(), key=str)
            )
            for part, fraction in FRACTIONS.items()
        }
        part = max(FRACTIONS, key=lambda name: need[name])
        have[part].update(polarities)
        parts[part].extend(sorted(group, key=_content))
    return Split(tuple(parts["train"]), tuple(parts["valid"]), tuple(parts["test"]))


def _key(sentence: str, seed: int) -> bytes:
    return sha256(f"{seed}\n{sentence}".encode("utf-8", "surrogatepass")).digest()


def _content(example: Example) -> tuple[str, str, str, tuple[int, int]]:
    return (example.sentence, example.aspect, example.polarity or "", example.span or (-1, -1))
