"""One pass per sentence, or one per aspect? What the cheaper way to judge would cost in right answers, and what it saves.

    CLASSIC_DATA=FOLDER python benchmarks/finding/one_pass.py [--systems ncl@bert_adapter,ncl@bert] [--seeds 0 1]

Judging asks the encoder once per aspect: [CLS] aspect [SEP] sentence [SEP]. In one pass it would read the sentence alone,
and every aspect take its features from its own words in the same token states: the mean of all, beside the mean of its own.
Restaurants and laptops of SemEval are learned together with the recipe of the budget ``full``, joined sentences included,
but for a quarter of their sentences, which are asked about. Both ways differ in nothing but what the encoder reads. Time is
the CPU time of one thread for all questions, in batches of 64. What one pass cannot do is tell which aspect is meant if it
does not stand in the sentence: the share of such rows in the paper's 19 domains is counted, too.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from classic.backbones.encoder import PairTokenizer, pool_aspect
from classic.benchmark.tables.paired import mcnemar
from classic.data.domains import DOMAINS
from classic.data.tasks import load_domain
from classic.evaluation import accuracy, macro_f1
from classic.evaluation.answers import answer
from classic.seeding import Seeds
from classic.systems.names import parse
from classic.systems.system import build
from classic.training.loop import learn_task
from classic.types import Example, Task

OUT = Path(__file__).parent / "one_pass.json"
LEARNED = ("Rest", "Laptop")
HELD_OUT = 0.25
BATCH = 64


class SentenceTokenizer(PairTokenizer):
    """Reads the sentence alone, so that all its aspects have the same input; where they stand is marked as ever."""

    def encode(self, examples: Sequence[Example]) -> list[Any]:
        return self._tokenizer.encode_batch([("", example.sentence) for example in examples])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="ncl@bert_adapter,ncl@bert")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    task, asked = split()
    found = json.loads(arguments.out.read_text()) if arguments.out.is_file() else {"runs": []}
    found["aspects_that_do_not_stand_in_their_sentence"] = elsewhere()
    runs = found["runs"]
    for system in arguments.systems.split(","):
        for seed in arguments.seeds:
            if any(each["system"] == system and each["seed"] == seed for each in runs):
                continue
            ways = {"a pass per aspect": run(system, seed, task, asked, alone=False)}
            ways["a pass per sentence"] = run(system, seed, task, asked, alone=True)
            one, other = (way.pop("right") for way in ways.values())
            only = [sum(a and not b for a, b in zip(*pair, strict=True)) for pair in ((one, other), (other, one))]
            runs.append({"system": system, "seed": seed, "asked": len(asked), "ways": ways, "p": mcnemar(*only)})
            arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def elsewhere() -> dict[str, float]:
    """The share of rows whose aspect is not in their sentence, of all rows and of the domain that has most of them."""
    shares, rows, away = [], 0, 0
    for domain in DOMAINS:
        task = load_domain(domain.name)
        examples = task.train + task.valid + task.test
        count = sum(each.aspect.strip().casefold() not in each.sentence.casefold() for each in examples)
        shares.append(count / len(examples))
        rows, away = rows + len(examples), away + count
    return {"all": round(away / rows, 4), "most": round(max(shares), 4)}


def split() -> tuple[Task, tuple[Example, ...]]:
    """Both domains as one task without a quarter of their sentences, and the examples of these."""
    examples = [example for name in LEARNED for example in load_domain(name).train]
    sentences = sorted({example.sentence for example in examples})
    random.Random(7).shuffle(sentences)
    back = set(sentences[: int(len(sentences) * HELD_OUT)])
    learned = tuple(example for example in examples if example.sentence not in back)
    return Task("both", learned), tuple(example for example in examples if example.sentence in back)


def run(system: str, seed: int, task: Task, asked: tuple[Example, ...], *, alone: bool) -> dict[str, Any]:
    config = parse(system, "default")
    method = build(config, seed)
    backbone: Any = method.model.backbone
    if alone:
        backbone._tokenizer.__class__ = SentenceTokenizer  # the same settings; it reads something else
    log = learn_task(method, task, config.train, Seeds(seed))
    clock = time.process_time()
    said = (judge_in_one_pass(method, asked) if alone else answer(method, asked)).argmax(dim=1).tolist()
    seconds = time.process_time() - clock
    true = [example.polarity.column for example in asked if example.polarity]
    right = [one == other for one, other in zip(true, said, strict=True)]
    opinions = defaultdict(set)
    for example in asked:
        opinions[example.sentence].add(example.polarity)
    mixed = [fine for fine, example in zip(right, asked, strict=True) if len(opinions[example.sentence]) > 1]
    return {
        "accuracy": accuracy(true, said),
        "macro_f1": macro_f1(true, said),
        "mixed": sum(mixed) / len(mixed),
        "training_cpu_seconds": round(log.cpu_seconds, 1),
        "answering_cpu_seconds": round(seconds, 2),
        "right": right,
    }


def judge_in_one_pass(method: Any, asked: tuple[Example, ...]) -> torch.Tensor:
    """Logits of all examples, (n, C); the encoder sees every sentence once."""
    backbone, logits = method.model.backbone, torch.zeros(len(asked), len(method.present))
    of_sentence: dict[str, list[int]] = defaultdict(list)
    for row, example in enumerate(asked):
        of_sentence[example.sentence].append(row)
    groups = sorted(of_sentence.values(), key=lambda rows: len(asked[rows[0]].sentence))
    method.eval()
    with torch.no_grad():
        for start in range(0, len(groups), BATCH):
            together = groups[start : start + BATCH]
            states = backbone.tokens(backbone.collate([asked[rows[0]] for rows in together]))
            inputs = backbone.collate([asked[row] for rows in together for row in rows]).inputs
            copies = torch.tensor([place for place, rows in enumerate(together) for _ in rows])
            features = pool_aspect(states[copies], inputs["attention_mask"], inputs["token_type_ids"])
            logits[[row for rows in together for row in rows]] = method.model.head(features)
    return logits


if __name__ == "__main__":
    main()
