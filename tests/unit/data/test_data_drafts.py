"""Drafts: good files read as the readers read them, bad rows one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from classic.data import read_examples
from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.data.drafts import faulty_field, read_drafts
from classic.data.writers import write_examples
from classic.errors import DataError


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_drafts_of_a_good_file_are_its_examples(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"rows.{suffix}"
    write_examples(load_demo(DEMO_DOMAINS[0]).test, file, raw=True)
    drafts = list(read_drafts(file))
    assert [draft.example for draft in drafts] == read_examples(file)
    assert not any(draft.error for draft in drafts)


def test_a_draft_is_bad_exactly_where_the_reader_stops(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("text,term,label\na b,b,positive\nc d,d,?\ne f,f,neg\n")
    drafts = list(read_drafts(file))
    assert [bool(draft.error) for draft in drafts] == [False, True, False]
    with pytest.raises(DataError) as stopped:
        read_examples(file)
    found = drafts[1].error
    assert found and (found.line, found.column) == (stopped.value.line, stopped.value.column) == (3, 7)
    assert drafts[1].values == {"sentence": "c d", "aspect": "d", "polarity": "?"}


def test_other_formats_go_on_after_a_bad_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("the $T$ is good\nzoom\nwrong\nthe $T$ is bad\nmenu\nNegative\n")
    drafts = list(read_drafts(file))
    assert [bool(draft.error) for draft in drafts] == [True, False]
    assert drafts[0].values["polarity"] == "wrong"


def test_the_faulty_field_is_named() -> None:
    good: dict[str, object] = {"sentence": "a b", "aspect": "b", "polarity": "positive"}
    assert faulty_field(good) is None
    assert faulty_field(good | {"polarity": None}) == "polarity"
    assert faulty_field(good | {"aspect": 3}) == "aspect"
    assert faulty_field(good | {"start": "x"}) == "start"
    assert faulty_field({}) == "sentence"
