"""How large must a difference be to mean anything, with test sets of 15 to 85 sentences?

    python benchmarks/research/noise.py

From the committed result files alone:

- the sampling error of a run's mean over 19 domains: the test sets are drawn again 2,000 times, with replacement;
- the spread over orders and over seeds, where there are several;
- of two systems on the same order, the sampling error of their difference. The files keep how often each class was taken for
  which, not the answers one by one, so the two systems' errors are drawn independently: an upper bound.
"""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

RESULTS = Path(__file__).parents[1] / "results"
DRAWS = 2000
SYSTEMS = ("classic@bert_adapter/dil", "ncl@bert_adapter/dil")
METRICS = ("accuracy", "macro_f1", "own_f1")


def drawn(counted: dict, draw: random.Random) -> dict[str, float]:
    """The scores of one domain on a test set drawn again."""
    from classic.evaluation.scores import score

    pairs = counted["pairs"]
    size = sum(count for _, _, count in pairs)
    again = draw.choices(range(len(pairs)), weights=[count for _, _, count in pairs], k=size)
    return score({"pairs": [[*pairs[place][:2], again.count(place)] for place in set(again)]})


def main() -> None:
    from classic.benchmark.runs.results import read_results

    runs = defaultdict(list)
    for result in read_results(RESULTS):
        spec = result["spec"]
        if spec["system"] in SYSTEMS and not (spec["changes"] or spec["first"] or spec["valid"]):
            runs[spec["system"], spec["budget"]].append(result)
    draw = random.Random(0)
    print("standard errors and deviations, in points of 100:  accuracy  paper F1  own F1")
    for (system, budget), found in sorted(runs.items()):
        newest = {(result["spec"]["order"], result["spec"]["seed"]): result for result in found}
        first = newest[min(newest)]
        again = [[drawn(counted, draw) for counted in first["final_answers"].values()] for _ in range(DRAWS)]
        errors = [stdev(mean(task[metric] for task in tasks) for tasks in again) for metric in METRICS]
        say(f"{system} {budget}: sampling error of one run", errors)
        say(f"{system} {budget}: of a difference of two such runs, at most", [2**0.5 * error for error in errors])
        for what, place in (("orders", 0), ("seeds", 1)):
            chosen = [r["scores"] for key, r in newest.items() if key[1 - place] == 0]
            if len(chosen) > 2:
                names = ("final_accuracy", "final_macro_f1", "final_own_f1")
                say(f"{system} {budget}: over {len(chosen)} {what}", [stdev(s[n] for s in chosen) for n in names])


def say(what: str, values: list[float]) -> None:
    print(f"{what:75}", "  ".join(f"{100 * value:.2f}" for value in values))


if __name__ == "__main__":
    main()
