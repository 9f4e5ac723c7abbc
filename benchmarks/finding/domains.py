"""The finder over the paper's 19 domains, one after another: F1 of every domain after every lesson, and forgetting.

    CLASSIC_DATA=FOLDER python benchmarks/finding/domains.py --work FOLDER [--order 0] [--every] [--valid --set keep=0.7]

The finder learns from the rows alone, as in `classic learn`: they name aspects, and what they do not name may be one. So
precision, and with it F1, is a lower bound. Without --every each domain is tested when it was learned and all at the end.
Settings are chosen with --valid and --set, each in a work folder of its own.
The finder shares nothing that trains with the polarities, so these are the same with and without
(`tests/unit/finding/test_finding.py` compares their bytes).
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from classic.data import load_domain, order
from classic.data.marked import Marked, marked_of
from classic.evaluation.aspects import count_aspects
from classic.finding.finder import Finder, FinderConfig
from classic.finding.marking import mark
from classic.learning.starter import starter_finder
from classic.training.devices import fastest_precision

OUT = Path(__file__).parent / "domains.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--order", type=int, default=0)
    parser.add_argument("--every", action="store_true", help="test all domains so far after every lesson")
    parser.add_argument("--valid", action="store_true", help="ask about validation sets, to choose settings by")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="change the finder's configuration")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.work.mkdir(parents=True, exist_ok=True)
    names = order(arguments.order)
    tasks = {name: load_domain(name) for name in names}
    tests = {name: marked_of(task.valid if arguments.valid else task.test) for name, task in tasks.items()}
    config = replace(FinderConfig(), **{key: json.loads(value) for key, value in (e.split("=") for e in arguments.set)})
    kept, _ = starter_finder("minilm", config, 0)
    lessons: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        sentences = marked_of(tasks[name].train)
        file = arguments.work / f"{number:02d}-{name}.safetensors"
        clock = time.process_time()
        if file.is_file():
            kept.tensors = load_file(file)
            finder, seconds = kept.build(), None
        else:
            finder = kept.learn(sentences, number + 1, keep=number > 0, precision=fastest_precision())
            seconds = time.process_time() - clock
            save_file(kept.tensors, file)
        last = number == len(names) - 1
        tested = names[: number + 1] if arguments.every or last else [name]
        told = {each: score(finder, tests[each]) for each in tested}
        lessons.append({"learned": name, "sentences": len(sentences), "cpu_seconds": seconds, "scores": told})
        print(f"{number + 1:2d} {name:20s} {told[name]['f1']:.3f}", flush=True)
    final = lessons[-1]["scores"]
    lost = {each["learned"]: each["scores"][each["learned"]]["f1"] - final[each["learned"]]["f1"] for each in lessons}
    small = [each["learned"] for each in lessons if each["sentences"] < config.large_from]
    found = {
        "order": arguments.order,
        "config": config.__dict__,
        "mean_final_f1": sum(each["f1"] for each in final.values()) / len(final),
        "mean_final_f1_of_small": sum(final[name]["f1"] for name in small) / len(small),
        "mean_forgetting": sum(list(lost.values())[:-1]) / (len(lost) - 1),
        "lost": lost,
        "lessons": lessons,
    }
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"mean F1 at the end {found['mean_final_f1']:.4f}, mean loss {found['mean_forgetting']:+.4f}")


def score(finder: Finder, tested: list[Marked]) -> dict[str, Any]:
    found = mark(finder, [each.sentence for each in tested], 0.5)
    return count_aspects([each.spans for each in tested], found)


if __name__ == "__main__":
    main()
