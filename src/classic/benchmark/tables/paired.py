"""Two systems on the very same test sentences: is the difference more than chance?

Test sets of 15 to 85 sentences tell little one by one. Pooled over all domains and orders there are thousands of answers,
and both systems were asked the same questions, so answers are compared in pairs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt

from classic.benchmark.runs.trials import score_of
from classic.benchmark.tables.rows import Run
from classic.benchmark.tables.statistics import mean
from classic.errors import InputError
from classic.evaluation.metrics import accuracy, macro_f1
from classic.types import POLARITIES

_DRAWS = 2000


@dataclass(frozen=True)
class Answers:
    """What two systems answered on one test set of one run.

    Attributes:
        task: The domain.
        true, ours, theirs: A digit per example.
        own: The classes of the domain, those of the truth.
    """

    task: str
    true: str
    ours: str
    theirs: str

    @property
    def own(self) -> list[str]:
        return sorted(set(self.true))


@dataclass(frozen=True)
class Comparison:
    """How two systems differ.

    Attributes:
        examples: Answers compared, over all runs.
        accuracy, own_f1: Means over domains and runs: ours, theirs, and a 95 % interval of the difference.
        mcnemar: p of McNemar's exact test on the pooled answers.
        permutation: p of a permutation test on the difference in mean own F1.
        parts: Right answers of parts of all sentences, by name: ours, theirs, and the part's size.
    """

    examples: int
    accuracy: tuple[float, float, float, float]
    own_f1: tuple[float, float, float, float]
    mcnemar: float
    permutation: float
    parts: dict[str, tuple[int, int, int]]


def compare(ours: Sequence[Run], theirs: Sequence[Run], seed: int = 0) -> Comparison:
    """Compares the runs two systems have in common, by order and seed."""
    there = {(run.spec.order, run.spec.seed): run for run in theirs}
    pairs = [(run, there[run.spec.order, run.spec.seed]) for run in ours if (run.spec.order, run.spec.seed) in there]
    sets = [_answers(task, mine, other) for mine, other in pairs for task in mine.facts["tasks"]]
    if not sets:
        raise InputError("the two systems have no run in common", fix="run both with the same orders and seeds")
    draw = random.Random(seed)
    asked = [(t, a == t, b == t) for each in sets for t, a, b in zip(each.true, each.ours, each.theirs, strict=True)]
    return Comparison(
        len(asked),
        _with_interval(sets, lambda true, said, _own: accuracy(true, said), draw),
        _with_interval(sets, macro_f1, draw),
        mcnemar(sum(a and not b for _, a, b in asked), sum(b and not a for _, a, b in asked)),
        _permuted(sets, draw),
        _parts(asked, pairs),
    )


@dataclass(frozen=True)
class Spread:
    """How far runs lie apart that differ in nothing but the seed.

    Attributes:
        run: One of them.
        seeds: How many there are.
        own_f1: The lowest and the highest mean over domains.
    """

    run: Run
    seeds: int
    own_f1: tuple[float, float]


def spreads(of: Iterable[Run], runs: Iterable[Run]) -> list[Spread]:
    """For each run but for its seed, those of the same settings among all runs, where there are several.

    Tests over sentences know nothing of them: two seeds of one system may differ with a p of one in a million.
    """
    found, known = [], list(runs)
    for run in {repr(replace(run.spec, seed=0)): run for run in of}.values():
        alike = [each for each in known if replace(each.spec, seed=run.spec.seed) == run.spec]
        scores = [score_of(each) for each in alike if each.settings_and_versions == run.settings_and_versions]
        if len(scores) > 1:
            found.append(Spread(run, len(scores), (min(scores), max(scores))))
    return found


def mcnemar(only_ours: int, only_theirs: int) -> float:
    """McNemar's exact test, two-sided: is being right where the other is wrong a fair coin?

    >>> mcnemar(5, 5)
    1.0
    >>> round(mcnemar(1, 9), 4)
    0.0215
    """
    total, least = only_ours + only_theirs, min(only_ours, only_theirs)
    if total > 2000:  # the coin is as good as normal
        from statistics import NormalDist

        z = max(0.0, abs(only_ours - only_theirs) - 1) / sqrt(total)
        return 2 * (1 - NormalDist().cdf(z))
    return float(min(1.0, 2 * sum(comb(total, k) for k in range(least + 1)) / 2**total))


Score = Callable[[str, str, list[str]], float]


def _with_interval(sets: list[Answers], score: Score, draw: random.Random) -> tuple[float, float, float, float]:
    """Both means, and the middle 95 % of the difference when sentences are drawn again within their domains."""
    ours = mean([score(each.true, each.ours, each.own) for each in sets])
    theirs = mean([score(each.true, each.theirs, each.own) for each in sets])
    differences = []
    for _ in range(_DRAWS // 4):
        again = [_drawn(each, draw) for each in sets]
        differences.append(mean([score(s.true, s.ours, s.own) - score(s.true, s.theirs, s.own) for s in again]))
    differences.sort()
    return ours, theirs, differences[int(0.025 * len(differences))], differences[int(0.975 * len(differences))]


def _drawn(each: Answers, draw: random.Random) -> Answers:
    rows = [draw.randrange(len(each.true)) for _ in each.true]
    pick = "".join
    return Answers(
        each.task,
        pick(each.true[row] for row in rows),
        pick(each.ours[row] for row in rows),
        pick(each.theirs[row] for row in rows),
    )


def _permuted(sets: list[Answers], draw: random.Random) -> float:
    """How often the difference in mean own F1 is as large when, for each example, a coin says whose answer is whose."""

    def difference(these: list[Answers]) -> float:
        return mean([macro_f1(s.true, s.ours, s.own) - macro_f1(s.true, s.theirs, s.own) for s in these])

    seen = abs(difference(sets))
    draws = _DRAWS // 4
    as_large = 0
    for _ in range(draws):
        swapped = []
        for each in sets:
            pairs = [(a, b) if draw.random() < 0.5 else (b, a) for a, b in zip(each.ours, each.theirs, strict=True)]
            swapped.append(Answers(each.task, each.true, "".join(a for a, _ in pairs), "".join(b for _, b in pairs)))
        as_large += abs(difference(swapped)) >= seen - 1e-12
    return (as_large + 1) / (draws + 1)


def _answers(task: str, mine: Run, other: Run) -> Answers:
    ours, theirs = (run.facts["tasks"][task]["final"] for run in (mine, other))
    if "said" not in ours or "said" not in theirs or ours["true"] != theirs["true"]:
        raise InputError(
            f"a result on {task} does not tell its answers one by one", fix="run it again with this version"
        )
    return Answers(task, ours["true"], ours["said"], theirs["said"])


def _parts(asked: list[tuple[str, bool, bool]], pairs: list[tuple[Run, Run]]) -> dict[str, tuple[int, int, int]]:
    """All sentences, mixed ones and those of one mind; and each polarity in the domains that have it."""
    found = {"all sentences": _right(asked)}
    ours, theirs = (
        [facts["final"]["mixed"] for run in side for facts in run.facts["tasks"].values()]
        for side in zip(*pairs, strict=True)
    )
    mixed = sum(right for right, _ in ours), sum(right for right, _ in theirs), sum(number for _, number in ours)
    found["mixed"] = mixed
    found["of one mind"] = tuple(whole - part for whole, part in zip(found["all sentences"], mixed, strict=True))
    for polarity in POLARITIES:
        found[polarity.value] = _right([row for row in asked if row[0] == str(polarity.column)])
    return found


def _right(asked: list[tuple[str, bool, bool]]) -> tuple[int, int, int]:
    return sum(a for _, a, _ in asked), sum(b for _, _, b in asked), len(asked)
