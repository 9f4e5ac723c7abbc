"""Does a class fade that new domains lack? Domains that have "neutral", and then some that do not.

    CLASSIC_DATA=FOLDER python benchmarks/research/fading.py classic@bert_adapter
    CLASSIC_DATA=FOLDER python benchmarks/research/fading.py classic-absent@bert_adapter --long

A thousand examples of Rest (with --long 1,200 of Laptop, then of Rest) are learned; a fifth of the sentences of every
training set is held out and asked. Test sets are not touched. Of domains with "neutral" it tells how many neutrals are
right; how well its odds tell neutrals from the others, whatever their level (area under the curve); and the macro-F1 that
the right level would have. Results are added to fading.json. Eight minutes of one core, twenty with --long.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import recipe as short

HERE = Path(__file__).parent
SEQUENCE = ("Rest", "Nokia6600", "Diaper", "Hitachi", "MicroMP3", "Nikon4300", "Canon100")
LONG = (
    *("Laptop", "Rest", "Hitachi", "Canon100", "Ipod", "ApexAD"),
    *("Nokia6600", "Diaper", "CanonD500", "Norton", "Linksys", "Nikon4300"),
)
WITH_NEUTRAL = ("Laptop", "Rest")
LEVELS = [step / 4 for step in range(-8, 33)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system")
    parser.add_argument("--long", action="store_true", help="Laptop, Rest, and ten domains without neutral")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; VALUE is JSON")
    parser.add_argument("--out", type=Path, default=HERE / "fading.json")
    arguments = parser.parse_args()
    from classic.files import write_json

    changes = {key: json.loads(value) for key, value in (setting.split("=", 1) for setting in arguments.set)}
    found = json.loads(arguments.out.read_bytes()) if arguments.out.exists() else []
    sequence, largest = (LONG, 1200) if arguments.long else (SEQUENCE, 1000)
    found.append(run(arguments.system, changes, sequence, largest))
    write_json(arguments.out, found)


def run(system: str, changes: dict[str, Any], sequence: Sequence[str], largest: int) -> dict[str, Any]:
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
    parts = {name: short.held_out(load_domain(name)) for name in sequence}
    parts = {name: (replace(task, train=task.train[:largest]), asked) for name, (task, asked) in parts.items()}
    course = []
    for name, (task, asked) in parts.items():
        learn_task(method, task, config.train, Seeds(0))
        learner.map.add(surfaces(method, task.train), surfaces(method, task.valid))
        step = {"domain": name, "own_f1": short.scores(method, asked)["own_f1"]}
        step |= {each: neutrals(method, parts[each][1]) for each in WITH_NEUTRAL if each in sequence}
        print(json.dumps(step), flush=True)
        course.append(step)
    end = {name: short.scores(method, asked) for name, (_, asked) in parts.items()}
    means = {key: short.mean(one[key] for one in end.values()) for key in ("accuracy", "own_f1")}
    print(means)
    return {"system": system, "changes": changes, "course": course} | means


def neutrals(method: Any, asked: Sequence[Any]) -> dict[str, Any]:
    """What has become of "neutral" in a domain that has it."""
    import torch
    from sklearn.metrics import roc_auc_score

    from classic.batching import sorted_batches
    from classic.evaluation import macro_f1

    said, true = short.scores(method, asked), [example.polarity.column for example in asked]
    logits = torch.zeros(len(asked), 3)
    method.eval()
    with torch.no_grad():
        for batch in sorted_batches(method.model.backbone, asked, 64):
            logits[batch.rows] = method.logits(batch)
    neutral = [column == 2 for column in true]
    odds = logits[:, 2] - logits[:, :2].logsumexp(dim=1)
    levels = [macro_f1(true, (logits + torch.tensor([0, 0, level])).argmax(dim=1).tolist()) for level in LEVELS]
    best = max(range(len(LEVELS)), key=levels.__getitem__)
    return {
        "own_f1": round(said["own_f1"], 3),
        "right": sum(right for right, is_neutral in zip(said["right"], neutral, strict=True) if is_neutral),
        "of": sum(neutral),
        "area": round(float(roc_auc_score(neutral, odds)), 3),
        "f1_at_best_level": round(levels[best], 3),
        "best_level": LEVELS[best],
    }


if __name__ == "__main__":
    main()
