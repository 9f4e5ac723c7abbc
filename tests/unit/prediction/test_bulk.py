"""Bulk prediction: killed anywhere, taken up again, the same bytes; nothing lost, nothing doubled."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from classic.data.readers import BadRow, Row
from classic.errors import DataError, InputError
from classic.prediction import bulk
from classic.runtime.records import columns
from classic.types import Example, Polarity, Prediction, Probabilities

JOB = {"model": "a"}


def rows(count: int) -> Iterator[Row]:
    for number in range(count):
        yield Row(Example(f'say "{number}", please', "please"), number + 1)


def echo(chunks: Iterable[list[Example]]) -> Iterator[list[Prediction]]:
    """An engine that answers at once."""
    for chunk in chunks:
        yield [
            Prediction(e.sentence, e.aspect, e.span, Polarity.POSITIVE, Probabilities(0.5, 0.25, 0.25), "toy", False)
            for e in chunk
        ]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@pytest.mark.parametrize("when", [0, 1, 4, 9])
def test_taken_up_after_a_chunk_the_bytes_are_the_same(tmp_path: Path, form: str, when: int) -> None:
    whole, broken = tmp_path / f"whole.{form}", tmp_path / f"broken.{form}"
    assert bulk.predict_file(rows(95), whole, form, echo, JOB, chunk=10) == 95

    def kill(done: int) -> None:
        if done > 10 * when:
            raise Killed

    with pytest.raises(Killed):
        bulk.predict_file(rows(95), broken, form, echo, JOB, kill, chunk=10)
    assert not broken.exists()
    asked: list[Example] = []

    def watched(chunks: Iterable[list[Example]]) -> Iterator[list[Prediction]]:
        kept, given = itertools.tee(chunks)
        for chunk in kept:
            asked.extend(chunk)
        yield from echo(given)

    bulk.predict_file(rows(95), broken, form, watched, JOB, chunk=10)
    assert broken.read_bytes() == whole.read_bytes()
    assert len(asked) == 95 - min(95, 10 * (when + 1))
    assert sorted(file.name for file in tmp_path.iterdir()) == [broken.name, whole.name]


def killed_at_once(folder: Path) -> tuple[Path, Path]:
    """A finished output, and where one is to be whose work was killed after the first chunk."""
    whole, broken = folder / "whole.jsonl", folder / "broken.jsonl"
    bulk.predict_file(rows(30), whole, "jsonl", echo, JOB, chunk=10)

    def kill(done: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        bulk.predict_file(rows(30), broken, "jsonl", echo, JOB, kill, chunk=10)
    return whole, broken


@pytest.mark.parametrize("torn", [0, 1, 7, 100])
def test_what_was_written_behind_the_journal_is_cut_off(tmp_path: Path, torn: int) -> None:
    whole, broken = killed_at_once(tmp_path)
    with (tmp_path / ".broken.jsonl.partial").open("ab") as handle:
        handle.write(b"x" * torn)
    bulk.predict_file(rows(30), broken, "jsonl", echo, JOB, chunk=10)
    assert broken.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("damage", ["journal", "partial", "short"])
def test_damaged_work_is_done_again(tmp_path: Path, damage: str) -> None:
    whole, broken = killed_at_once(tmp_path)
    if damage == "journal":
        (tmp_path / ".broken.jsonl.journal").write_text('{"key": ')
    elif damage == "partial":
        (tmp_path / ".broken.jsonl.partial").unlink()
    else:
        os.truncate(tmp_path / ".broken.jsonl.partial", 5)
    bulk.predict_file(rows(30), broken, "jsonl", echo, JOB, chunk=10)
    assert broken.read_bytes() == whole.read_bytes()


def test_work_on_another_job_is_thrown_away(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    def kill(done: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        bulk.predict_file(rows(30), out, "jsonl", echo, JOB, kill, chunk=10)
    assert bulk.predict_file(rows(12), out, "jsonl", echo, {"model": "b"}, chunk=10) == 12
    assert len(out.read_text().splitlines()) == 12


def test_a_bad_row_leaves_nothing_behind(tmp_path: Path) -> None:
    def bad() -> Iterator[Row]:
        yield from rows(15)
        raise DataError("half a row", path="x.csv", line=16)

    with pytest.raises(DataError):
        bulk.predict_file(bad(), tmp_path / "out.csv", "csv", echo, JOB, chunk=10)
    assert list(tmp_path.iterdir()) == []


def test_no_rows_are_a_file_with_a_header(tmp_path: Path) -> None:
    assert bulk.predict_file(rows(0), tmp_path / "out.csv", "csv", echo, JOB) == 0
    assert (tmp_path / "out.csv").read_text().startswith("sentence,aspect,polarity")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        bulk.predict_file(rows(3), tmp_path / "no" / "out.csv", "csv", echo, JOB)


def test_two_writers_are_one_too_many(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    def second(done: int) -> None:
        with pytest.raises(InputError, match="another process is writing"):
            bulk.predict_file(rows(20), out, "jsonl", echo, JOB, chunk=10)

    assert bulk.predict_file(rows(20), out, "jsonl", echo, JOB, second, chunk=10) == 20
    assert len(out.read_text().splitlines()) == 20


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_every_column_comes_back_and_bad_rows_are_marked(tmp_path: Path, form: str) -> None:
    def mixed() -> Iterator[Row | BadRow]:
        for number in range(25):
            fields = {"id": number, "polarity": "old", "sentence": "a lid", "aspect": "lid", "tags": ["a", number]}
            if number % 10 == 3:
                yield BadRow(DataError("half a row", path="x.csv", line=number), number, fields)
            else:
                yield Row(Example("a lid", "lid"), number, fields)

    out = tmp_path / f"out.{form}"
    names = columns(["id", "polarity", "sentence", "aspect", "tags"], marked=True)
    assert bulk.predict_file(mixed(), out, form, echo, JOB, chunk=7, names=names) == 25
    if form == "csv":
        with out.open(newline="") as handle:
            found = list(csv.DictReader(handle))
    elif form == "jsonl":
        found = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        found = pq.read_table(out).to_pylist()
        assert str(pq.read_table(out).schema.field("id").type) == "int64"
    assert [str(row["id"]) for row in found] == [str(number) for number in range(25)]
    assert {row["input_polarity"] for row in found} == {"old"}
    for number, row in enumerate(found):
        bad = number % 10 == 3
        assert (row.get("error") or None) == (f"line {number}: half a row" if bad else None)
        assert (row["polarity"] or None) == (None if bad else "positive")
        assert row["sentence"] == "a lid"
    assert [file.name for file in tmp_path.iterdir()] == [out.name]


def test_another_file_under_the_same_name_is_another_input(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("a")
    before = bulk.describe_input(file)
    file.write_text("ab")
    assert bulk.describe_input(file) != before


def test_a_real_kill_loses_and_doubles_nothing(tmp_path: Path, taught_path: Path) -> None:
    """`kill -9` of the command itself, while it writes."""
    source, out, whole = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    with source.open("w") as handle:
        for number in range(3 * bulk.CHUNK // 2):
            handle.write(json.dumps({"sentence": f"the screen {number} is good", "aspect": "screen"}) + "\n")
    program = "from classic.cli.main import run; run()"

    def start(target: Path) -> subprocess.Popen[bytes]:
        asked = [sys.executable, "-c", program, "predict", taught_path, source, "-o", target, "--threads", "1"]
        return subprocess.Popen(list(map(str, asked)), stderr=subprocess.PIPE)

    child = start(out)
    journal = tmp_path / ".out.jsonl.journal"
    while not journal.exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not out.exists()
    for target in (out, whole):
        assert start(target).wait() == 0
    assert out.read_bytes() == whole.read_bytes()
    sentences = [json.loads(line)["sentence"] for line in out.read_text().splitlines()]
    assert sentences == [f"the screen {number} is good" for number in range(3 * bulk.CHUNK // 2)]


def test_ray_writes_what_this_process_writes(tmp_path: Path, taught_path: Path) -> None:
    """The command itself, with two workers and more chunks than workers, on loopback; no token stays in the home folder."""
    if importlib.util.find_spec("ray") is None:  # importing it here would be before its token is set
        pytest.skip("needs Ray: pip install 'classic-asc[ray]'")
    pytest.importorskip("onnx")
    from classic.export import export_store
    from classic.store.store import Store

    folder, source, home = tmp_path / "toy.onnx", tmp_path / "in.jsonl", tmp_path / "home"
    export_store(Store.open(taught_path), folder)
    home.mkdir()
    with source.open("w") as handle:
        for number in range(5 * bulk.CHUNK // 2):
            handle.write(json.dumps({"sentence": f"the screen {number} is good", "aspect": "screen"}) + "\n")
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}

    program = """
import sys
from classic.cli.main import run
try:
    run()
finally:
    if "ray" in sys.modules:
        print(*[node["NodeManagerAddress"] for node in sys.modules["ray"].nodes()])
"""

    def predict(out: Path, *engine: str) -> str:
        asked = [sys.executable, "-c", program, "predict", folder, source, "-o", out, "--threads", "1", *engine]
        given = surroundings | {"HOME": str(home)}
        done = subprocess.run(list(map(str, asked)), capture_output=True, text=True, check=False, env=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    assert predict(here) == ""
    assert predict(there, "--engine", "ray", "--workers", "2") == "127.0.0.1\n"
    assert there.read_bytes() == here.read_bytes()
    assert len(here.read_text().splitlines()) == 5 * bulk.CHUNK // 2
    assert not (home / ".ray").exists()
