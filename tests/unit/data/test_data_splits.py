"""The split depends on content and seed only and keeps sentences together."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from classic.data import split_examples
from classic.data.splits import normalise
from classic.types import POLARITIES, Example

examples = st.builds(
    Example,
    sentence=st.text("abAB \t", min_size=1, max_size=4),
    aspect=st.sampled_from(["a", "b"]),
    polarity=st.sampled_from(POLARITIES),
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), given_examples=st.lists(examples, max_size=40), seed=st.integers(0, 3))
def test_order_does_not_matter_and_no_sentence_is_in_two_parts(
    data: Any, given_examples: list[Example], seed: int
) -> None:
    split = split_examples(given_examples, seed=seed)
    shuffled = data.draw(st.permutations(given_examples))
    assert split_examples(shuffled, seed=seed) == split
    assert Counter(split.train + split.valid + split.test) == Counter(given_examples)
    parts = [{normalise(example.sentence) for example in part} for part in (split.train, split.valid, split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert split.train or not given_examples


def many(count: int) -> list[Example]:
    """One to three aspects a sentence, polarities 6 : 3 : 1."""
    return [
        Example(f"sentence {n}", f"aspect {k}", POLARITIES[0 if n % 10 < 6 else 1 if n % 10 < 9 else 2])
        for n in range(count)
        for k in range(n % 3 + 1)
    ]


def test_sizes_and_polarities_are_near_80_10_10() -> None:
    everything = many(300)
    split = split_examples(everything)
    totals = Counter(example.polarity for example in everything)
    for part, share in ((split.train, 0.8), (split.valid, 0.1), (split.test, 0.1)):
        counts = Counter(example.polarity for example in part)
        for polarity in POLARITIES:
            assert abs(counts[polarity] / totals[polarity] - share) < 0.04


def test_another_seed_gives_another_split() -> None:
    assert split_examples(many(50), seed=0) != split_examples(many(50), seed=1)


def test_hash_randomisation_does_not_matter() -> None:
    code = (
        "from classic.data import *; from classic.types import *;"
        "s = split_examples([Example(f's{n}', 'a', POLARITIES[n % 3]) for n in range(60)]);"
        "print(task_hash(Task('x', s.train, s.valid, s.test)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_few_sentences_fill_train_then_test_then_valid() -> None:
    for count, sizes in ((0, (0, 0, 0)), (1, (1, 0, 0)), (2, (1, 0, 1)), (3, (1, 1, 1)), (10, (8, 1, 1))):
        split = split_examples([Example(f"s{n}", "a", POLARITIES[0]) for n in range(count)])
        assert (len(split.train), len(split.valid), len(split.test)) == sizes
