"""The clause of an aspect, and what it does to an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.runtime.answering import Answering, as_prediction
from classic.runtime.clauses import blend, clause_of
from classic.types import Example, Polarity, Prediction, example_about

CLAUSES = [
    ("The zoom is superb but the menu is a maze.", "zoom", "The zoom is superb"),
    ("The zoom is superb but the menu is a maze.", "menu", "the menu is a maze"),
    ("Lovely screen, awful keyboard; the fan is loud!", "keyboard", "awful keyboard"),
    ("Lovely screen, awful keyboard; the fan is loud!", "fan", "the fan is loud"),
    ("The sole wore out, THOUGH the fit is perfect", "fit", "the fit is perfect"),
    ("The tank holds 1.8 litres, the pump whines.", "tank", "The tank holds 1.8 litres"),
    ("画面很漂亮，键盘很差。", "键盘", "键盘很差"),
    ("Soft pillows -- the lift was broken.", "lift", "the lift was broken."[:-1]),
    ("Great Zoom, dull menu.", "zoom", "Great Zoom"),
]


@pytest.mark.parametrize(("sentence", "aspect", "clause"), CLAUSES)
def test_a_clause_ends_at_punctuation_and_where_the_sentence_turns(sentence: str, aspect: str, clause: str) -> None:
    found = clause_of(Example(sentence, aspect))
    assert found is not None
    assert found.sentence == clause
    assert found.span is not None
    start, end = found.span
    assert clause[start:end].lower() == aspect.lower()


@pytest.mark.parametrize(
    ("sentence", "aspect"),
    [
        ("The zoom is superb.", "zoom"),  # one clause
        ("The room, which was tiny, cost a fortune.", "The room"),  # nothing is said there
        ("Superb, but nothing else.", "zoom"),  # not in the sentence
        ("The menu is fine, but the menu of the day is not.", "menu"),  # which of the two?
        ("", ""),
    ],
)
def test_without_a_clause_of_its_own_the_sentence_is_all_there_is(sentence: str, aspect: str) -> None:
    assert clause_of(Example(sentence, aspect)) is None


def test_a_span_says_which_of_two_is_meant() -> None:
    sentence = "The menu is fine, but the menu of the day is not."
    found = clause_of(example_about(sentence, (26, 30)))
    assert found is not None
    assert found.sentence == "the menu of the day is not"
    assert found.span == (4, 8)


@given(st.text(alphabet="ab ,.;-—İßbut", max_size=40), st.text(alphabet="abut İ", min_size=1, max_size=5))
def test_a_clause_is_a_part_of_the_sentence_that_holds_the_aspect(sentence: str, aspect: str) -> None:
    found = clause_of(Example(sentence, aspect))
    if found is not None:
        assert found.sentence in sentence
        assert len(found.sentence) < len(sentence)
        assert found.span is not None
        assert found.sentence[slice(*found.span)].lower() == aspect.lower()


def test_two_readings_weigh_the_same() -> None:
    assert blend([0.9, 0.1, 0.0], [0.1, 0.9, 0.0]) == pytest.approx([0.5, 0.5, 0.0])
    assert blend([0.6, 0.4, 0.0], [0.1, 0.9, 0.0]) == pytest.approx([0.2898979, 0.7101021, 0.0])
    assert blend([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]) == [1.0, 0.0, 0.0]  # they have nothing in common


class ByLength(Answering):
    """Says positive of what is longer than 20 characters, negative of what is shorter; remembers what it was asked."""

    version = 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def domains(self) -> list[str]:
        return ["any"]

    def check_domain(self, domain: str | None) -> None:
        pass

    def answer(self, examples: list[Example], domain: str | None, batch_size: int) -> list[Prediction]:
        self.asked += [example.sentence for example in examples]
        shares = [(0.6, 0.3, 0.1) if len(e.sentence) > 20 else (0.1, 0.9, 0.0) for e in examples]
        return [as_prediction(e, s, "any", False, False, 1) for e, s in zip(examples, shares, strict=True)]


def test_answers_carry_the_sentence_and_what_both_readings_say() -> None:
    predictor = ByLength()
    sentence = "The crema is thick and lovely, but descaling drags."
    crema, descaling = predictor.predict(sentence, ["crema", "descaling"])
    assert predictor.asked == [sentence, sentence, "The crema is thick and lovely", "descaling drags"]
    assert (crema.sentence, descaling.sentence) == (sentence, sentence)
    assert descaling.span == (35, 44)
    assert crema.polarity is Polarity.POSITIVE
    assert crema.probabilities == pytest.approx((0.6, 0.3, 0.1))
    assert descaling.polarity is Polarity.NEGATIVE
    assert sum(descaling.probabilities) == pytest.approx(1.0)


def test_whole_sentences_alone_on_request() -> None:
    predictor = ByLength()
    predictor.clauses = False
    sentence = "The crema is thick and lovely, but descaling drags."
    answers = predictor.predict(sentence, ["crema", "descaling"])
    assert predictor.asked == [sentence, sentence]
    assert [answer.polarity for answer in answers] == [Polarity.POSITIVE, Polarity.POSITIVE]


def test_a_stream_keeps_its_order_across_windows() -> None:
    texts = [f"Part {n} is good, but part {n}b is bad." for n in range(7)]
    examples = [Example(text, f"{n}b") for n, text in enumerate(texts)]
    found = list(ByLength().stream(examples, window=3))
    assert [answer.sentence for answer in found] == texts
