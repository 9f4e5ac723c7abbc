"""`classic predict` over files: what comes back, what becomes of bad rows, and the truth when it is stopped."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from test_cli import call, ok, refused

from classic.prediction import bulk
from classic.prediction.predictor import Predictor
from fake_finder import FakeFinder

GOOD = "id,text,term,stars\n7,the screen is good,screen,5\n8,bad soup,soup,1\n"
BAD = GOOD + "9,bad soup,,2\n10,no comma\n11,great zoom,zoom,4\n"


def read(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
        return rows
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text().splitlines()]
    with file.open(newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_column_of_the_input_comes_back(taught_path: Path, tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    source.write_text(GOOD)
    said = ok("predict", taught_path, source, "-o", out, "--threads", 1)
    assert "2 rows" in said.err
    rows = read(out)
    assert [(row["id"], row["text"], row["stars"]) for row in rows] == [
        ("7", "the screen is good", "5"),
        ("8", "bad soup", "1"),
    ]
    assert [row["aspect"] for row in rows] == ["screen", "soup"]
    assert all(str(row["aspect_found"]).casefold() == "true" for row in rows)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_half_an_emoji_in_a_column_stops_nothing(taught_path: Path, tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / f"out.{ending}"
    good = '{"sentence": "bad soup", "aspect": "soup", "note": "cut \\ud83d"}\n'
    source.write_text(good + '{"sentence": "bad \\ud83d", "aspect": "soup", "note": "x"}\n')
    ok("predict", taught_path, source, "-o", out, "--threads", 1, "--on-error", "mark")
    rows = read(out)
    assert [row["note"] for row in rows] == ["cut \ufffd", "x"]
    assert [row["sentence"] for row in rows] == ["bad soup", "bad \ufffd"]
    assert "U+D83D" in rows[1]["error"]
    assert "\ufffd" in ok("predict", taught_path, source, "--threads", 1, "--on-error", "skip").lines[0]["note"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_of_equal_or_taken_names_come_back_too(taught_path: Path, tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    source.write_text("sentence,aspect,note,note,input_polarity,polarity\nbad soup,soup,first,second,third,negative\n")
    ok("predict", taught_path, source, "-o", out, "--threads", 1)
    (row,) = read(out)
    names = ("note", "note_2", "input_polarity", "input_polarity_2")
    assert [row[name] for name in names] == ["first", "second", "third", "negative"]
    source.write_text("sentence,aspect,sentence\nbad soup,soup,bad soup\n")
    assert "second field for the sentence" in refused("predict", taught_path, source)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_only_has_the_name_of_a_field_is_not_lost(taught_path: Path, tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    source.write_text("span,sentence,comment,term,end\nweek 3,draft,bad soup,soup,\n")
    ok("predict", taught_path, source, "-o", out, "--threads", 1, "--column", "sentence=comment")
    (row,) = read(out)
    names = ("sentence", "input_sentence", "comment", "term", "input_span")
    assert [row[name] for name in names] == ["bad soup", "draft", "bad soup", "soup", "week 3"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_bad_row_is_marked_with_all_that_stands_in_it(taught_path: Path, tmp_path: Path, ending: str) -> None:
    source, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    source.write_text("sentence,aspect,start,end\nbad soup,soup,4,8\nbad soup,soup,four,8\n")
    ok("predict", taught_path, source, "-o", out, "--threads", 1, "--on-error", "mark")
    row = read(out)[1]
    assert [row[name] for name in ("sentence", "aspect", "start", "end")] == ["bad soup", "soup", "four", "8"]
    assert "is not a position" in row["error"]


def test_bad_rows_stop_are_skipped_or_marked(taught_path: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(BAD)
    told = refused("predict", taught_path, source, "-o", out, "--threads", 1)
    assert "2 rows cannot be used" in told
    assert not out.exists()
    said = ok("predict", taught_path, source, "-o", out, "--threads", 1, "--on-error", "skip")
    assert [row["id"] for row in read(out)] == ["7", "8", "11"]
    assert "2 bad rows were left out; the first: line 4: the aspect is empty" in said.err.replace("\n", " ")
    said = ok("predict", taught_path, source, "--threads", 1, "--on-error", "skip")
    assert [row["id"] for row in said.lines] == ["7", "8", "11"]
    assert "2 bad rows were left out" in said.err
    ok("predict", taught_path, source, "-o", out, "--threads", 1, "--on-error", "mark")
    rows = read(out)
    assert [(row["id"], bool(row["polarity"]), bool(row["error"])) for row in rows] == [
        ("7", True, False),
        ("8", True, False),
        ("9", False, True),
        ("10", False, True),
        ("11", True, False),
    ]
    assert "use stop, skip, mark" in refused("predict", taught_path, source, "--on-error", "shrug")


def test_plain_lines_on_standard_input_are_told_who_reads_them(taught_path: Path) -> None:
    told = refused("predict", taught_path, "-", "--threads", 1, stdin="The lens is good.\n")
    assert "no JSON object" in told and "classic find -" in told
    assert "classic find -" not in refused("predict", taught_path, "-", "--threads", 1, stdin='{"sentence": "a"}\n')


def test_standard_input_knows_bad_lines_and_lists_of_terms(taught_path: Path) -> None:
    given = '{"id": 1, "sentence": "good screen, bad soup", "aspects": ["screen", "soup"]}\n{"id": 2}\n'
    rows = ok("predict", taught_path, "-", "--threads", 1, "--on-error", "mark", stdin=given).lines
    assert [(row["id"], row["aspect"]) for row in rows] == [(1, "screen"), (1, "soup"), (2, None)]
    assert "no field for the sentence" in rows[2]["error"]
    assert len(ok("predict", taught_path, "-", "--threads", 1, "--on-error", "skip", stdin=given).lines) == 2


def test_an_interrupted_file_says_what_is_written_and_goes_on(
    taught_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out, whole = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "whole.csv"
    rows = "".join(f"{number},good screen {number},screen,5\n" for number in range(30))
    source.write_text("id,text,term,stars\n" + rows)
    predict_file = bulk.predict_file
    monkeypatch.setattr(bulk, "predict_file", lambda *a, **named: predict_file(*a, **named, chunk=10))
    ok("predict", taught_path, source, "-o", whole, "--threads", 1)
    stream, asked = Predictor.stream, 0

    def stopped(self: Predictor, *arguments: Any, **named: Any) -> Iterator[Any]:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise KeyboardInterrupt
        return stream(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Predictor, "stream", stopped)
        result = call("predict", taught_path, source, "-o", out, "--threads", 1)
    assert result.code == 130
    assert "20 rows are written; the same command goes on." in result.err
    assert "learned" not in result.err
    ok("predict", taught_path, source, "-o", out, "--threads", 1)
    assert out.read_bytes() == whole.read_bytes()


def test_an_aspect_that_is_not_in_its_sentence_is_flagged(taught_path: Path) -> None:
    rows = ok("predict", taught_path, "the Screen is good", "--aspect", "screen", "--aspect", "soup", "--json").lines
    assert [row["aspect_found"] for row in rows] == [True, False]
    shown = call("predict", taught_path, "the screen is good", "--aspect", "soup", "--threads", 1)
    assert "does not occur in the sentence" in shown.err


def test_an_answer_is_explained_by_its_words(taught_path: Path) -> None:
    sentence = "the screen is good and the soup is bad"
    (row,) = ok("predict", taught_path, sentence, "--aspect", "screen", "--explain", "--json", "--threads", 1).lines
    assert [word["text"] for word in row["words"]] == sentence.split()
    share = row[row["polarity"]]
    place = sentence.split().index("good")
    less = sentence.replace("good", "", 1)
    asked = json.dumps({"sentence": less, "aspect": "screen"})
    (other,) = ok("predict", taught_path, "-", "--threads", 1, stdin=asked).lines
    assert row["words"][place]["weight"] == pytest.approx(share - other[row["polarity"]], abs=2e-5)
    shown = ok("predict", taught_path, sentence, "--aspect", "screen", "--explain", "--threads", 1).out
    assert "because of" in shown
    assert not re.search(r" [+-]0\b", shown)  # words that say nothing
    assert "one sentence" in refused("predict", taught_path, "-", "--explain", stdin=asked)


def test_a_file_without_aspects_is_sent_to_find_and_one_with_them_names_them_itself(
    taught_path: Path, tmp_path: Path
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("id,review\n1,bad soup\n")
    assert "use `classic find`" in refused("predict", taught_path, source)
    source.write_text(GOOD)
    assert "for one sentence" in refused("predict", taught_path, source, "--aspect", "soup")


def test_a_file_alone_is_answered_by_the_starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text,term\nthe screen is good,screen\nawful menu,menu\n")
    monkeypatch.setattr("classic.cli.answerers._starter", lambda *_: (FakeFinder, {"starter": True}))
    assert [row["polarity"] for row in ok("predict", source).lines] == ["positive", "negative"]
    asked = json.dumps({"sentence": "awful menu", "aspect": "menu"})
    assert [row["polarity"] for row in ok("predict", "-", stdin=asked).lines] == ["negative"]


def test_columns_of_other_names_are_told_and_come_back(taught_path: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id;Comment;feature\n7;the screen is good;screen\n")
    assert "--column aspect=NAME" in refused("predict", taught_path, source, "--column", "sentence=Comment")
    told = ("--column", "sentence=Comment", "--column", "aspect=feature")
    ok("predict", taught_path, source, "-o", out, "--threads", 1, *told)
    (row,) = read(out)
    assert (row["id"], row["Comment"], row["feature"], row["aspect"]) == ("7", "the screen is good", "screen", "screen")
    for wrong in ("aspect", "aspect="):
        assert "FIELD=NAME" in refused("predict", taught_path, source, "--column", wrong)
    assert "twice" in refused("predict", taught_path, source, *told, "--column", "aspect=id")
    assert "--column is for files" in refused("predict", taught_path, "a good screen", *told)


def test_other_columns_for_the_same_output_are_another_job(taught_path: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("review,first,second\nscreen and soup,screen,soup\n")
    for aspect in ("screen", "soup"):
        column = {"screen": "first", "soup": "second"}[aspect]
        ok("predict", taught_path, source, "-o", out, "--threads", 1, "--column", f"aspect={column}")
        assert [row["aspect"] for row in read(out)] == [aspect]


@pytest.mark.parametrize("word", ["reviews.csv", "superb.store", "no/such"])
def test_a_path_that_names_nothing_is_told_to_be_checked(word: str) -> None:
    told = refused("predict", word)
    assert "there is no file or folder" in told and "--aspect" not in told


@pytest.mark.parametrize(
    "asked", [("in.csvv",), ("no/such",), ("my.stor",), ("my.store", "no.csv"), ("my.store", "a/b")]
)
def test_a_path_that_names_nothing_is_no_sentence_with_an_aspect_either(asked: tuple[str, ...]) -> None:
    told = refused("predict", *asked, "--aspect", "soup")
    assert "there is no file" in told and "end it with a full stop" in told


@pytest.mark.parametrize("word", ["superb", "x" * 300])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_one_word_that_names_nothing_is_told_what_it_was_taken_for(word: str, more: tuple[str, ...]) -> None:
    told = refused("predict", word, *more)
    assert "was taken for the folder of a store" in told and "--aspect" in told
    assert "x" * 50 not in told


def test_one_word_with_an_aspect_is_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.cli.answerers._starter", lambda *_: (FakeFinder, {"starter": True}))
    for word in ("superb", "10/10!", "well...superb", "superb."):
        (row,) = ok("predict", word, "--aspect", "superb", "--json").lines
        assert row["sentence"] == word


@pytest.mark.parametrize("asked", [("",), ("", "--aspect", "lid"), ("reviews.store", " "), (" ", "--span", "0:1")])
def test_an_empty_sentence_is_called_one(asked: tuple[str, ...]) -> None:
    assert refused("predict", *asked).startswith("Error: the sentence is empty\n")


def test_an_empty_name_of_a_store_is_called_one() -> None:
    assert "the name of the store is empty" in refused("predict", "", "The lens is sharp.")


@pytest.mark.parametrize("command", ["predict", "find"])
def test_a_sentence_keeps_its_slashes(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.cli.answerers._starter", lambda *_: (FakeFinder, {"starter": True}))
    (row,) = ok(command, "See https://example.com: the lens is sharp.", "--json").lines
    assert "https://example.com" in row["sentence"]


def test_aspects_that_are_found_are_explained_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.cli.answerers._starter", lambda *_: (FakeFinder, {"starter": True}))
    text = "The lens is sharp. The menu is confusing."
    rows = ok("predict", text, "--explain", "--json").lines
    assert [row["aspect"] for row in rows] == ["lens", "menu"]
    assert [max(row["words"], key=lambda word: word["weight"])["text"] for row in rows] == ["sharp", "confusing"]
    assert "no aspect found" in ok("predict", "Nothing of the kind.", "--explain").out


@pytest.mark.parametrize("command", ["predict", "find"])
def test_a_review_longer_than_a_name_of_a_file_is_answered(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.cli.answerers._starter", lambda *_: (FakeFinder, {"starter": True}))
    monkeypatch.setattr("classic.cli.answerers._store", lambda *_, **__: (FakeFinder, {}))
    review = " ".join(["The lens is sharp."] * 40)
    assert len(ok(command, review, "--json").lines) == 40
    assert len(ok(command, "reviews.store", review, "--json").lines) == 40
