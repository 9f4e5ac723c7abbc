"""A split of training sentences with more new aspects: some are held out, with every sentence they stand in.

Of the aspects in every sixth sentence most stand in the other five as well; of those in a test set, fewer. If what a later
domain costs were new aspects, only a split like this would show it. One in ten of the aspects that stand in few sentences is
held out, and one in eight of the other sentences beside.

    python benchmarks/finding/held_aspects.py --data FOLDER

tells what is tested so, in every sixth sentence and in the test set: how many aspects are new, and how they look.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from random import Random

from classic.data.marked import Marked, read_marked

_FEW = 8  # sentences
_ASPECTS, _SENTENCES = 10, 8


def split(sentences: list[Marked], seed: int = 0) -> tuple[list[Marked], list[Marked]]:
    """What to learn and what to test."""
    counts = Counter(aspect for each in sentences for aspect in aspects_of(each))
    few = sorted(aspect for aspect, count in counts.items() if count <= _FEW)
    held = set(Random(seed).sample(few, len(few) // _ASPECTS))
    learned: list[Marked] = []
    tested: list[Marked] = []
    others = 0
    for each in sentences:
        if aspects_of(each) & held:
            tested.append(each)
        else:
            (learned if others % _SENTENCES else tested).append(each)
            others += 1
    return learned, tested


def aspects_of(marked: Marked) -> set[str]:
    return {marked.sentence[start:end].casefold() for start, end in marked.spans}


def of_new_aspects(learned: list[Marked], tested: list[Marked]) -> float:
    """Share of the tested aspects that the learned sentences do not have."""
    known = set().union(*map(aspects_of, learned))
    spans = [each.sentence[start:end].casefold() for each in tested for start, end in each.spans]
    return sum(aspect not in known for aspect in spans) / len(spans)


def looks(tested: list[Marked]) -> dict[str, float]:
    """Of the tested aspects: words in the mean, shares with a digit and with a capital first."""
    aspects = [each.sentence[start:end] for each in tested for start, end in each.spans]
    return {
        "words": sum(len(aspect.split()) for aspect in aspects) / len(aspects),
        "digit": sum(any(letter.isdigit() for letter in aspect) for aspect in aspects) / len(aspects),
        "capital": sum(aspect[0].isupper() for aspect in aspects) / len(aspects),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    for name in ("laptop", "rest"):
        train, test = (read_marked(arguments.data / name / f"{part}.json") for part in ("train", "test"))
        sixth = [each for row, each in enumerate(train) if row % 6], train[::6]
        ways = {"held aspects": split(train), "every sixth": sixth, "the test set": (train, test)}
        for way, (learned, tested) in ways.items():
            told = {"new": of_new_aspects(learned, tested)} | looks(tested)
            print(f"{name:7s} {way:13s} {len(tested)} sentences", {key: round(value, 3) for key, value in told.items()})


if __name__ == "__main__":
    main()
