"""Do explanations name the words a person would name? Fifty written sentences, two aspects each, the opinion words marked.

    python benchmarks/explanations/run.py STORE        # a store
    python benchmarks/explanations/run.py              # the starter, or that of --encoder mpnet

For each aspect the words are sorted by how much they spoke for the answer. Counted is how often the marked word is among the
first two (words of the aspect itself left out), and how often a sentence gets different answers for its two aspects.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

SENTENCES = Path(__file__).parent / "sentences.txt"
_MARK = re.compile(r"\[([^\]]+)\]|<([^>]+)>")


def read(line: str) -> tuple[str, list[tuple[str, str]]]:
    """The sentence, and its aspects with the opinion word of each: the n-th aspect has the n-th opinion."""
    aspects = [found[1] for found in _MARK.finditer(line) if found[1]]
    opinions = [found[2] for found in _MARK.finditer(line) if found[2]]
    return _MARK.sub(lambda found: found[1] or found[2], line), list(zip(aspects, opinions, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", type=Path)
    parser.add_argument("--encoder", default="minilm")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    from classic.prediction.predictor import Predictor

    if arguments.store is None:
        from classic.learning.starter import starter_learner, starter_over

        predictor = Predictor(starter_learner(starter_over(arguments.encoder)), 1)
    else:
        predictor = Predictor.open(arguments.store)
    asked = named = different = 0
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    for line in lines:
        sentence, pairs = read(line)
        answers = [look(predictor, sentence, *pair) for pair in pairs]
        asked += len(answers)
        named += sum(found for _, found in answers)
        different += len({polarity for polarity, _ in answers}) > 1
    print(f"{named} of {asked} opinion words are among the first two ({named / asked:.1%})")
    print(
        f"{different} of {len(lines)} sentences get different answers for their two aspects ({different / len(lines):.1%})"
    )


def look(predictor: Any, sentence: str, aspect: str, opinion: str) -> tuple[str, bool]:
    """The answer, and whether the opinion word is among the first two."""
    answer, words = predictor.explain(sentence, aspect)
    own = {word.casefold() for word in aspect.split()}
    others = sorted((word for word in words if word.text.casefold() not in own), key=lambda word: -word.weight)
    return str(answer.polarity), opinion.casefold() in [word.text.casefold() for word in others[:2]]


if __name__ == "__main__":
    main()
