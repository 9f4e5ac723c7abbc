"""Rows in memory, in the shapes people have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from classic.data import iter_examples, make_task, to_examples
from classic.errors import DataError, InputError
from classic.types import Example, Polarity

ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": "a lid, a pan", "term": "lid", "label": "pos", "from": 2},
    {"id": 2, "text": "a pan", "term": "pan", "label": "-", "from": None},
]
WANTED = [Example("a lid, a pan", "lid", Polarity.POSITIVE, (2, 5)), Example("a pan", "pan", Polarity.NEGATIVE)]


class PolarsLike:
    """As much of a polars DataFrame as is asked for."""

    def iter_rows(self, *, named: bool) -> Iterator[dict[str, Any]]:
        assert named
        return iter(ROWS)

    def to_dict(self) -> dict[str, list[Any]]:
        raise AssertionError("columns, not rows")


class DatasetLike:
    """As much of a Hugging Face Dataset: it iterates over dicts, and its to_dict gives columns."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(ROWS)

    def to_dict(self) -> dict[str, list[Any]]:
        raise AssertionError("columns, not rows")


class ClassLabelLike:
    """As much of the kind of a Dataset's coded column."""

    names = ("negative", "positive")


class CodedDataset:
    """A Hugging Face Dataset whose labels are numbers with names; -1 stands for a hidden one."""

    def __init__(self, codes: list[int]) -> None:
        self.codes = codes
        self.features = {"text": object(), "aspect": object(), "label": ClassLabelLike()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for code in self.codes:
            yield {"text": "a lid, a pan", "aspect": "pan", "label": code}


def test_coded_labels_are_read_by_their_names() -> None:
    assert [example.polarity for example in to_examples(CodedDataset([1, 0]))] == [Polarity.POSITIVE, Polarity.NEGATIVE]
    assert [example.polarity for example in to_examples(CodedDataset([-1, 0]), labelled=False)] == [
        None,
        Polarity.NEGATIVE,
    ]
    with pytest.raises(DataError, match="polarity"):
        to_examples(CodedDataset([-1]))


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        iter(ROWS),
        PolarsLike(),
        DatasetLike(),
        WANTED,
        [WANTED[0], ROWS[1]],
        [("a lid, a pan", (2, 5), "positive"), ["a pan", "pan", Polarity.NEGATIVE]],
        [{"sentence": "a lid, a pan", "span": (2, 5), "polarity": "+"}, ("a pan", "pan", "NEG")],
    ],
)
def test_every_shape_gives_the_same_examples(data: object) -> None:
    assert to_examples(data) == WANTED


def test_a_pandas_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    assert str(frame["from"].dtype) == "float64"  # because of the gap
    assert to_examples(frame) == WANTED
    frame["label"] = [None, "neg"]
    assert [example.polarity for example in to_examples(frame, labelled=False)] == [None, Polarity.NEGATIVE]


def test_a_row_may_hold_several_aspects() -> None:
    rows = [("a lid, a pan", ["lid", (9, 12)]), {"sentence": "a pot", "aspects": [{"aspect": "pot"}]}]
    assert [(e.aspect, e.span) for e in iter_examples(rows, labelled=False)] == [
        ("lid", None),
        ("pan", (9, 12)),
        ("pot", None),
    ]


@pytest.mark.parametrize("data", ["a lid", b"a lid", 7, None, {"sentence": "a lid"}])
def test_what_is_no_list_of_rows_is_refused(data: object) -> None:
    with pytest.raises(InputError, match="is no list of rows"):
        to_examples(data)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (3, "a row of type int"),
        (("a lid",), "a row of type tuple"),
        (("a lid", 5, "+"), "value of type int for the aspect"),
        (("a lid", "lid", 1), "unknown label 1"),
        (("a lid", (0, 99), "+"), "not the aspect"),
        (("a lid", ("a", 2), "+"), "no pair of positions"),
        ({"sentence": "a lid", "aspekt": "lid", "polarity": "+"}, "did you mean 'aspect'"),
        ({"sentence": "a lid", "aspects": "lid"}, "no list"),
        (("a lid", "lid", float("nan")), "value of type float|polarity is missing|unknown label"),
        (Example("a lid", "lid"), "polarity is missing"),
        (Example("a lid", "lid", "so"), "unknown label 'so'"),  # type: ignore[arg-type]
        (Example("", "lid", Polarity.POSITIVE), "empty sentence or aspect"),
        (Example("a lid", 5, Polarity.POSITIVE), "type int is no aspect"),  # type: ignore[arg-type]
        (Example("a lid", "lid", Polarity.POSITIVE, (2, 99)), "outside the sentence"),
        (Example("a lid", "lid", Polarity.POSITIVE, (0, 3)), "not the aspect"),
        (Example("a lid", "lid", Polarity.POSITIVE, (2, "5")), "is no span"),  # type: ignore[arg-type]
        (Example("a \ud83d lid", "lid", Polarity.POSITIVE), "half a surrogate pair"),
    ],
)
def test_a_wrong_row_gets_our_error_with_its_number(row: object, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        to_examples([("a lid", "lid", "+"), row])
    assert caught.value.line == 2


def test_an_example_is_read_as_a_row_is() -> None:
    given = Example("a lid", "LID", "positive", [2, 5])  # type: ignore[arg-type]
    assert to_examples([given]) == [Example("a lid", "LID", Polarity.POSITIVE, (2, 5))]


def test_all_wrong_rows_are_told() -> None:
    with pytest.raises(DataError, match="24 rows cannot be used") as caught:
        to_examples([("a lid", "lid", "so")] * 24)
    assert "and 4 more" in str(caught.value)


def test_a_task_is_made_of_rows_of_splits_or_of_a_path(tmp_path: Any) -> None:
    rows = [(f"lid number {number}", "lid", ("+", "-")[number % 2]) for number in range(20)]
    whole = make_task("lids", rows)
    assert (len(whole.train), len(whole.valid), len(whole.test)) == (16, 2, 2)
    file = tmp_path / "lids.csv"
    file.write_text("sentence,aspect,polarity\n" + "".join(",".join(row) + "\n" for row in rows))
    assert make_task("lids", file) == whole
    split = make_task("lids", {"train": rows[:4], "validation": rows[4:6]})
    assert (len(split.train), len(split.valid), len(split.test)) == (4, 2, 0)
    with pytest.raises(InputError, match="did you mean 'train'"):
        make_task("lids", {"trian": rows})
