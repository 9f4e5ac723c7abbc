"""For scale: what a lexicon gets right where the starter is asked. VADER reads the sentence and never the aspect.

    pip install vaderSentiment
    CLASSIC_DATA=FOLDER python benchmarks/starter/lexicon.py

A compound score of 0.05 or more is positive, of -0.05 or less negative, as VADER's authors advise; the rest is neutral. With
`near`, it reads only the eight words around the aspect. Nothing is learned.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

NEAR = 4  # words on each side of the aspect


def main() -> None:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    from classic.data.starter import HELD_OUT, load_starter

    analyser = SentimentIntensityAnalyzer()

    def said(text: str) -> int:
        compound = analyser.polarity_scores(text)["compound"]
        return 0 if compound >= 0.05 else 1 if compound <= -0.05 else 2

    readers: dict[str, Callable[[Any], int]] = {
        "sentence": lambda example: said(example.sentence),
        "near": lambda example: said(around(example.sentence, example.aspect)),
    }
    starter = {
        domain: [example for sentence in load_starter(domain) for example in sentence.examples] for domain in HELD_OUT
    }
    for name, read in readers.items():
        report(f"held-out domains of the starter, VADER, {name}", starter, read)
    if os.environ.get("CLASSIC_DATA"):
        from classic.data.domains import DOMAINS
        from classic.data.tasks import load_domain

        paper = {domain.name: list(load_domain(domain.name).test) for domain in DOMAINS}
        for name, read in readers.items():
            report(f"the paper's 19 test sets, VADER, {name}", paper, read)


def around(sentence: str, aspect: str) -> str:
    """The words about the aspect, itself included."""
    place = sentence.lower().find(aspect.lower())
    if place < 0:
        return sentence
    before, after = sentence[:place].split(), sentence[place + len(aspect) :].split()
    return " ".join([*before[-NEAR:], aspect, *after[:NEAR]])


def report(title: str, domains: dict[str, list[Any]], read: Callable[[Any], int]) -> None:
    from classic.evaluation.scores import count, in_order, score

    found = []
    for examples in domains.values():
        answers = [read(example) for example in examples]
        found.append(score(count(examples, answers)) | in_order(examples, answers))
    means = [sum(one[metric] for one in found) / len(found) for metric in ("accuracy", "own_f1")]
    right, total = (sum(one["mixed"][part] for one in found) for part in (0, 1))
    print(f"{title}: mean accuracy {means[0]:.4f}, own F1 {means[1]:.4f}, mixed {right / total:.4f} of {total}")


if __name__ == "__main__":
    main()
