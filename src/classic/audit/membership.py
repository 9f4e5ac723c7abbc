"""Membership inference: can one tell from the weights whether a text was among those a domain was learned from?

Two attacks that need nothing but the store: the loss of the version that learned the domain (members have less), and how
much the loss fell from the version before it to that one. The store hands both versions to whoever has it, so the second
is the honest one. Members and others must be of the same domain, else it is the domain that is told apart.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from classic.errors import InputError
from classic.prediction.predictor import Predictor
from classic.store.store import Store
from classic.types import Example, Scenario

_FEWEST = 20
_DRAWS = 1000


def attack(store: Store, domain: str, members: Sequence[Example], others: Sequence[Example]) -> dict[str, Any]:
    """Area under the curve of each attack, with an interval of 95 %; 0.5 is guessing, 1 is knowing.

    Args:
        store: The store.
        domain: The domain the members were learned for.
        members: Rows it was trained on.
        others: Rows of the same domain it was not trained on.
    """
    if min(len(members), len(others)) < _FEWEST:
        raise InputError(f"{len(members)} members and {len(others)} others", fix=f"give at least {_FEWEST} of each")
    version = next((each for each in store.chain() if each.domain == domain), None)
    if version is None:
        raise InputError(f"{store.path} has not learned a domain {domain!r}", fix=f"it knows {store.domains()}")
    rows = [*members, *others]
    after = _losses(Predictor.open(store, version.number), rows, domain)
    found: dict[str, Any] = {"domain": domain, "members": len(members), "others": len(others)}
    cut = len(members)
    found["loss"] = _measure([-loss for loss in after], cut)
    before = _before(store, version.parent)
    if before is not None:
        earlier = _losses(before, rows, None)
        fall = [round(b - a, 5) for b, a in zip(earlier, after, strict=True)]
        found["fall of the loss"] = _measure(fall, cut)
    newest = Predictor.open(store)
    if newest.version != version.number:
        later = _losses(newest, rows, domain)
        found["loss, by the newest version"] = _measure([-loss for loss in later], cut)
    found["smallest false positive rate these rows can show"] = 3 / len(others)
    return found


def _before(store: Store, parent: int | None) -> Predictor | None:
    """The version before, if it can be asked without being told the domain."""
    if not parent:
        return None
    predictor = Predictor.open(store, parent)
    return None if predictor.learner.config.scenario is Scenario.TIL else predictor


def _losses(predictor: Predictor, rows: Sequence[Example], domain: str | None) -> list[float]:
    """Cross-entropy of each row, in nats."""
    told = domain if predictor.learner.config.scenario is Scenario.TIL else None
    said = predictor.logits(list(rows), told).log_softmax(dim=1)
    true = [row.polarity.column if row.polarity is not None else -1 for row in rows]
    if -1 in true:
        raise InputError("members and others need their polarity", fix="give labelled files")
    # Rounded: the same text in another batch differs in its last digits, and would win or lose against itself by them.
    return [round(-float(said[place, column]), 5) for place, column in enumerate(true)]


def _measure(scores: list[float], cut: int) -> dict[str, Any]:
    inside, outside = scores[:cut], scores[cut:]
    draw = random.Random(0)
    drawn = sorted(
        auc([draw.choice(inside) for _ in inside], [draw.choice(outside) for _ in outside]) for _ in range(_DRAWS)
    )
    limit = sorted(outside)[::-1][max(0, math.ceil(0.01 * len(outside)) - 1)]
    return {
        "auc": auc(inside, outside),
        "interval": [drawn[_DRAWS // 40], drawn[-_DRAWS // 40]],
        "true positives at 1 % false ones": sum(score > limit for score in inside) / len(inside),
    }


def auc(inside: Sequence[float], outside: Sequence[float]) -> float:
    """How often a member scores higher than another, ties by half: P(x > y) + P(x = y)/2."""
    ordered = sorted([(score, 1) for score in inside] + [(score, 0) for score in outside])
    below, won, place = 0, 0.0, 0
    while place < len(ordered):
        end = place
        while end < len(ordered) and ordered[end][0] == ordered[place][0]:
            end += 1
        members = sum(kind for _, kind in ordered[place:end])
        strangers = end - place - members
        won += members * (below + strangers / 2)
        below += strangers
        place = end
    return won / (len(inside) * len(outside))
