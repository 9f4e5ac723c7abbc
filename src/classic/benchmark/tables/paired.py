"""Two systems on the very same test sentences: is the difference more than chance?

Test sets of 15 to 85 sentences tell little one by one. Pooled over all domains and orders there are thousands of answers,
and both systems were asked the same questions, so answers are compared in pairs. What is drawn by chance is sentences:
all that was answered about one, about its several aspects and in all orders and seeds, is drawn or turned round together.
Five orders ask the same sentences five times, and that is not five times the evidence.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import comb, sqrt

from classic.benchmark.runs.trials import score_of
from classic.benchmark.tables.rows import Run
from classic.benchmark.tables.statistics import mean
from classic.errors import InputError
from classic.types import POLARITIES

_DRAWS = 2000


@dataclass(frozen=True)
class Answers:
    """What two systems answered on one test set.

    Attributes:
        true: A digit per example.
        ours, theirs: Likewise; one text for every run.
        rows: The examples of each sentence.
    """

    true: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def runs(self) -> list[tuple[str, str]]:
        """Ours and theirs, run by run."""
        return list(zip(self.ours, self.theirs, strict=True))

    def leads(self) -> list[int]:
        """For each sentence how many more of its answers we have right than they, over all runs."""
        by_row = [
            sum((ours[row] == true) - (theirs[row] == true) for ours, theirs in self.runs)
            for row, true in enumerate(self.true)
        ]
        return [sum(by_row[row] for row in rows) for rows in self.rows]


@dataclass(frozen=True)
class Comparison:
    """How two systems differ.

    Attributes:
        examples: Answers compared, over all runs.
        accuracy, own_f1: Means over domains and runs: ours, theirs, and a 95 % interval of the difference.
        mcnemar: p of McNemar's exact test on the pooled answers, those about one sentence turned round together.
        permutation: p of a permutation test on the difference in mean own F1, likewise.
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
    sets = _test_sets(pairs)
    if not sets:
        raise InputError("the two systems have no run in common", fix="run both with the same orders and seeds")
    asked = [
        (t, a == t, b == t)
        for each in sets
        for mine, other in each.runs
        for t, a, b in zip(each.true, mine, other, strict=True)
    ]
    accuracy, own_f1 = _with_intervals(sets, random.Random(seed))
    return Comparison(
        len(asked),
        accuracy,
        own_f1,
        turned_round([lead for each in sets for lead in each.leads()]),
        _permuted(sets, random.Random(seed)),
        _parts(asked, pairs),
    )


def sentences_of(task: str, true: str) -> list[int]:
    """The number of the sentence that each example of a test set is about.

    Result files hold no text, so this is known of the paper's test sets only, by the labels of their rows; elsewhere every
    example counts as a sentence of its own.
    """
    labels, numbers = _known_sentences().get(task, ("", ""))
    if hashlib.sha256(true.encode()).hexdigest()[:16] != labels:
        return list(range(len(true)))
    return [int(number) for number in numbers.split()]


@cache
def _known_sentences() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = json.loads((files(__package__) / "sentences.json").read_bytes())
    return found


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


def turned_round(leads: Iterable[int]) -> float:
    """McNemar's exact test where several answers belong together: each lead, +n or -n, has its sign by a fair coin.

    >>> turned_round([1] * 9 + [-1]) == mcnemar(1, 9)
    True
    >>> turned_round([5, 5, 5, 5, 5])
    0.0625
    """
    signed = [lead for lead in leads if lead]
    if len(signed) > 2000:  # a sum of that many coins is as good as normal
        from statistics import NormalDist

        z = max(0.0, abs(sum(signed)) - 1) / sqrt(sum(lead * lead for lead in signed))
        return 2 * (1 - NormalDist().cdf(z))
    sums = {0: 1.0}
    for size, count in sorted(Counter(map(abs, signed)).items()):
        grown: dict[int, float] = defaultdict(float)
        for heads in range(count + 1):
            share = comb(count, heads) / 2**count
            for total, probability in sums.items():
                grown[total + size * (2 * heads - count)] += share * probability
        sums = grown
    return min(1.0, sum(probability for total, probability in sums.items() if abs(total) >= abs(sum(signed))))


Tally = Counter[tuple[str, str, str]]  # of one run on one test set: (true, ours, theirs)


def _accuracies(tally: Tally) -> tuple[float, float]:
    total = sum(tally.values())
    ours, theirs = (sum(number for row, number in tally.items() if row[0] == row[side]) / total for side in (1, 2))
    return ours, theirs


