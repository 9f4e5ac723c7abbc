"""Which laptop aspects of the test set restaurants cost: a look at what `ae14.py` left in its work folder.

    python benchmarks/finding/lost.py --data FOLDER --work FOLDER

Nothing was chosen by it. Told by kind of aspect: how many were found before and after, and what became of those that were
lost: missed, or found with other ends. And how many wrong aspects there were. The lost ones are printed, not written.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import torch
from ae14 import read_sets
from held_aspects import aspects_of
from safetensors.torch import load_file

from classic.data.marked import Span
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder
from classic.finding.marking import mark

OUT = Path(__file__).parent / "lost.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    train, test = read_sets(arguments.data / "laptop", valid=False)
    known = set().union(*map(aspects_of, train))
    found: list[list[set[Span]]] = []
    for name in ("laptop", "laptop-rest"):
        tensors = load_file(arguments.work / f"starter-{name}.safetensors")
        marks = mark(KeptFinder("minilm", FinderConfig(), 0, tensors).build(), [each.sentence for each in test], 0.5)
        found.append([{(one.start, one.end) for one in own} for own in marks])
    told: dict[str, Counter[str]] = {}
    wrong: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for each, before, after in zip(test, *found, strict=True):
        true = set(each.spans)
        wrong.update({"before": len(before - true), "after": len(after - true)})
        lost.update(each.sentence[slice(*span)].casefold() for span in each.spans if span in before - after)
        for span in each.spans:
            for kind in kinds(each.sentence[slice(*span)], known):
                count = told.setdefault(kind, Counter())
                count.update({"all": 1, "before": span in before, "after": span in after})
                if span in before and span not in after:
                    count["lost: " + ("other ends" if any(touch(span, other) for other in after) else "missed")] += 1
    arguments.out.write_text(json.dumps({"aspects": told, "wrong": wrong}, indent=1) + "\n", encoding="utf-8")
    for kind, count in sorted(told.items()):
        print(kind, dict(count))
    print("wrong ones", dict(wrong))
    print("lost:", ", ".join(f"{aspect} ({count})" for aspect, count in lost.most_common()))


def kinds(aspect: str, known: set[str]) -> list[str]:
    words = len(aspect.split())
    return [
        "every",
        "known" if aspect.casefold() in known else "new",
        "one word" if words == 1 else "two words" if words == 2 else "three or more",
        *(["with a capital"] if aspect != aspect.lower() else []),
        *(["with a digit"] if any(letter.isdigit() for letter in aspect) else []),
    ]


def touch(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


if __name__ == "__main__":
    main()
