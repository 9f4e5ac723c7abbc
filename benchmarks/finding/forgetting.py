"""What restaurants cost laptops, on training sentences with aspects that were held out (`held_aspects.py`).

    python benchmarks/finding/forgetting.py --data FOLDER --work FOLDER [--set rehearsed=1]

FOLDER has laptop/train.json and rest/train.json. Laptops are learned from the starter, then every other sentence about
restaurants; what is kept lies between the two (`FinderConfig.keep`), so several shares are looked at. Told for each: F1, and
the recall of aspects that stand in the domain's learned sentences and of those that do not. A lesson whose tensors lie in
the work folder is not repeated.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from ae14 import DOMAINS, fresh
from held_aspects import aspects_of, of_new_aspects, split
from keeping import between
from safetensors.torch import load_file, save_file
from torch import Tensor

from classic.data.marked import Marked, read_marked
from classic.evaluation.aspects import count_aspects
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder
from classic.finding.marking import mark
from classic.training.devices import fastest_precision

OUT = Path(__file__).parent / "forgetting.json"
SHARES = (0.0, 0.15, 0.3)
WHAT = ("f1", "precision", "recall_of_known", "recall_of_new")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--set", nargs="*", default=[], help="change the finder's configuration in the second lesson")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.work.mkdir(parents=True, exist_ok=True)
    changes = {key: json.loads(value) for key, value in (entry.split("=") for entry in arguments.set)}
    sets = {name: split(read_marked(arguments.data / name / "train.json")) for name in DOMAINS}
    found: dict[str, Any] = {
        "precision": fastest_precision(),
        "changes": changes,
        "new_aspects": {name: of_new_aspects(*parts) for name, parts in sets.items()},
    }
    starter = fresh(FinderConfig(), starter=True)
    found["starter"] = scores(starter.tensors, sets)
    first = lesson(starter.tensors, sets["laptop"][0], 1, FinderConfig(), arguments.work / "laptop.safetensors")
    found["laptops"] = scores(first, sets)
    config = replace(FinderConfig(), **changes)
    file = arguments.work / ("-".join(["rest", *arguments.set]) + ".safetensors")
    second = lesson(first, sets["rest"][0][::2], 2, config, file)
    for share in SHARES:
        found[f"then restaurants, {share} stays"] = scores(between(first, second, share), sets)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for title, told in found.items():
        if isinstance(told, dict) and all(isinstance(each, dict) for each in told.values()):
            shown = {name: {key: round(100 * each[key], 1) for key in WHAT} for name, each in told.items()}
            print(title, shown)


def lesson(
    before: dict[str, Tensor] | None, sentences: list[Marked], number: int, config: FinderConfig, file: Path
) -> dict[str, Tensor]:
    """Where training ends, nothing of the version before mixed in."""
    if not file.is_file():
        kept = KeptFinder("minilm", config, 0, before)
        kept.learn(sentences, number, keep=False, precision=fastest_precision())
        assert kept.tensors
        save_file(kept.tensors, file)
    return load_file(file)


def scores(tensors: dict[str, Tensor] | None, sets: dict[str, tuple[list[Marked], list[Marked]]]) -> dict[str, Any]:
    finder = KeptFinder("minilm", FinderConfig(), 0, tensors).build()
    found = {}
    for name, (learned, tested) in sets.items():
        marks = mark(finder, [each.sentence for each in tested], 0.5)
        known = set().union(*map(aspects_of, learned))
        right: dict[bool, list[bool]] = {True: [], False: []}
        for each, own in zip(tested, marks, strict=True):
            places = {(one.start, one.end) for one in own}
            for start, end in each.spans:
                right[each.sentence[start:end].casefold() in known].append((start, end) in places)
        recalls = {key: sum(right[way]) / len(right[way]) for key, way in zip(WHAT[2:], (True, False), strict=True)}
        found[name] = count_aspects([each.spans for each in tested], marks) | recalls
    return found


if __name__ == "__main__":
    main()
