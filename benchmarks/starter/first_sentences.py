"""The first sentences that come to mind, written before the model existed: how many aspects does it judge rightly?

python benchmarks/starter/first_sentences.py [STORE]      # without a store: the starter
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    import torch

    torch.set_num_threads(1)
    from classic.data.starter import read_sentence
    from classic.learning.starter import starter_learner
    from classic.prediction.predictor import Predictor

    predictor = Predictor.open(sys.argv[1]) if len(sys.argv) > 1 else Predictor(starter_learner(), 1)
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
