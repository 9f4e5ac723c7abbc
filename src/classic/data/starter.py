"""The starter corpus: sentences about everyday products and services, written for this project and free for all (CC0).

Each domain is a file of lines ``register<TAB>text``, in which every aspect that something is said of stands in brackets
with its polarity:

    plain	The [battery life|+] is superb, but the [charger|-] arrived dead and the [cable|0] is two metres long.

A person can read and mend that, and character spans follow from it. `docs/corpus.md` is its data card.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from classic.errors import DataError, unknown_name
from classic.types import Example, Polarity, Task

STARTER = "starter"
# Domains that nothing is ever trained on: a fifth of all, kept to see how well the rest carries over.
HELD_OUT: tuple[str, ...] = (
    "bicycle",
    "food_delivery",
    "grocery_store",
    "health_insurance",
    "mattress",
    "smartwatch",
    "streaming_service",
    "train_travel",
)
REGISTERS: tuple[str, ...] = (
    "comparative",
    "conditional",
    "emoji",
    "everyday",
    "factual",
    "formal",
    "implicit",
    "ironic",
    "misspelt",
    "negated",
    "numbers",
    "plain",
    "rambling",
    "review",
    "spoken",
    "terse",
)
_SIGNS = {"+": Polarity.POSITIVE, "-": Polarity.NEGATIVE, "0": Polarity.NEUTRAL}
_MARK = re.compile(r"\[([^\[\]|]+)\|([+\-0])\]")
_VALID_SHARE = 12  # one sentence in so many is for choosing the epoch


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the corpus.

    Attributes:
        domain: The domain it is about.
        register: How it is said, of REGISTERS.
        text: Without marks.
        examples: Its aspects, with their places in the text.
    """

    domain: str
    register: str
    text: str
    examples: tuple[Example, ...]

    @property
    def mixed(self) -> bool:
        """Whether it says different things about its aspects."""
        return len({example.polarity for example in self.examples}) > 1


def read_sentence(domain: str, line: str, place: str = "") -> Sentence:
    """A line of the corpus: marks become spans."""
    register, tab, marked = line.partition("\t")
    text, found, last = "", [], 0
    for mark in _MARK.finditer(marked):
        text += marked[last : mark.start()]
        found.append((mark[1], (len(text), len(text) + len(mark[1])), _SIGNS[mark[2]]))
        text += mark[1]
        last = mark.end()
    text += marked[last:]
    if not tab or register not in REGISTERS or not found or re.search(r"[\[\]|\t]", text):
        raise DataError("not a line of the starter corpus", path=place, expected="register<TAB>text with [aspect|+]")
    return Sentence(domain, register, text, tuple(Example(text, *_turned(mark)) for mark in found))


def _turned(mark: tuple[str, tuple[int, int], Polarity]) -> tuple[str, Polarity, tuple[int, int]]:
    aspect, span, polarity = mark
    return aspect, polarity, span


@cache
def starter_domains() -> tuple[str, ...]:
    """The names of all domains, those that are held out included."""
    folder = files("classic.data").joinpath(STARTER)
    return tuple(sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt")))


def load_starter(domain: str) -> tuple[Sentence, ...]:
    """The sentences of one domain.

    Raises:
        InputError: There is no such domain.
    """
    if domain not in starter_domains():
        raise unknown_name("starter domain", domain, list(starter_domains()))
    text = files("classic.data").joinpath(STARTER, f"{domain}.txt").read_text(encoding="utf-8")
    return tuple(
        read_sentence(domain, line, f"{domain}.txt:{number}") for number, line in enumerate(text.splitlines(), 1)
    )


def starter_task() -> Task:
    """The whole corpus as one task: sentences of all domains but the held-out ones, which are its test set."""
    sentences = [each for domain in starter_domains() if domain not in HELD_OUT for each in load_starter(domain)]
    random.Random(0).shuffle(sentences)
    cut = len(sentences) // _VALID_SHARE
    held_out = (each for domain in HELD_OUT for each in load_starter(domain))
    return Task(STARTER, _examples(sentences[cut:]), _examples(sentences[:cut]), _examples(held_out))


@cache
def starter_texts() -> tuple[str, ...]:
    """Every sentence of the domains that may be trained on."""
    domains = (domain for domain in starter_domains() if domain not in HELD_OUT)
    return tuple(each.text for domain in domains for each in load_starter(domain))


def _examples(sentences: Iterator[Sentence] | list[Sentence]) -> tuple[Example, ...]:
    return tuple(example for sentence in sentences for example in sentence.examples)
