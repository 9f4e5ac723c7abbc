"""Makes the starter's finder: it learns to find aspects from the starter corpus, and becomes a file of the package.

    python benchmarks/starter/make_finder.py

It prints the sha256 that `classic.learning.starter` must name, and how well it finds in domains it was not shown. The corpus
marks every aspect that something is said of, so its sentences count as completely marked. The same code on the same kind
of machine gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import replace
from pathlib import Path

TARGET = Path(__file__).parents[2] / "src" / "classic" / "learning" / "starter_finder.safetensors"
EPOCHS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(1)
    from classic.data.marked import marked_of
    from classic.data.starter import starter_task
    from classic.evaluation.aspects import count_aspects
    from classic.files import write_bytes
    from classic.finding.finder import FinderConfig
    from classic.finding.kept import KeptFinder
    from classic.finding.marking import mark
    from classic.learning.starter import pack_finder
    from classic.training.devices import fastest_precision

    task = starter_task()
    sentences = [replace(each, complete=True) for each in marked_of(task.train + task.valid)]
    kept = KeptFinder("minilm", replace(FinderConfig(), large_epochs=arguments.epochs), 0)
    finder = kept.learn(sentences, 0, precision=fastest_precision())
    tested = marked_of(task.test)
    scores = count_aspects([each.spans for each in tested], mark(finder, [each.sentence for each in tested], 0.5))
    record = {"sentences": len(sentences), "aspects": sum(len(each.spans) for each in sentences)} | scores
    data = pack_finder(replace(kept, config=FinderConfig()), record)
    write_bytes(arguments.out, data)
    print(f"{arguments.out.name}: {len(data) / 1e6:.2f} MB, sha256 {hashlib.sha256(data).hexdigest()}")
    print(
        f"held-out domains: precision {scores['precision']:.4f}, recall {scores['recall']:.4f}, F1 {scores['f1']:.4f}"
    )


if __name__ == "__main__":
    main()
