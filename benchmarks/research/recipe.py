"""Is a recipe trained to the end? A short sequence under other epochs, rates or shares of joined sentences.

    python benchmarks/research/recipe.py ncl@bert_adapter --set train.epochs=8 --set train.large_epochs=4
    python benchmarks/research/recipe.py classic@bert ncl@bert --rates 0.5 1 2        # the same trials for both
    python benchmarks/research/recipe.py --list

A fifth of the sentences of every training set is held out and scored when the sequence has been learned; test sets are not
touched. The sequence begins with Laptop, which has "neutral", and goes on with domains that do not: the worst case for it.
"Mixed" are examples of sentences that say different things about their aspects; those of Rest, which is never learned here,
tell whether the aspect is seen in a new domain. Results are added to recipe.json, and recipe.md is the table of all.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SEQUENCE = ("Laptop", "Speaker", "Creative", "Router", "Nokia6610", "Norton")
UNSEEN = "Rest"
HELD_OUT = 0.2
RECIPE = ("epochs", "large_epochs", "learning_rate", "batch_size", "joined", "selection", "precision")
COLUMNS = (
    "accuracy, own F1, own F1 when learned, Laptop, others pooled, mixed, of one mind, mixed and unseen, CPU minutes"
)
HEADER = f"| system | recipe | seed | {COLUMNS.replace(', ', ' | ')} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="such as ncl@bert_adapter")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; VALUE is JSON")
    parser.add_argument("--rates", nargs="+", type=float, default=[1.0], help="times each system's own learning rate")
    parser.add_argument("--quick", action="store_true", help="the budget quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "recipe.json")
    parser.add_argument("--list", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    from classic.files import write_json

    found = json.loads(arguments.out.read_bytes()) if arguments.out.exists() else []
    changes = {key: json.loads(value) for key, value in (setting.split("=", 1) for setting in arguments.set)}
    for times in arguments.rates:  # stopped early, all systems have had the same care
        for system in [] if arguments.list else arguments.systems:
            found.append(run(system, changes, arguments.seed, quick=arguments.quick, times=times))
            write_json(arguments.out, found)
    table = "\n".join([HEADER, "| :-- | :-- " + "| --: " * 10 + "|", *(row(result) for result in found)]) + "\n"
    arguments.out.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)


def run(system: str, changes: dict[str, Any], seed: int, *, quick: bool, times: float) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    from classic.data.tasks import load_domain
    from classic.seeding import Seeds
    from classic.systems.names import parse
    from classic.systems.system import build
    from classic.training.loop import learn_task

    config = parse(system, "default", changes, quick=quick)
    config = replace(config, train=replace(config.train, learning_rate=times * config.train.learning_rate))
    method, minutes, fresh, curves = build(config, seed), 0.0, {}, {}
    parts = {name: held_out(load_domain(name)) for name in SEQUENCE}
    for name, (task, asked) in parts.items():
        log = learn_task(method, task, config.train, Seeds(seed))
        minutes += log.cpu_seconds / 60
        fresh[name] = scores(method, asked)
        curves[name] = [[round(record["valid_loss"], 4), round(record["valid_f1"], 4)] for record in log.epochs]
        print(
            name,
            {key: round(value, 3) for key, value in fresh[name].items() if key != "right"},
            curves[name],
            flush=True,
        )
    end = {name: scores(method, asked) for name, (_, asked) in parts.items()}
    unseen = load_domain(UNSEEN).train
    unseen = tuple(example for example, two in zip(unseen, mixed(unseen), strict=True) if two)
    right = [r for name, (_, asked) in parts.items() for r in zip(mixed(asked), end[name]["right"], strict=True)]
    train = config.train
    return {
        "system": system,
        "recipe": {key: getattr(train, key) for key in RECIPE}
        | {key: value for key, value in changes.items() if not key.startswith("train.")},
        "quick": quick,
        "seed": seed,
        "accuracy": mean(end[name]["accuracy"] for name in SEQUENCE),
        "own_f1": mean(end[name]["own_f1"] for name in SEQUENCE),
        "own_f1_when_learned": mean(fresh[name]["own_f1"] for name in SEQUENCE),
        "domains": {name: {key: end[name][key] for key in ("accuracy", "own_f1")} for name in SEQUENCE},
        "others_pooled": mean(r for name in SEQUENCE[1:] for r in end[name]["right"]),
        "mixed": mean(r for two, r in right if two),
        "one_mind": mean(r for two, r in right if not two),
        "unseen_mixed": scores(method, unseen)["accuracy"],
        "cpu_minutes": minutes,
        "validation": curves,
    }


def held_out(task: Any) -> tuple[Any, tuple[Any, ...]]:
    """The task without a fifth of its sentences; and these, with the validation set of a small domain."""
    sentences = sorted({example.sentence for example in task.train})
    random.Random(7).shuffle(sentences)
    kept_back = set(sentences[: int(len(sentences) * HELD_OUT)])
    asked = tuple(example for example in task.train if example.sentence in kept_back)
    left = tuple(example for example in task.train if example.sentence not in kept_back)
    return replace(task, train=left), asked + (task.valid if len(task.classes) == 2 else ())


def mixed(examples: Sequence[Any]) -> list[bool]:
    opinions = defaultdict(set)
    for example in examples:
        opinions[example.sentence].add(example.polarity)
    return [len(opinions[example.sentence]) > 1 for example in examples]


def scores(method: Any, examples: Sequence[Any]) -> dict[str, Any]:
    from classic.evaluation import accuracy, macro_f1
    from classic.evaluation.answers import answer
    from classic.types import TaskId

    said = answer(method, examples, TaskId.LAST, None).argmax(dim=1).tolist()
    true = [example.polarity.column for example in examples]
    own = macro_f1(true, said, labels=sorted(set(true)))
    right = [int(t == s) for t, s in zip(true, said, strict=True)]
    return {"accuracy": accuracy(true, said), "own_f1": own, "right": right}


def mean(values: Any) -> float:
    values = list(values)
    return sum(values) / len(values)


def row(result: dict[str, Any]) -> str:
    laptop, budget = result["domains"][SEQUENCE[0]], ", quick" if result["quick"] else ""
    recipe = result["recipe"]  # a file of ours has its keys sorted
    what = ", ".join(f"{key} {recipe[key]}" for key in [*RECIPE, *(key for key in recipe if key not in RECIPE)])
    numbers = [result["accuracy"], result["own_f1"], result["own_f1_when_learned"], laptop["own_f1"]]
    numbers += [result[key] for key in ("others_pooled", "mixed", "one_mind", "unseen_mixed")]
    shown = " | ".join(f"{number:.3f}" for number in numbers)
    return f"| {result['system']}{budget} | {what} | {result['seed']} | {shown} | {result['cpu_minutes']:.1f} |"


if __name__ == "__main__":
    main()
