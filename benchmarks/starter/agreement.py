"""How far the two readers of the starter corpus agreed: every aspect was labelled by its writer and, blind, by a reader.

    python benchmarks/starter/agreement.py

Lines on which the two differed, or the reader was in doubt (``?``), are not in the corpus.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path


def main() -> None:
    with (Path(__file__).parent / "review.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    pairs = Counter(pair for row in rows for pair in zip(row["writer"], row["reviewer"], strict=True))
    total = pairs.total()
    same = sum(count for (one, two), count in pairs.items() if one == two) / total
    sides = [Counter(), Counter()]
    for pair, count in pairs.items():
        for side, label in zip(sides, pair, strict=True):
            side[label] += count
    by_chance = sum(sides[0][label] * sides[1][label] for label in sides[0]) / total**2
    dropped = sum(row["writer"] != row["reviewer"] for row in rows)
    print(f"{total} aspects in {len(rows)} lines, labelled twice; {dropped} lines dropped")
    print(f"agreement {same:.4f}, Cohen's kappa {(same - by_chance) / (1 - by_chance):.4f}")
    for (one, two), count in sorted(pairs.items()):
        print(f"  writer {one}  reader {two}  {count:5d}")


if __name__ == "__main__":
    main()
