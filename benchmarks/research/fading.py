"""Does a class fade that new domains lack? Rest, which has "neutral", and then six domains that do not.

    CLASSIC_DATA=FOLDER python benchmarks/research/fading.py classic@bert_adapter
    CLASSIC_DATA=FOLDER python benchmarks/research/fading.py classic-absent@bert_adapter

A thousand examples of Rest are learned; a fifth of the sentences of every training set is held out and asked after each
domain. Test sets are not touched. Results are added to fading.json. Eight minutes of one core each.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import recipe as short

HERE = Path(__file__).parent
SEQUENCE = ("Rest", "Nokia6600", "Diaper", "Hitachi", "MicroMP3", "Nikon4300", "Canon100")
LARGEST = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; VALUE is JSON")
    parser.add_argument("--out", type=Path, default=HERE / "fading.json")
    arguments = parser.parse_args()
    from classic.files import write_json

    changes = {key: json.loads(value) for key, value in (setting.split("=", 1) for setting in arguments.set)}
    found = json.loads(arguments.out.read_bytes()) if arguments.out.exists() else []
    found.append(run(arguments.system, changes))
    write_json(arguments.out, found)


def run(system: str, changes: dict[str, Any]) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    from classic.data.tasks import load_domain
    from classic.learning.learner import new_learner, surfaces
    from classic.seeding import Seeds
    from classic.systems.names import parse
    from classic.training.loop import learn_task

    config = parse(system, "default", changes)
    learner = new_learner(config, 0)
    method = learner.method
    parts = {name: short.held_out(load_domain(name)) for name in SEQUENCE}
    parts = {name: (replace(task, train=task.train[:LARGEST]), asked) for name, (task, asked) in parts.items()}
    rest, course = parts["Rest"][1], []
    for name, (task, asked) in parts.items():
        learn_task(method, task, config.train, Seeds(0))
        learner.map.add(surfaces(method, task.train), surfaces(method, task.valid))
        own, first = short.scores(method, asked), short.scores(method, rest)
        neutral = [right for example, right in zip(rest, first["right"], strict=True) if example.polarity == "neutral"]
        step = {"domain": name, "own_f1": own["own_f1"], "rest_own_f1": first["own_f1"], "rest_neutral": sum(neutral)}
        print({key: round(value, 3) if isinstance(value, float) else value for key, value in step.items()}, flush=True)
        course.append(step | {"rest_accuracy": first["accuracy"], "rest_neutral_of": len(neutral)})
    end = {name: short.scores(method, asked) for name, (_, asked) in parts.items()}
    means = {key: short.mean(one[key] for one in end.values()) for key in ("accuracy", "own_f1")}
    print(means)
    return {"system": system, "changes": changes, "course": course} | means


if __name__ == "__main__":
    main()
