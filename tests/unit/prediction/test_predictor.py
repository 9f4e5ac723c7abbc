"""The predictor: the same answer alone, in a batch and in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from classic.errors import DataError, InputError
from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.prediction.predictor import Predictor
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import POLARITIES, Example, Prediction, Scenario, Task, example_about

Tasks = tuple[Task, ...]
SENTENCE = "the screen is good and the soup is bad"


@pytest.fixture(scope="module")
def predictor(taught_path: Path) -> Predictor:
    return Predictor.open(taught_path)


@pytest.fixture(scope="module")
def mixed(toy_tasks: Tasks) -> list[Example]:
    """Texts of all domains and lengths, in no order of length."""
    found = [Example(e.sentence, e.aspect) for task in toy_tasks for e in task.test]
    longer = [Example(f"{e.sentence} and so {e.sentence} {e.sentence}", e.aspect) for e in found[::3]]
    return [example for pair in zip(found, longer * 3, strict=False) for example in pair]


def close(left: list[Prediction], right: list[Prediction]) -> None:
    assert [(p.sentence, p.aspect, p.polarity, p.nearest_domain, p.unfamiliar) for p in left] == [
        (p.sentence, p.aspect, p.polarity, p.nearest_domain, p.unfamiliar) for p in right
    ]
    torch.testing.assert_close(
        torch.tensor([p.probabilities for p in left]), torch.tensor([p.probabilities for p in right]), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("batch_size", [1, 7, 32])
def test_alone_in_batches_and_in_a_stream_the_answer_is_the_same(
    predictor: Predictor, mixed: list[Example], batch_size: int
) -> None:
    alone = [predictor.predict(example.sentence, [example.aspect])[0] for example in mixed]
    streamed = list(predictor.stream(mixed, batch_size=batch_size))
    close(streamed, alone)
    assert len({p.polarity for p in alone}) > 1 or len({p.probabilities for p in alone}) > 10


@pytest.mark.parametrize("window", [1, 5, 1000])
def test_the_order_is_kept_over_windows(predictor: Predictor, mixed: list[Example], window: int) -> None:
    found = list(predictor.stream(iter(mixed), batch_size=3, window=window))
    assert [(p.sentence, p.aspect) for p in found] == [(e.sentence, e.aspect) for e in mixed]


def test_a_stream_reads_no_further_ahead_than_a_window(predictor: Predictor, mixed: list[Example]) -> None:
    read = 0

    def counted() -> Iterator[Example]:
        nonlocal read
        for example in mixed:
            read += 1
            yield example

    answers = predictor.stream(counted(), window=4)
    next(answers)
    assert read == 4


def test_nothing_asked_nothing_answered(predictor: Predictor) -> None:
    assert predictor.predict(SENTENCE, []) == []
    assert list(predictor.stream([])) == []


def test_one_answer_per_aspect_with_its_place(predictor: Predictor) -> None:
    screen, soup, span = predictor.predict(SENTENCE, ["screen", "soup", (27, 31)])
    assert (screen.aspect, screen.span) == ("screen", (4, 10))
    assert (soup.aspect, soup.span) == ("soup", (27, 31))
    assert (span.aspect, span.span, span.probabilities) == ("soup", (27, 31), soup.probabilities)


def test_a_repeated_aspect_is_told_apart_by_its_span_only(predictor: Predictor) -> None:
    sentence = "the soup is good but this soup is awful and broken"
    unknown, first, second = predictor.predict(sentence, ["soup", (4, 8), (26, 30)])
    assert sentence[26:30] == "soup"
    assert (unknown.span, first.span, second.span) == (None, (4, 8), (26, 30))
    assert first.probabilities != second.probabilities


@pytest.mark.parametrize("aspect", ["", "  ", (3, 3), (-1, 4), (0, 1000), (9, 4)])
def test_an_aspect_that_cannot_be_meant_is_refused(predictor: Predictor, aspect: str | tuple[int, int]) -> None:
    with pytest.raises(InputError):
        predictor.predict(SENTENCE, [aspect])


@pytest.mark.parametrize(
    ("span", "said"), [((9, 4), "does not end behind its first"), ((3, 4), "white space"), ((0, 999), "lies outside")]
)
def test_a_span_is_told_what_is_wrong_with_it(predictor: Predictor, span: tuple[int, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        predictor.predict("the screen is good", span)


def test_a_span_may_be_of_numpys_numbers(predictor: Predictor) -> None:
    (answer,) = predictor.predict("the screen is good", (np.int64(4), np.int64(10)))
    assert answer.aspect == "screen" and answer.span == (4, 10)
    assert type(answer.span[0]) is int


@pytest.mark.parametrize("sentence", [None, b"the screen is good", 3])
def test_a_sentence_that_is_no_text_is_named(predictor: Predictor, sentence: object) -> None:
    with pytest.raises(InputError, match=f"a value of type {type(sentence).__name__} is no sentence"):
        predictor.predict(sentence, "screen")


@pytest.mark.parametrize("size", ["batch_size", "window"])
def test_sizes_below_one_are_refused_and_no_row_is_lost(predictor: Predictor, size: str) -> None:
    with pytest.raises(InputError, match="at least 1"):
        list(predictor.stream([("the screen is good", "screen")], **{size: 0}))


def test_a_sentence_is_answered_as_the_same_row_of_a_file_is(predictor: Predictor) -> None:
    sentence = "the Bed is good and the embedded lamp is bad"
    (asked,) = predictor.predict(sentence, "bed")
    (row,) = predictor.predict([(sentence, "bed")])
    assert asked == row and asked.span == (4, 7)


def test_probabilities_are_of_the_answer_and_sum_to_one(predictor: Predictor, mixed: list[Example]) -> None:
    for answer in predictor.stream(mixed):
        assert sum(answer.probabilities) == pytest.approx(1, abs=1e-6)
        assert max(answer.probabilities) == answer.probabilities[answer.polarity.column]
        assert all(0 <= share <= 1 for share in answer.probabilities)


def test_probabilities_are_calibrated_by_the_temperature(taught_path: Path) -> None:
    predictor = Predictor.open(taught_path)
    learner = predictor.learner
    (answer,) = predictor.predict(SENTENCE, ["screen"])
    batch = learner.method.model.backbone.collate([example_about(SENTENCE, "screen")])
    with torch.inference_mode():
        expected = (learner.method.answer(batch) / learner.temperature).softmax(dim=1)[0]
    torch.testing.assert_close(torch.tensor(answer.probabilities), expected, atol=1e-6, rtol=0)
    learner.temperatures = [(8.0, 1)]
    (flatter,) = predictor.predict(SENTENCE, ["screen"])
    assert max(flatter.probabilities) < max(answer.probabilities)


def test_a_text_of_a_learned_domain_is_familiar_and_one_far_away_is_not(predictor: Predictor, toy_tasks: Tasks) -> None:
    own = [answer for task in toy_tasks[:3] for answer in predictor.stream(task.test)]
    assert sum(answer.unfamiliar for answer in own) <= len(own) // 10
    names = [task.name for task in toy_tasks[:3] for _ in task.test]
    right = sum(answer.nearest_domain == name for answer, name in zip(own, names, strict=True))
    assert right > len(own) * 0.6
    far = predictor.predict("zq9 zq9 zq9 xj8 xj8 vk7 vk7", ["xj8"])
    assert far[0].unfamiliar


def test_a_text_too_long_to_be_read_whole_says_so(predictor: Predictor) -> None:
    short, long = predictor.stream([Example(SENTENCE, "screen"), Example(f"{SENTENCE} " * 30, "screen")])
    assert (short.truncated, long.truncated) == (False, True)


def test_a_version_can_be_chosen(taught_path: Path, predictor: Predictor) -> None:
    older = Predictor.open(Store.open(taught_path), version=1)
    assert (older.domains, predictor.domains) == (["screen"], ["screen", "soup", "lens"])
    first, last = older.predict(SENTENCE, ["screen"])[0], predictor.predict(SENTENCE, ["screen"])[0]
    assert (first.version, last.version) == (1, 3)
    assert first.nearest_domain == "screen"
    assert first.probabilities != last.probabilities


def test_a_version_may_be_given_as_text(taught_path: Path) -> None:
    assert Predictor.open(taught_path, version="1").version == 1  # type: ignore[arg-type]
    for wrong in ("first", "", "-1", 1.5, True):
        with pytest.raises(InputError, match="is no whole number"):
            Predictor.open(taught_path, version=wrong)  # type: ignore[arg-type]


def test_versions_that_cannot_answer_are_refused(taught_path: Path) -> None:
    with pytest.raises(InputError, match="not learned any domain"):
        Predictor.open(taught_path, version=0)
    for number in (9, -1):
        with pytest.raises(InputError, match=f"no version {number}"):
            Predictor.open(taught_path, version=number)


def test_an_unknown_domain_is_refused(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="it knows screen, soup, lens"):
        predictor.predict(SENTENCE, ["screen"], domain="pasta")


def test_a_task_incremental_store_must_be_told_the_domain(
    tmp_path: Path, tiny_system: Callable[..., SystemConfig], toy_tasks: Tasks
) -> None:
    config = tiny_system(scenario=Scenario.TIL, changes={"backbone.width": 8, "train.epochs": 1})
    store = open_or_create(tmp_path / "til", config)
    for task in toy_tasks[:2]:
        teach(store, task)
    predictor = Predictor.open(store)
    with pytest.raises(InputError, match="must be told the domain"):
        predictor.predict(SENTENCE, ["screen"])
    first = predictor.predict(SENTENCE, ["screen"], domain="screen")[0]
    second = predictor.predict(SENTENCE, ["screen"], domain="soup")[0]
    assert first.probabilities[POLARITIES.index("neutral")] > 0
    assert second.probabilities[POLARITIES.index("neutral")] == 0  # that domain has no such class
    assert sum(second.probabilities) == pytest.approx(1, abs=1e-6)


def test_a_string_is_one_aspect(predictor: Predictor) -> None:
    assert [p.aspect for p in predictor.predict(SENTENCE, "soup")] == ["soup"]
    assert [p.aspect for p in predictor.predict(SENTENCE, (4, 10))] == ["screen"]


def test_probabilities_have_names(predictor: Predictor) -> None:
    shares = predictor.predict(SENTENCE, "soup")[0].probabilities
    assert (shares.positive, shares["negative"], shares[2]) == tuple(shares)
    assert list(dict(shares)) == [str(polarity) for polarity in POLARITIES]
    with pytest.raises(InputError, match="did you mean 'positive'"):
        shares["positiv"]


def test_rows_are_answered_in_the_shapes_people_have(predictor: Predictor) -> None:
    rows = [(SENTENCE, "screen"), {"text": SENTENCE, "aspects": ["soup", "screen"]}]
    wanted = predictor.predict(SENTENCE, ["screen", "soup", "screen"])
    close(predictor.predict(rows), wanted)
    close(predictor.predict(iter(rows)), wanted)
    close(list(predictor.stream(rows)), wanted)


def test_all_bad_rows_are_told_at_once(predictor: Predictor) -> None:
    rows = [(SENTENCE, "screen"), {"text": None, "aspect": "screen"}, SENTENCE]
    with pytest.raises(DataError, match="2 rows cannot be used") as caught:
        predictor.predict(rows)
    assert "line 2: no value for the sentence" in str(caught.value)
    with pytest.raises(DataError, match=r"Predictor\.find"):
        predictor.predict([SENTENCE])


@pytest.mark.parametrize("example", [Example("", ""), Example(SENTENCE, "screen", None, (4, 900))])
def test_an_example_that_cannot_be_meant_is_refused(predictor: Predictor, example: Example) -> None:
    with pytest.raises(DataError, match="the data:2"):
        predictor.predict([(SENTENCE, "screen"), example])
    with pytest.raises(DataError, match="the data:1"):
        list(predictor.stream([example]))


def test_an_answer_is_a_row_of_a_frame(predictor: Predictor) -> None:
    answers = predictor.predict([(SENTENCE, "screen"), (SENTENCE, "lamp")])
    rows = [answer.to_dict() for answer in answers]
    assert [row["aspect_found"] for row in rows] == [True, False]
    assert rows[0]["positive"] == answers[0].probabilities.positive
    assert [row["span"] for row in rows] == [[4, 10], None]


@pytest.mark.parametrize(
    "wrong",
    [
        (SENTENCE, None),
        (SENTENCE, 7),
        (SENTENCE, [7]),
        (7, ["screen"]),
        (SENTENCE, ("a", "b", 1)),
        ([SENTENCE], None),
        (None, None),
    ],
)
def test_wrong_types_get_our_error(predictor: Predictor, wrong: tuple[object, object]) -> None:
    with pytest.raises(InputError):
        predictor.predict(*wrong)  # type: ignore[arg-type]
