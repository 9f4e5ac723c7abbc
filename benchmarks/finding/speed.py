"""How long a review takes: five sentences with eight aspects, found and judged, beside judging the eight one by one.

    python benchmarks/finding/speed.py [--store FOLDER]

Without a store the starter answers. Medians of the CPU time of many repetitions in one thread; the ways take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from classic.learning.starter import starter_learner
from classic.prediction.opening import open_predictor
from classic.prediction.predictor import Predictor
from classic.runtime.sentences import sentences_of

OUT = Path(__file__).parent / "speed.json"
REVIEW = (
    "The screen is gorgeous and the keyboard is a joy to type on. I wish the battery life were better, it hardly lasts a "
    "morning. The fan is loud and the charger gets hot. Customer service answered within a day. For the price, the speakers "
    "are weak."
)
ASPECTS = ("screen", "keyboard", "battery life", "fan", "charger", "Customer service", "price", "speakers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a store or an exported folder")
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.store:
        predictor: Any = open_predictor(arguments.store, threads=1)
    else:
        predictor = Predictor(starter_learner(), 1)
    sentences = [sentence for _, sentence in sentences_of(REVIEW)]
    pairs = [(next(s for s in sentences if aspect in s), aspect) for aspect in ASPECTS]
    ways: dict[str, Callable[[], object]] = {
        "judged one by one": lambda: [predictor.predict(sentence, aspect) for sentence, aspect in pairs],
        "judged together": lambda: predictor.predict(pairs),
        "found": lambda: predictor.mark(sentences, 0.5),
        "found and judged": lambda: predictor.find([REVIEW]),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(arguments.repeat + 2):
        for name, way in ways.items():
            clock = time.process_time()
            way()
            if number > 1:
                times[name].append(time.process_time() - clock)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    one_by_one = medians["judged one by one"]
    found = {
        "engine": type(predictor).__name__,
        "sentences": len(sentences),
        "aspects": len(ASPECTS),
        "found": [each.aspect for each in predictor.find([REVIEW])[0]],
        "milliseconds": {name: round(1000 * value, 2) for name, value in medians.items()},
        "relative": {name: round(value / one_by_one, 3) for name, value in medians.items()},
    }
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
