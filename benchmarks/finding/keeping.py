"""How much of the version before to keep (`FinderConfig.keep`): chosen on the dev sets, then told of the test sets.

    python benchmarks/finding/keeping.py --data FOLDER --work FOLDER

The work folder is that of `ae14.py`, run with keep=0. What a lesson ends with is a point between the two versions, so the
second lesson (laptops, then restaurants) need not be learned again to look at other shares. The dev sets have 150 sentences
each: differences of a point or two there are noise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from classic.data.marked import read_marked
from classic.evaluation.aspects import count_aspects
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder
from classic.finding.marking import mark

OUT = Path(__file__).parent / "keeping.json"
SHARES = (0.0, 0.25, 0.4, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    first, second = (load_file(arguments.work / f"starter-{name}.safetensors") for name in ("laptop", "laptop-rest"))
    dev = {share: scores(between(first, second, share), arguments.data, "dev") for share in SHARES}
    chosen = max(SHARES, key=lambda share: sum(each["f1"] for each in dev[share].values()))
    found = {
        "dev": {str(share): told for share, told in dev.items()},
        "chosen": chosen,
        "test": scores(between(first, second, chosen), arguments.data, "test"),
    }
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for share, told in dev.items():
        print("dev, keep", share, {name: round(100 * each["f1"], 1) for name, each in told.items()})
    print("test, keep", chosen, {name: round(100 * each["f1"], 2) for name, each in found["test"].items()})


def between(old: dict[str, Tensor], new: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    return {name: torch.lerp(new[name].float(), old[name].float(), share).to(new[name].dtype) for name in new}


def scores(tensors: dict[str, Tensor], data: Path, part: str) -> dict[str, Any]:
    finder = KeptFinder("minilm", FinderConfig(), 0, tensors).build()
    found = {}
    for name in ("laptop", "rest"):
        tested = read_marked(data / name / f"{part}.json")
        marks = mark(finder, [each.sentence for each in tested], 0.5)
        found[name] = count_aspects([each.spans for each in tested], marks)
    return found


if __name__ == "__main__":
    main()
