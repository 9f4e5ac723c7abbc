"""Reviews to try a model with: from test rows of what it has learned, and only those it answers rightly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from classic.data import DEMO_DOMAINS, load_demo
from classic.data.starter import HELD_OUT, STARTER, load_starter
from classic.serving.model import Live, Question
from classic.types import Example, Polarity, Prediction, Scenario

_MOST = 4  # examples shown
_CANDIDATES = 6  # sentences of a domain that are asked about, of either sort
_LONGEST = 140  # characters
_RIGHT = 0.6  # probability of the true polarity that every aspect must get
_SECONDS = 20.0


async def examples(live: Live) -> list[dict[str, Any]]:
    """At most four sentences, one of a domain: the surest that says different things of its aspects, or the surest.

    They come from the test rows of demo domains and of the starter corpus, which are part of the package; rows that
    people taught are never shown. A domain of whose sentences none is answered rightly has no example.
    """
    predictor = live.get()
    found = []
    for learned, subject, rows in _sources(predictor.domains):
        sentences = [group for _, rest in groupby(rows, key=lambda row: row.sentence) if _fits(group := list(rest))]
        mixed = [group for group in sentences if _mixed(group)][:_CANDIDATES]
        asked = mixed + [group for group in sentences if not _mixed(group)][:_CANDIDATES]
        domain = learned if predictor.learner.config.scenario is Scenario.TIL else None
        answers = iter(await live.ask(predictor, [Question(row, domain) for group in asked for row in group], _SECONDS))
        sure = [min([_share(row, next(answers)) for row in group]) for group in asked]
        right = [(_mixed(group), share, group) for group, share in zip(asked, sure, strict=True) if share > _RIGHT]
        if not right:
            continue
        best = max(right, key=lambda entry: entry[:2])[2]
        found.append({"domain": learned, "subject": subject, "sentence": best[0].sentence, "aspects": _spans(best)})
        if len(found) == _MOST:
            break
    return found


def _sources(domains: Sequence[str]) -> list[tuple[str, str, Sequence[Example]]]:
    """(learned domain, what the sentences are about, test rows) of the newest domains first."""
    sources: list[tuple[str, str, Sequence[Example]]] = []
    for domain in reversed(domains):
        if domain in DEMO_DOMAINS:
            sources.append((domain, domain, load_demo(domain).test))
        elif domain == STARTER:
            sources += [
                (domain, name, [row for sentence in load_starter(name) for row in sentence.examples])
                for name in HELD_OUT
            ]
    return sources


def _fits(group: Sequence[Example]) -> bool:
    says_something = any(row.polarity is not Polarity.NEUTRAL for row in group)
    known = all(row.sentence.count(row.aspect) == 1 for row in group)
    return says_something and known and _reads_well(group[0].sentence)


def _reads_well(sentence: str) -> bool:
    """Whether a sentence may stand for the program: the corpora have hasty ones without capitals and full stops, too."""
    words = sentence.rstrip()
    return len(words) <= _LONGEST and words.isascii() and words[:1].isupper() and words[-1:] in ".!?"


def _mixed(group: Sequence[Example]) -> bool:
    return len({row.polarity for row in group}) > 1


def _share(row: Example, answer: Prediction) -> float:
    assert row.polarity is not None
    return float(answer.probabilities[row.polarity.column])


def _spans(group: Sequence[Example]) -> list[dict[str, int]]:
    starts = [(row.sentence.index(row.aspect), len(row.aspect)) for row in group]
    return [{"start": start, "end": start + length} for start, length in starts]
