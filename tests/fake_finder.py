"""A finder and judge that works by word lists: for tests of what comes after finding."""

from __future__ import annotations

import re

from classic.runtime.answering import Answering
from classic.runtime.sentences import Mark
from classic.types import Example, Polarity, Prediction, Probabilities

ASPECTS = re.compile(
    r"lcd screens?|touch screens?|screens?|battery life|batter(?:y|ies)|photos?|pictures?|price|lens(?:es)?|menu|strap",
    re.IGNORECASE,
)
GOOD = {"good", "great", "superb", "lovely", "sharp"}
BAD = {"bad", "awful", "poor", "weak", "confusing"}


class FakeFinder(Answering):
    """Knows a few aspects and a few words for and against them."""

    version = 1

    @property
    def domains(self) -> list[str]:
        return ["camera"]

    @property
    def finds(self) -> bool:
        return True

    def check_domain(self, domain: str | None) -> None:
        pass

    def mark(self, sentences: list[str], min_confidence: float) -> list[list[Mark]]:
        return [[Mark(*found.span(), 0.9) for found in ASPECTS.finditer(sentence)] for sentence in sentences]

    def answer(self, examples: list[Example], domain: str | None, batch_size: int) -> list[Prediction]:
        return [judge(example) for example in examples]


def judge(example: Example) -> Prediction:
    words = set(re.findall(r"\w+", example.sentence.casefold()))
    polarity, shares = Polarity.NEUTRAL, (0.1, 0.1, 0.8)
    if words & GOOD:
        polarity, shares = Polarity.POSITIVE, (0.9, 0.05, 0.05)
    elif words & BAD:
        polarity, shares = Polarity.NEGATIVE, (0.05, 0.9, 0.05)
    odd = "strap" in words
    return Prediction(
        example.sentence, example.aspect, example.span, polarity, Probabilities(*shares), "camera", odd, False, 1
    )
