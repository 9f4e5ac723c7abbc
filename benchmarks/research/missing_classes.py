"""What should the cross-entropy do about a class that a domain does not have? Scored on validation sets only.

    python benchmarks/research/missing_classes.py --threads 1

Laptop (three classes) is learned once; from that one model, three two-class domains are learned one after another with each
of the three answers of `classic.losses.cross_entropy`. Told are: how much of "neutral" is left on Laptop, and how often
"neutral" is answered on the two-class domains, where it cannot be right.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path

HERE = Path(__file__).parent
FIRST, REST = "Laptop", ("Router", "Computer", "Speaker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()

    import torch

    from classic.data.tasks import load_domain
    from classic.evaluation import accuracy, macro_f1
    from classic.evaluation.answers import answer
    from classic.evaluation.scores import labels_of
    from classic.files import write_json
    from classic.learning.environment import surroundings
    from classic.seeding import Seeds
    from classic.systems.system import SystemConfig, build
    from classic.training.loop import learn_task

    torch.set_num_threads(arguments.threads)
    config = SystemConfig.preset("default")
    tasks = [load_domain(name) for name in (FIRST, *REST)]
    neutral = 2

    def scores(method) -> dict:
        found = {}
        for task in tasks:
            true, said = labels_of(task.valid), answer(method, task.valid).argmax(dim=1).tolist()
            found[task.name] = {
                "examples": len(true),
                "accuracy": accuracy(true, said),
                "macro_f1": macro_f1(true, said),
                "own_f1": macro_f1(true, said, labels=[polarity.column for polarity in task.classes]),
                "neutral_true": true.count(neutral),
                "neutral_said": said.count(neutral),
                "neutral_right": sum(t == s == neutral for t, s in zip(true, said, strict=True)),
            }
        return found

    first = build(config, 0)
    learn_task(first, tasks[0], config.train, Seeds(0))
    result = {"surroundings": surroundings(), "system": config.to_dict(), "after_laptop": scores(first), "variants": {}}
    print("after Laptop", json.dumps(result["after_laptop"]["Laptop"]), flush=True)
    for variant in ("plain", "ignore", "shield"):
        method = copy.deepcopy(first)
        method.missing = variant
        for task in tasks[1:]:
            learn_task(method, task, config.train, Seeds(0))
        result["variants"][variant] = scores(method)
        for name, found in result["variants"][variant].items():
            print(variant, name, json.dumps(found), flush=True)
        write_json(HERE / "missing_classes.json", result)


if __name__ == "__main__":
    main()
