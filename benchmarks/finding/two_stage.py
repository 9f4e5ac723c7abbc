"""End to end on SemEval-2014 with tools anybody can install: one finds aspects, another judges them; exact match of pairs.

    pip install textblob vaderSentiment
    python benchmarks/finding/two_stage.py --data FOLDER

--data has the four XML files of SemEval-2014 task 4. Aspects are found by the rule of `rule.py`, as runs of nouns by
TextBlob's tagger, or as words that the training sentences mark, wherever they stand (longest first). They are judged by
VADER or by TextBlob, over the whole sentence or the part of it around the aspect: between commas and "but". Each finder with
every judge; the best of them on the test sentences is the one to beat. CLASSIC's own score is told by `pairs.py`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairs import NAMES, counted, read_gold
from rule import noun_runs
from textblob.en import parse, sentiment
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from classic.data.marked import Marked, Span, read_marked
from classic.types import Polarity

OUT = Path(__file__).parent / "two_stage.json"
_END = re.compile(r"[,;:.!?()]|\bbut\b|\balthough\b|\bthough\b|\bhowever\b", re.IGNORECASE)
_NEUTRAL = 0.05  # VADER's own bound
_TWICE = 2  # times an aspect is marked before it counts as known

Finder = Callable[[str], list[Span]]
Judge = Callable[[str], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    vader = SentimentIntensityAnalyzer()
    judges: dict[str, Judge] = {
        "VADER": lambda text: float(vader.polarity_scores(text)["compound"]),
        "TextBlob": lambda text: float(sentiment(text)[0]),
    }
    found: dict[str, Any] = {}
    for name, file in NAMES.items():
        learned = read_marked(arguments.data / f"{file}_Train_v2.xml")
        test = read_gold(arguments.data / f"{file}_Test_Gold.xml")
        finders: dict[str, Finder] = {"rule": noun_runs, "tagger": nouns, "known words": known(learned)}
        tried: dict[str, Any] = {}
        for finding, finder in finders.items():
            for judging, judge in judges.items():
                for whole in (True, False):
                    key = f"{finding}, {judging} over the {'sentence' if whole else 'part'}"
                    tried[key] = counted(*test, answers(test[0], finder, judge, whole))
        found[name] = tried
        for key, told in tried.items():
            print(name, key, {what: round(100 * told[what]["f1"], 1) for what in ("aspects", "pairs")}, flush=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def nouns(sentence: str) -> list[Span]:
    """Runs of words that the tagger calls nouns."""
    found: list[Span] = []
    place, running = 0, False
    for token in parse(sentence, chunks=True).split(" "):
        for word, tag, *_ in (part.split("/") for part in token.split("\n")):
            start = sentence.find(word, place) if word else -1
            if start < 0:
                running = False
                continue
            place = start + len(word)
            noun = tag.startswith("NN")
            if noun and running:
                found[-1] = (found[-1][0], place)
            elif noun:
                found.append((start, place))
            running = noun
    return found


def known(sentences: list[Marked]) -> Finder:
    """Finds what these sentences mark."""
    counts = Counter(each.sentence[start:end].casefold() for each in sentences for start, end in each.spans)
    words = sorted((word for word, count in counts.items() if count >= _TWICE), key=lambda word: (-len(word), word))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
    return lambda sentence: [match.span() for match in pattern.finditer(sentence)]


def answers(sentences: list[Marked], finder: Finder, judge: Judge, whole: bool) -> list[dict[Span, Polarity]]:
    said: list[dict[Span, Polarity]] = []
    for each in sentences:
        judged = {}
        for span in finder(each.sentence):
            score = judge(each.sentence if whole else part(each.sentence, span))
            certain = abs(score) >= _NEUTRAL
            judged[span] = (Polarity.POSITIVE if score > 0 else Polarity.NEGATIVE) if certain else Polarity.NEUTRAL
        said.append(judged)
    return said


def part(sentence: str, span: Span) -> str:
    ends = [match.span() for match in _END.finditer(sentence)]
    start = max((right for _, right in ends if right <= span[0]), default=0)
    end = min((left for left, _ in ends if left >= span[1]), default=len(sentence))
    return sentence[start:end]


if __name__ == "__main__":
    main()
