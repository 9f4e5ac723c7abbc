"""End to end on SemEval-2014: reviews in, (aspect, polarity) pairs out, exact match; laptops, then restaurants.

    python benchmarks/finding/pairs.py --data FOLDER --work FOLDER

--data has the four XML files of SemEval-2014 task 4: their sentences are completely marked, which the finder is told. The
store is the default one; it learns laptops, then restaurants, and is then asked about both test sets. Aspects labelled
"conflict" have no polarity of ours: found, they are not counted as wrong, nor as right.

With --starter nothing is learned: the starter finds and judges. With --finder FILE beside it, a finder that `ae14.py` made
finds, and the starter judges: what the two lessons about finding are worth by themselves.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from classic.data import make_task, read_examples
from classic.data.marked import Marked, Span, read_marked
from classic.evaluation.aspects import exact_match
from classic.learning.learner import open_or_create
from classic.learning.starter import starter_learner
from classic.learning.teach import teach
from classic.prediction.predictor import Predictor
from classic.types import Example, Polarity

OUT = Path(__file__).parent / "pairs.json"
Rows = dict[str, dict[Span, Polarity | None]]
NAMES = {"laptop": "Laptops", "rest": "Restaurants"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="where the store is made")
    parser.add_argument("--starter", action="store_true", help="ask the starter, without a lesson")
    parser.add_argument("--finder", type=Path, help="with --starter: the tensors of another finder")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.starter == bool(arguments.work):
        parser.error("give either --work or --starter")
    predictor = ask_starter(arguments.finder) if arguments.starter else taught(arguments)
    found = {name: score(predictor, arguments.data / f"{file}_Test_Gold.xml") for name, file in NAMES.items()}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def ask_starter(finder: Path | None) -> Predictor:
    learner = starter_learner()
    if finder:
        assert learner.finder
        learner.finder.tensors = load_file(finder)
    return Predictor(learner, 1)


def taught(arguments: argparse.Namespace) -> Predictor:
    """A default store that learned both domains."""
    store = open_or_create(arguments.work / "pairs.store", finder=True)
    for name, file in NAMES.items():
        task = make_task(
            name,
            {
                "train": read_examples(arguments.data / f"{file}_Train_v2.xml"),
                "test": read_examples(arguments.data / f"{file}_Test_Gold.xml"),
            },
        )
        teach(store, task, sentences=read_marked(arguments.data / f"{file}_Train_v2.xml"))
    return Predictor.open(store)


def score(predictor: Predictor, file: Path) -> dict[str, Any]:
    marked, rows = read_gold(file)
    found = predictor.find([each.sentence for each in marked])
    said = [{(one.start, one.end): one.prediction.polarity for one in own} for own in found]
    examples = read_examples(file)
    answers = predictor.predict([Example(e.sentence, e.aspect, None, e.span) for e in examples])
    right = sum(a.polarity is e.polarity for a, e in zip(answers, examples, strict=True))
    return counted(marked, rows, said) | {"accuracy_of_given_aspects": right / len(examples)}


def read_gold(file: Path) -> tuple[list[Marked], Rows]:
    """Sentences with their aspects, and the polarity of every aspect that has one."""
    marked = read_marked(file)
    rows: Rows = {each.sentence: {} for each in marked}
    for example in read_examples(file):
        if example.span:
            rows[example.sentence][example.span] = example.polarity
    return marked, rows


def counted(marked: list[Marked], rows: Rows, said: Sequence[Mapping[Span, Polarity]]) -> dict[str, Any]:
    """Exact match of aspects and of pairs."""
    true, named = [], []
    for each, own in zip(marked, said, strict=True):
        polarities = rows[each.sentence]
        conflicts = {span for span in each.spans if polarities.get(span) is None}
        true.append({(span, polarities[span]) for span in each.spans if span not in conflicts})
        named.append({(span, polarity) for span, polarity in own.items() if span not in conflicts})
    return {"aspects": exact_match([each.spans for each in marked], said), "pairs": exact_match(true, named)}


if __name__ == "__main__":
    main()
