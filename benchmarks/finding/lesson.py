"""What the finder adds to a small lesson: CPU seconds, and F1 in the domain's test sentences before and after.

CLASSIC_DATA=FOLDER python benchmarks/finding/lesson.py [--domain Nokia6610] [--rows 150]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from classic.data import load_domain
from classic.data.marked import marked_of
from classic.evaluation.aspects import count_aspects
from classic.finding.finder import FinderConfig
from classic.finding.marking import mark
from classic.learning.starter import starter_finder
from classic.training.devices import fastest_precision

OUT = Path(__file__).parent / "lesson.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="Nokia6610")
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    task = load_domain(arguments.domain)
    sentences, tested = marked_of(task.train[: arguments.rows]), marked_of(task.test)
    truth, texts = [each.spans for each in tested], [each.sentence for each in tested]
    kept, _ = starter_finder("minilm", FinderConfig(), 0)
    before = count_aspects(truth, mark(kept.build(), texts, 0.5))
    clock = time.process_time()
    finder = kept.learn(sentences, 1, keep=False, precision=fastest_precision())
    seconds = time.process_time() - clock
    after = count_aspects(truth, mark(finder, texts, 0.5))
    found = {
        "domain": arguments.domain,
        "rows": len(task.train[: arguments.rows]),
        "sentences": len(sentences),
        "cpu_seconds": round(seconds, 1),
        "before": before,
        "after": after,
    }
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
