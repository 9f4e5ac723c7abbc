"""What a summary costs besides the model: memory and time for files of ever more reviews.

    python benchmarks/summary/memory.py            # 1,000, 10,000 and 100,000 reviews

The reviews are made up: three sentences each, names drawn by Zipf's law from 300,000, dates over two years, thirty products.
The finder takes the word behind "The" and judges by the last word, so what is measured is reading, counting, grouping by
spelling and writing. Each size runs in a process of its own; the peak is that of the whole process.
"""

from __future__ import annotations

import csv
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

from classic.runtime.answering import Answering
from classic.runtime.sentences import Mark
from classic.types import Example, Polarity, Prediction, Probabilities

SIZES = (1_000, 10_000, 100_000)
_NAME = re.compile(r"(?<=^The )\w+")
_WORDS = {"good": Polarity.POSITIVE, "bad": Polarity.NEGATIVE, "there": Polarity.NEUTRAL}


class Listed(Answering):
    """Finds the word behind "The"."""

    version = 1

    @property
    def domains(self) -> list[str]:
        return ["made up"]

    def check_domain(self, domain: str | None) -> None:
        pass

    def mark(self, sentences: list[str], min_confidence: float) -> list[list[Mark]]:
        return [[Mark(*found.span(), 0.9) for found in _NAME.finditer(each)] for each in sentences]

    def answer(self, examples: list[Example], domain: str | None, batch_size: int) -> list[Prediction]:
        shares = Probabilities(0.8, 0.1, 0.1)
        said = [_WORDS[example.sentence.rstrip(".").rpartition(" ")[2]] for example in examples]
        return [
            Prediction(e.sentence, e.aspect, e.span, s, shares, "", False) for e, s in zip(examples, said, strict=True)
        ]


def write_reviews(path: Path, count: int) -> None:
    draw = random.Random(7)
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["id", "review", "date", "product"])
        for number in range(count):
            names = [_name(int(draw.paretovariate(0.6)) % 300_000) for _ in range(3)]
            said = " ".join(f"The {name} of this one is, I must say, {draw.choice([*_WORDS])}." for name in names)
            day = date(2023, 1, 1) + timedelta(days=draw.randrange(730))
            table.writerow([number, said, day.isoformat(), f"product {draw.randrange(30)}"])


def _name(number: int) -> str:
    letters = ""
    while number or not letters:
        number, rest = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[rest] + "aeiou"[rest % 5]
    return letters


def measure(count: int) -> dict[str, float]:
    from classic.summary.counting import count_reviews
    from classic.summary.summary import summarise
    from classic.summary.survey import iter_reviews, survey
    from classic.summary.writing import write_summary

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reviews.csv"
        write_reviews(path, count)
        began = time.perf_counter()
        found = survey(path)
        tally = count_reviews(iter_reviews(found), Listed())
        made = summarise(tally, found, title="made up", model="a list")
        write_summary(made, Path(folder) / "summary.html")
        seconds = time.perf_counter() - began
        page = (Path(folder) / "summary.html").stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "reviews": count,
        "MiB": round(peak),
        "seconds": round(seconds, 1),
        "page_kB": page // 1000,
        "dropped": tally.dropped,
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
    else:
        for size in SIZES:
            subprocess.run([sys.executable, __file__, str(size)], check=True)
