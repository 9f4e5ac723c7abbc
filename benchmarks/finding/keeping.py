"""How much of the version before to keep (`FinderConfig.keep`), looked at on every sixth training sentence.

    python benchmarks/finding/ae14.py --data FOLDER --work FOLDER --out FILE --valid --set keep=0
    python benchmarks/finding/keeping.py --data FOLDER --work FOLDER

What a lesson ends with is a point between two versions, so nothing need be learned again to look at other shares: of
laptops, when restaurants were learned after them, and of the starter, when laptops were. Some 480 sentences test a
domain: differences of a point or two are noise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from ae14 import DOMAINS, fresh, read_sets
from safetensors.torch import load_file
from torch import Tensor

from classic.data.marked import Marked
from classic.evaluation.aspects import count_aspects
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder
from classic.finding.marking import mark

OUT = Path(__file__).parent / "keeping.json"
OF_A_LESSON, OF_THE_STARTER = (0.0, 0.1, 0.15, 0.25, 0.4, 0.5), (0.0, 0.25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tests = {name: read_sets(arguments.data / name, valid=True)[1] for name in DOMAINS}
    starter = fresh(FinderConfig(), starter=True).tensors
    assert starter is not None
    first, second = (load_file(arguments.work / f"starter-{name}.safetensors") for name in ("laptop", "laptop-rest"))
    found = {
        "tested_on": "every sixth training sentence",
        "of laptops, after restaurants": {
            str(share): scores(between(first, second, share), tests) for share in OF_A_LESSON
        },
        "of the starter, after laptops": {
            str(share): scores(between(starter, first, share), tests) for share in OF_THE_STARTER
        },
    }
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for title, shares in found.items():
        for share, told in shares.items() if isinstance(shares, dict) else ():
            print(title, share, {name: round(100 * each["f1"], 1) for name, each in told.items()})


def between(old: dict[str, Tensor], new: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    return {name: torch.lerp(new[name].float(), old[name].float(), share).to(new[name].dtype) for name in new}


def scores(tensors: dict[str, Tensor], tests: dict[str, list[Marked]]) -> dict[str, Any]:
    finder = KeptFinder("minilm", FinderConfig(), 0, tensors).build()
    found = {}
    for name, tested in tests.items():
        marks = mark(finder, [each.sentence for each in tested], 0.5)
        found[name] = count_aspects([each.spans for each in tested], marks)
    return found


if __name__ == "__main__":
    main()
