"""The starter corpus is what its data card says: marks, balance, spread, nothing twice, nothing of anybody else's."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.data.domains import DOMAINS
from classic.data.starter import (
    HELD_OUT,
    REGISTERS,
    Sentence,
    load_starter,
    read_sentence,
    starter_domains,
    starter_task,
)
from classic.data.tasks import load_domain
from classic.errors import DataError, InputError
from classic.types import POLARITIES, Polarity


@pytest.fixture(scope="module")
def corpus() -> list[Sentence]:
    return [sentence for domain in starter_domains() for sentence in load_starter(domain)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def shingles(text: str, size: int) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + size]) for i in range(len(found) - size + 1)}


def test_a_line_becomes_a_sentence_with_spans() -> None:
    said = read_sentence("shop", "terse\t[Till|-] slow. Staff? The [baker|+], a gem.")
    assert said.text == "Till slow. Staff? The baker, a gem."
    assert [(e.aspect, e.polarity) for e in said.examples] == [
        ("Till", Polarity.NEGATIVE),
        ("baker", Polarity.POSITIVE),
    ]
    assert all(e.span and said.text[slice(*e.span)] == e.aspect for e in said.examples)
    assert said.mixed


@pytest.mark.parametrize(
    "line", ["plain\tno mark", "plain [x|+]", "loud\t[x|+]", "plain\t[x|?]", "plain\t[x|+] and [y"]
)
def test_a_broken_line_is_refused(line: str) -> None:
    with pytest.raises(DataError):
        read_sentence("shop", line, "shop.txt:1")


def test_it_is_large_and_wide(corpus: list[Sentence]) -> None:
    assert len(starter_domains()) >= 30
    assert sum(len(sentence.examples) for sentence in corpus) >= 38000
    for domain in starter_domains():
        assert sum(len(sentence.examples) for sentence in load_starter(domain)) >= 200, domain
        assert domain in HELD_OUT or sum(sentence.register == "review" for sentence in load_starter(domain)) >= 250, (
            domain
        )
    with pytest.raises(InputError):
        load_starter("laptops")


def test_a_fifth_of_the_domains_is_held_out_and_never_trained_on(corpus: list[Sentence]) -> None:
    assert 0.2 <= len(HELD_OUT) / len(starter_domains()) < 0.25
    task = starter_task()
    held = {sentence.text for sentence in corpus if sentence.domain in HELD_OUT}
    assert {example.sentence for example in task.test} == held
    assert not held & {example.sentence for example in task.train + task.valid}
    assert not {e.sentence for e in task.train} & {e.sentence for e in task.valid}
    assert not {*DEMO_DOMAINS} & {*starter_domains()}


def test_polarities_are_balanced_and_most_sentences_have_several_aspects(corpus: list[Sentence]) -> None:
    counts = Counter(example.polarity for sentence in corpus for example in sentence.examples)
    shares = {polarity: counts[polarity] / counts.total() for polarity in POLARITIES}
    assert shares[Polarity.POSITIVE] == pytest.approx(0.41, abs=0.02)
    assert shares[Polarity.NEGATIVE] == pytest.approx(0.39, abs=0.02)
    assert shares[Polarity.NEUTRAL] == pytest.approx(0.20, abs=0.02)
    tested = [sentence for sentence in corpus if sentence.domain in HELD_OUT]
    others = [sentence for sentence in corpus if sentence.register != "review"]  # reviews are more of one mind
    for part, several, mixed in ((corpus, 0.69, 0.49), (others, 0.72, 0.5), (tested, 0.8, 0.6)):
        assert sum(2 <= len(sentence.examples) <= 4 for sentence in part) / len(part) > several
        assert sum(sentence.mixed for sentence in part) / len(part) > mixed
    for register in REGISTERS:
        assert sum(sentence.register == register for sentence in corpus) > 150, register


def test_neither_place_nor_a_but_gives_the_answer_away(corpus: list[Sentence]) -> None:
    several = [sentence.examples for sentence in corpus if len(sentence.examples) > 1]
    for place in (0, -1):
        counts = Counter(examples[place].polarity for examples in several)
        assert max(counts.values()) / counts.total() < 0.45
    with_but = [sentence for sentence in corpus if len(sentence.examples) > 1 and "but" in words(sentence.text)]
    assert sum(not sentence.mixed for sentence in with_but) / len(with_but) > 0.05


def test_spans_are_exact_and_an_aspect_is_meant_once(corpus: list[Sentence]) -> None:
    for sentence in corpus:
        for example in sentence.examples:
            assert example.span and sentence.text[slice(*example.span)] == example.aspect
            assert 1 <= len(example.aspect.split()) <= 4
            found = re.findall(rf"(?<!\w){re.escape(example.aspect.casefold())}(?!\w)", sentence.text.casefold())
            assert len(found) == 1, sentence.text


def test_nothing_stands_twice_or_nearly(corpus: list[Sentence]) -> None:
    assert (
        max(Counter(" ".join(words(sentence.text)) for sentence in corpus).values()) == 1
    )  # short ones have no nine words
    seen: dict[tuple[str, ...], int] = {}
    for number, sentence in enumerate(corpus):
        for run in shingles(sentence.text, 9):
            assert seen.setdefault(run, number) == number, f"{sentence.text!r} and {corpus[seen[run]].text!r}"


def test_the_vocabulary_is_wide(corpus: list[Sentence]) -> None:
    assert len({word for sentence in corpus for word in words(sentence.text)}) > 9000
    for domain in starter_domains():
        aspects = {example.aspect.casefold() for sentence in load_starter(domain) for example in sentence.examples}
        assert len(aspects) >= 60
    for everyday, most in ((False, 0.03), (True, 0.2)):  # two registers are there for the words of most reviews
        part = [sentence for sentence in corpus if (sentence.register in ("everyday", "review")) is everyday]
        said = Counter(word for sentence in part for word in set(words(sentence.text)))
        for word in ("great", "good", "bad", "nice", "terrible", "love", "hate"):
            assert said[word] / len(part) < most, word
            assert not everyday or said[word] >= 5, word


def test_nothing_is_of_the_paper_s_data_sets(
    corpus: list[Sentence], asc19: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLASSIC_DATA", str(asc19))
    theirs: set[tuple[str, ...]] = set()
    for domain in DOMAINS:
        task = load_domain(domain.name)
        for example in task.train + task.valid + task.test:
            theirs |= shingles(example.sentence, 9)
    for sentence in corpus:
        assert not shingles(sentence.text, 9) & theirs, sentence.text


def test_nothing_is_of_the_demo_domains(corpus: list[Sentence]) -> None:
    theirs = set()
    for name in DEMO_DOMAINS:
        task = load_demo(name)
        theirs |= {run for e in task.train + task.valid + task.test for run in shingles(e.sentence, 9)}
    for sentence in corpus:
        assert not shingles(sentence.text, 9) & theirs, sentence.text
