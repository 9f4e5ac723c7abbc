"""The first sentences that come to mind, written before the model existed: how many aspects does it judge rightly?

python benchmarks/starter/first_sentences.py [STORE]      # without a store: the starter, or that of --encoder
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", type=Path)
    parser.add_argument("--encoder", default="minilm")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    from classic.data.starter import read_sentence
    from classic.learning.starter import starter_learner, starter_over
    from classic.prediction.predictor import Predictor

    if arguments.store:
        predictor = Predictor.open(arguments.store)
    else:
        predictor = Predictor(starter_learner(starter_over(arguments.encoder)), 1)
    lines = (Path(__file__).parent / "first_sentences.txt").read_text(encoding="utf-8").splitlines()
    sentences = right = aspects = 0
    for line in lines:
        said = read_sentence("first", f"plain\t{line}")
        answers = predictor.predict(list(said.examples))
        good = [a.polarity == e.polarity for a, e in zip(answers, said.examples, strict=True)]
        right, aspects, sentences = right + sum(good), aspects + len(good), sentences + all(good)
        for answer, example, fine in zip(answers, said.examples, good, strict=True):
            if not fine:
                print(f"  {example.aspect}: {answer.polarity}, not {example.polarity}   ({said.text})")
    print(f"{sentences} of {len(lines)} sentences right in all their aspects, {right} of {aspects} aspects")


if __name__ == "__main__":
    main()
