"""Where an aspect stands that was given as a word."""

import pytest

from classic.types import example_about, only_place


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("Soft bed, noisy lift.", (5, 8)),
        ("The Bed is soft.", (4, 7)),
        ("The bed is embedded in a wall.", (4, 7)),
        ("The Bed is embedded in a wall.", (4, 7)),
        ("Embedded in a wall.", (2, 5)),
        ("A bed and a bed.", None),
        ("A bed and a Bed.", None),
        ("Embedded, bedridden.", None),
        ("The lift is slow.", None),
    ],
)
def test_a_word_stands_where_the_model_reads_it(sentence: str, place: tuple[int, int] | None) -> None:
    assert only_place(sentence, "bed") == place


def test_a_word_leaves_its_place_to_the_model_and_a_span_does_not() -> None:
    assert example_about("Soft bed, noisy lift.", "lift").span is None
    assert example_about("Soft bed, noisy lift.", (16, 20)).span == (16, 20)