def _own_f1s(tally: Tally) -> tuple[float, float]:
    """Macro-F1 over the classes of the truth, ours and theirs."""
    true: Counter[str] = Counter()
    said: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    both: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for row, number in tally.items():
        true[row[0]] += number
        for side in (0, 1):
            said[side][row[side + 1]] += number
            if row[side + 1] == row[0]:
                both[side][row[0]] += number
    ours, theirs = (
        mean([2 * both[side][each] / (true[each] + said[side][each]) for each in sorted(true)]) for side in (0, 1)
    )
    return ours, theirs


Four = tuple[float, float, float, float]


def _with_intervals(sets: list[Answers], draw: random.Random) -> tuple[Four, Four]:
    """Both means of accuracy and of own F1, and the middle 95 % of the differences when sentences are drawn again.

    As many as there are are drawn within each domain, for all runs alike.
    """
    rows = [[[*zip(each.true, *run, strict=True)] for run in each.runs] for each in sets]

    def means(drawn: list[list[int]]) -> list[tuple[float, float]]:
        tallies = [Tally(run[row] for row in taken) for runs, taken in zip(rows, drawn, strict=True) for run in runs]
        return [
            (mean([ours for ours, _ in found]), mean([theirs for _, theirs in found]))
            for found in ([*map(score, tallies)] for score in (_accuracies, _own_f1s))
        ]

    differences: list[list[float]] = [[], []]
    for _ in range(_DRAWS // 4):
        drawn = [[row for taken in draw.choices(each.rows, k=len(each.rows)) for row in taken] for each in sets]
        for found, (ours, theirs) in zip(differences, means(drawn), strict=True):
            found.append(ours - theirs)
    place = int(0.025 * len(differences[0]))
    accuracy, own_f1 = (
        (*both, sorted(found)[place], sorted(found)[-place - 1])
        for both, found in zip(means([[*range(len(each.true))] for each in sets]), differences, strict=True)
    )
    return accuracy, own_f1


def _permuted(sets: list[Answers], draw: random.Random) -> float:
    """How often the difference in mean own F1 is as large when, for each sentence, a coin says whose answers are whose."""

    def difference(tallies: list[Tally]) -> float:
        return mean([ours - theirs for ours, theirs in map(_own_f1s, tallies)])

    # Sentences about which both said the same need no coin.
    alike: list[Tally] = []
    apart: list[list[tuple[int, list[tuple[str, str, str]]]]] = []
    for each in sets:
        first = len(alike)
        alike += [Tally() for _ in each.runs]
        for rows in each.rows:
            told = [
                (first + place, [(each.true[row], ours[row], theirs[row]) for row in rows])
                for place, (ours, theirs) in enumerate(each.runs)
            ]
            if any(a != b for _, answers in told for _, a, b in answers):
                apart.append(told)
            else:
                for place, answers in told:
                    alike[place].update(answers)

    def turned(heads: Iterable[bool]) -> list[Tally]:
        tallies = [Tally(each) for each in alike]
        for told, swap in zip(apart, heads, strict=True):
            for place, answers in told:
                for t, a, b in answers:
                    tallies[place][(t, b, a) if swap else (t, a, b)] += 1
        return tallies

    seen = abs(difference(turned([False] * len(apart))))
    as_large = sum(abs(difference(turned([draw.random() < 0.5 for _ in apart]))) >= seen - 1e-12 for _ in range(_DRAWS))
    return (as_large + 1) / (_DRAWS + 1)


def _test_sets(pairs: list[tuple[Run, Run]]) -> list[Answers]:
    """Test sets, each with the answers of all runs that were asked it."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for mine, other in pairs:
        for task in mine.facts["tasks"]:
            ours, theirs = (run.facts["tasks"][task]["final"] for run in (mine, other))
            if "said" not in ours or "said" not in theirs or ours["true"] != theirs["true"]:
                raise InputError(
                    f"a result on {task} does not tell its answers one by one", fix="run it again with this version"
                )
            found.setdefault((task, ours["true"]), []).append((ours["said"], theirs["said"]))
    sets = []
    for (task, true), said in found.items():
        rows: dict[int, list[int]] = defaultdict(list)
        for row, sentence in enumerate(sentences_of(task, true)):
            rows[sentence].append(row)
        ours, theirs = zip(*said, strict=True)
        sets.append(Answers(true, ours, theirs, tuple(map(tuple, rows.values()))))
    return sets


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
