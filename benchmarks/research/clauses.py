"""What does it give to read the clause of an aspect beside its sentence? Every store, asked both ways about the 19 domains.

    python benchmarks/research/clauses.py STORE [STORE ...] --out benchmarks/research/clauses.json
    python benchmarks/research/clauses.py STORE [STORE ...] --split valid

The stores have learned all 19 domains. "Mixed" are examples of sentences that say different things about their aspects.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

MIXED, UNMIXED = "mixed", "of one mind"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--split", choices=("valid", "test"), default="test")
    parser.add_argument("--out", type=Path, help="a file for the figures; those of other splits in it stay")
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(1)
    from classic.files import write_json

    print("| system, order of domains | reading | accuracy | macro-F1 | own classes | mixed | of one mind |")
    print("| :-- | :-- | --: | --: | --: | --: | --: |")
    found = [both_ways(store, arguments.split) for store in arguments.stores]
    if arguments.out:
        before = json.loads(arguments.out.read_bytes()) if arguments.out.exists() else {}
        write_json(arguments.out, before | {arguments.split: found})


def both_ways(path: Path, split: str) -> dict[str, Any]:
    from classic.prediction.predictor import Predictor
    from classic.store.store import Store

    store = Store.open(path)
    predictor = Predictor.open(store)
    config = predictor.learner.config
    what = {
        "system": f"{config.method}@{config.backbone}",
        "first_and_last": [predictor.domains[0], predictor.domains[-1]],
        "digest": store.digest(),
    }
    for reading in ("sentence", "sentence and clause"):
        predictor.clauses = reading != "sentence"
        scores = ask(predictor, split)
        what[reading] = scores
        shown = [scores[key] for key in ("accuracy", "macro_f1", "own_f1")]
        kinds = [f"{scores[kind]['accuracy']:.3f} of {scores[kind]['examples']}" for kind in (MIXED, UNMIXED)]
        order = " … ".join(what["first_and_last"])
        print(f"| {what['system']}, {order} | {reading} | {' | '.join([*(f'{v:.4f}' for v in shown), *kinds])} |")
    return what


def ask(predictor: Any, split: str) -> dict[str, Any]:
    """Means over domains, and the accuracy over all sentences that are, and are not, of one mind."""
    from classic.data.tasks import load_domain
    from classic.evaluation import accuracy, macro_f1

    sums: dict[str, float] = defaultdict(float)
    kinds: dict[str, list[bool]] = {MIXED: [], UNMIXED: []}
    for name in predictor.domains:
        examples = getattr(load_domain(name), split)
        opinions = defaultdict(set)
        for example in examples:
            opinions[example.sentence].add(example.polarity)
        said = [answer.polarity.column for answer in predictor.stream(examples)]
        true = [example.polarity.column for example in examples]
        sums["accuracy"] += accuracy(true, said)
        sums["macro_f1"] += macro_f1(true, said)
        sums["own_f1"] += macro_f1(true, said, labels=sorted(set(true)))
        for example, right in zip(examples, (t == s for t, s in zip(true, said, strict=True)), strict=True):
            kinds[MIXED if len(opinions[example.sentence]) > 1 else UNMIXED].append(right)
    means = {key: value / len(predictor.domains) for key, value in sums.items()}
    return means | {kind: {"examples": len(r), "accuracy": sum(r) / len(r)} for kind, r in kinds.items()}


if __name__ == "__main__":
    main()
