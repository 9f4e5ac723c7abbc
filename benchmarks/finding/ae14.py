"""Finding aspects domain after domain: laptops and restaurants of SemEval-2014, exact-match F1.

    python benchmarks/finding/ae14.py --data FOLDER --work FOLDER

FOLDER has laptop/ and rest/, each with train.json and test.json (tokens with labels B, I, O). Learned: each domain alone,
one after the other in both orders, and both at once; always from the shipped starter, and with --scratch from nothing. A
lesson whose tensors lie in the work folder is not repeated, so it may be killed. Nothing was chosen on the test sets: what
was tried was tried on every sixth training sentence (--valid does that).

Beside it a rule that needs no training: every longest run of nouns, adjectives before it left out, where a noun is what a
word list and endings make it (`rule.py`).
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rule import noun_runs
from safetensors.torch import load_file, save_file

from classic.data.marked import Marked, read_marked
from classic.evaluation.aspects import count_aspects, exact_match
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder
from classic.finding.marking import mark
from classic.learning.starter import starter_finder
from classic.training.devices import fastest_precision

DOMAINS = ("laptop", "rest")
PLANS = (("laptop", "rest"), ("rest", "laptop"), ("laptop+rest",))  # each alone is the first lesson of a plan
OUT = Path(__file__).parent / "ae14.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--scratch", action="store_true", help="without the starter")
    parser.add_argument("--valid", action="store_true", help="learn five sixths of the training set, test the sixth")
    parser.add_argument("--set", nargs="*", default=[], help="change the finder's configuration, e.g. epochs=3")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.work.mkdir(parents=True, exist_ok=True)
    changes = {key: json.loads(value) for key, value in (entry.split("=") for entry in arguments.set)}
    config = replace(FinderConfig(), **changes)
    sets = {name: read_sets(arguments.data / name, arguments.valid) for name in DOMAINS}
    found: dict[str, Any] = {
        "config": config.__dict__,
        "precision": fastest_precision(),
        "starter": not arguments.scratch,
        "tested_on": "every sixth training sentence" if arguments.valid else "the test sets",
        "rule": {name: rule_score(test) for name, (_, test) in sets.items()},
        "plans": {},
        "lost": {},
    }
    if not arguments.scratch:
        found["starter_alone"] = scores(fresh(config, starter=True), sets)
    for plan in PLANS:
        kept, rows = fresh(config, starter=not arguments.scratch), []
        for lesson, names in enumerate(plan):
            key = f"{'scratch' if arguments.scratch else 'starter'}-{'-'.join(plan[: lesson + 1])}.safetensors"
            seconds = learn(kept, [s for name in names.split("+") for s in sets[name][0]], lesson, arguments.work / key)
            rows.append({"learned": names, "cpu_seconds": seconds} | scores(kept, sets))
        found["plans"][" > ".join(plan)] = rows
        if len(plan) == 2:
            found["lost"][" > ".join(plan)] = rows[0][plan[0]]["f1"] - rows[1][plan[0]]["f1"]
        arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(
            " > ".join(plan), [{name: round(100 * row[name]["f1"], 2) for name in DOMAINS} for row in rows], flush=True
        )
    print("lost by the second domain", found["lost"])


def read_sets(folder: Path, valid: bool) -> tuple[list[Marked], list[Marked]]:
    train = read_marked(folder / "train.json")
    if valid:
        return [each for row, each in enumerate(train) if row % 6], train[::6]
    return train, read_marked(folder / "test.json")


def fresh(config: FinderConfig, starter: bool) -> KeptFinder:
    return starter_finder("minilm", config, 0)[0] if starter else KeptFinder("minilm", config, 0)


def learn(kept: KeptFinder, sentences: list[Marked], lesson: int, file: Path) -> float | None:
    """One lesson, or what is left of it from an earlier run."""
    if file.is_file():
        kept.tensors = load_file(file)
        return None
    clock = time.process_time()
    kept.learn(sentences, lesson + 1, keep=lesson > 0, precision=fastest_precision())
    save_file(kept.tensors, file)
    return time.process_time() - clock


def scores(kept: KeptFinder, sets: dict[str, tuple[list[Marked], list[Marked]]]) -> dict[str, Any]:
    finder = kept.build()
    return {
        name: count_aspects([each.spans for each in test], mark(finder, [each.sentence for each in test], 0.5))
        for name, (_, test) in sets.items()
    }


def rule_score(test: list[Marked]) -> dict[str, Any]:
    return exact_match([each.spans for each in test], [noun_runs(each.sentence) for each in test])


if __name__ == "__main__":
    main()
