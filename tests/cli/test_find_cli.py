"""`classic find`, and `classic predict` without an aspect, over a store of the tiny encoder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from classic.cli.find import refuse_missing
from classic.cli.main import app
from classic.errors import ClassicError, DataError, InputError
from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.prediction import found_files
from classic.prediction.predictor import Predictor
from classic.runtime.answering import Answering
from classic.systems.system import SystemConfig
from classic.types import Task

TEXTS = ["Good screen is good. Bad soup is bad!", "", "bad waiter is bad here", "the battery is great"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, quick_system: SystemConfig, toy_tasks: tuple[Task, ...]) -> Path:
    path = tmp_path_factory.mktemp("find") / "toy.store"
    teach(open_or_create(path, quick_system, finder=True), toy_tasks[0])
    return path


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    file = tmp_path / "reviews.csv"
    with file.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "review", "aspect", "stars"])
        writer.writerows([[f"r{number}", text, "old", number] for number, text in enumerate(TEXTS)])
    return file


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments), "--threads", "1"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def test_a_sentence_is_answered_without_an_aspect(store: Path) -> None:
    lines = [json.loads(line) for line in run("find", store, TEXTS[0], "--min-confidence", 0, "--json").splitlines()]
    found = Predictor.open(store).find([TEXTS[0]], min_confidence=0.0)[0]
    assert [(line["aspect"], line["span"], line["polarity"]) for line in lines] == [
        (each.aspect, [each.start, each.end], str(each.prediction.polarity)) for each in found
    ]
    same = run("predict", store, TEXTS[0], "--min-confidence", 0, "--json")
    assert [json.loads(line) for line in same.splitlines()] == lines
    assert "no aspect found" in run("find", store, TEXTS[0], "--min-confidence", 1)
    table = run("predict", store, TEXTS[0], "--min-confidence", 0, "--format", "csv")
    rows = [(row["aspect"], row["polarity"]) for row in csv.DictReader(table.splitlines())]
    assert rows == [(line["aspect"], line["polarity"]) for line in lines]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_half_an_emoji_in_a_review_stops_nothing(store: Path, tmp_path: Path, form: str) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / f"out.{form}"
    source.write_text('{"review": "Good \\ud83d screen is good.", "note": "cut \\ud83d"}\n')
    run("find", store, source, "-o", out, "--min-confidence", 0)
    written = (
        pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist() if form == "parquet" else out.read_text()
    )
    assert "Good \ufffd screen" in str(written) and "cut \ufffd" in str(written)
    assert "cut \ufffd" in run("find", store, source, "--format", "csv")


def test_bytes_that_are_no_text_are_refused_by_name(store: Path) -> None:
    result = CliRunner().invoke(app, ["find", str(store), "-"], input=b"good screen\nthe caf\xe9\n")
    assert isinstance(result.exception, DataError)
    assert "byte 0xe9 is not valid UTF-8" in str(result.exception) and "standard input" in str(result.exception)
    result = CliRunner().invoke(app, ["predict", str(store), "the caf\udce9", "--aspect", "caf"])
    assert isinstance(result.exception, InputError) and "half a surrogate pair" in str(result.exception)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_every_column_of_a_file_comes_back(store: Path, reviews: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"out.{form}"
    run("find", store, reviews, "-o", out, "--min-confidence", 0)
    if form == "csv":
        rows = list(csv.DictReader(out.open()))
    elif form == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(out).to_pylist()
    assert list(dict.fromkeys(row["id"] for row in rows)) == ["r0", "r1", "r2", "r3"]
    assert all(row["input_aspect"] == "old" for row in rows)
    for row in rows:
        if row["aspect"]:
            start, end = row["span"] if form == "jsonl" else (int(row["start"]), int(row["end"]))
            assert row["review"][start:end] == row["aspect"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_columns_of_equal_or_taken_names_come_back_too(store: Path, tmp_path: Path, form: str) -> None:
    source, out = tmp_path / "in.csv", tmp_path / f"out.{form}"
    source.write_text("review,note,note,input_polarity,polarity\nGood screen is good,first,second,third,fourth\n")
    run("find", store, source, "-o", out)
    row = next(csv.DictReader(out.open())) if form == "csv" else json.loads(out.read_text().splitlines()[0])
    names = ("note", "note_2", "input_polarity", "input_polarity_2")
    assert [row[name] for name in names] == ["first", "second", "third", "fourth"]


def test_killed_it_goes_on_and_writes_the_same(
    store: Path, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_files, "CHUNK", 1)
    run("find", store, reviews, "-o", tmp_path / "whole.csv", "--min-confidence", 0)
    out, whole = tmp_path / "cut.csv", Answering.find
    asked: list[str] = []

    def stumbling(self: Answering, texts: list[str], **how: object) -> object:
        asked.extend(texts)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return whole(self, texts, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(Answering, "find", stumbling)
    with pytest.raises(BaseException):  # noqa: B017 - typer turns an interrupt into an exit
        run("find", store, reviews, "-o", out, "--min-confidence", 0)
    assert not out.exists()
    run("find", store, reviews, "-o", out, "--min-confidence", 0)
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert len(asked) == 5  # two were done, the third came twice


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["find", "STORE"], "no review given"), (["find", "STORE", "gone.csv"], "no file")]
    + [(["find", asked], "the review is empty") for asked in ("", " ")]
    + [([command, TEXTS[0], "--version", "7"], "no store whose version 7") for command in ("find", "predict")],
)
def test_what_cannot_be_meant_is_refused(store: Path, arguments: list[str], told: str) -> None:
    with pytest.raises(ClassicError, match=told):
        run(*(str(store) if each == "STORE" else each for each in arguments))


@pytest.mark.parametrize("command", ["find", "predict"])
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("camera.cvs", "did you mean 'camera.csv'"),
        ("camrea.CSV", "did you mean 'camera.csv'"),
        ("camera.xlsx", "did you mean 'camera.csv'"),
        ("cmaera", "did you mean 'camera.csv'"),
        ("my reviews.csv", "no file 'my reviews.csv'"),
        ("cam", "'cam' is a folder"),
    ],
)
def test_a_mistyped_name_is_no_sentence(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, asked: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cam").mkdir()
    (tmp_path / "camera.csv").touch()
    with pytest.raises(ClassicError) as caught:
        run(command, store, asked)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "sentence",
    [
        *("Camera!", "camera.", "Superb", "ok...", "I like the camera", "the camera.csv is great", "电池很好"),
        *("I could never find out how it opens camera.csv", "It lost my camera.csv.", "great.I love it"),
    ],
)
def test_a_sentence_is_never_taken_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "camera.csv").touch()
    refuse_missing(sentence)


def test_a_store_without_a_finder_says_so(taught_path: Path) -> None:
    with pytest.raises(ClassicError, match="has no finder"):
        run("predict", taught_path, "the screen is good")


def test_standard_input_gives_csv_with_one_header(store: Path) -> None:
    arguments = ["find", str(store), "-", "--format", "csv", "--min-confidence", "0", "--threads", "1"]
    result = CliRunner().invoke(app, arguments, input="\n".join(TEXTS), catch_exceptions=False)
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert {row["polarity"] for row in rows} <= {"positive", "negative", "neutral", ""}
    assert [row["sentence"] for row in rows if row["aspect"]]
    assert sum(line.startswith("aspect,") for line in result.stdout.splitlines()) == 1
    assert list(dict.fromkeys(row["line"] for row in rows)) == ["1", "2", "3", "4"]


def from_input(store: Path, text: str, *more: str) -> list[dict[str, object]]:
    arguments = ["find", str(store), "-", "--min-confidence", "0", "--threads", "1", *more]
    result = CliRunner().invoke(app, arguments, input=text, catch_exceptions=False)
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_json_lines_from_standard_input_are_read_as_from_a_file(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "reviews.jsonl"
    file.write_text("".join(json.dumps({"id": n, "review": text}) + "\n" for n, text in enumerate(TEXTS)))
    by_file = [json.loads(line) for line in run("find", store, file, "--min-confidence", 0).splitlines()]
    places = [(row["id"], row["aspect"], row.get("span"), row["polarity"]) for row in by_file]
    rows = from_input(store, file.read_text())
    assert [(row["id"], row["aspect"], row.get("span"), row["polarity"]) for row in rows] == places
    assert from_input(store, file.read_text(), "--text", "review") == rows
    with pytest.raises(ClassicError, match="<standard input>:2:1: the line is no JSON"):
        from_input(store, '{"review": "Good screen is good"}\nbad soup is bad\n')
    assert {row["line"] for row in from_input(store, "{sic} good screen\nbad soup is bad\n")} == {1, 2}
