"""The commands of ``classic data``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from classic.cli.data import app
from classic.data import DEMO_DOMAINS, load_demo, load_task, read_examples
from classic.errors import ClassicError, DataError, InputError
from classic.types import Polarity

HEADER = "sentence,aspect,polarity\n"


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})
    assert result.exception is None or isinstance(result.exception, (SystemExit, ClassicError)), result.exception
    return result


def test_check_says_ok_warns_and_fails(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(HEADER + "a lid,lid,+\na pan,pan,-\nso so pot,pot,neu\n")
    assert run("check", file).exit_code == 0
    assert run("check", file, "--strict").exit_code == 0
    file.write_text(HEADER + "a lid,lid,+\na lid,lid,-\n")
    assert run("check", file).exit_code == 0
    assert run("check", file, "--strict").exit_code == 2
    file.write_text(HEADER)
    assert run("check", file).exit_code == 2


def test_check_lets_data_errors_through(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(HEADER + "a lid,lid\n")
    assert isinstance(run("check", file).exception, DataError)


def test_check_and_convert_take_columns_of_other_names(tmp_path: Path) -> None:
    file, out = tmp_path / "shop.csv", tmp_path / "shop.jsonl"
    file.write_text("review;feature;stars\na sharp lens;lens;5\na confusing menu;menu;1\na bag;bag;3\n")
    told = ("--column", "aspect=feature", "--column", "polarity=stars")
    assert isinstance(run("check", file, *told).exception, DataError)
    (count,) = json.loads(run("check", file, *told, "--stars", "2:4", "--json").stdout)["counts"]
    assert (count["positive"], count["negative"], count["neutral"]) == (1, 1, 1)
    assert run("convert", file, out, *told, "--stars", "2:4").exit_code == 0
    assert [str(example.polarity) for example in read_examples(out)] == ["positive", "negative", "neutral"]
    for wrong in ("2", "low:high", "1:2:3"):
        assert "LOW:HIGH" in str(run("check", file, *told, "--stars", wrong).exception)


def test_check_hides_text_and_defuses_control_characters(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(HEADER + "a [bold]\x1b[31m lid,lid,+\na [bold]\x1b[31m lid,lid,-\n")
    assert "[bold]" not in run("check", file).stdout
    shown = run("check", file, "--show-text").stdout
    assert "a [bold]\\x1b[31m lid" in shown
    assert "\x1b" not in shown


def test_check_json(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text(HEADER + "a lid,lid,+\na lid,lid,-\n")
    report = json.loads(run("check", file, "--json").stdout)
    assert report["counts"][0]["positive"] == 1
    conflict = next(finding for finding in report["findings"] if finding["kind"] == "conflict")
    assert (conflict["line"], conflict["text"]) == (3, None)


def test_check_of_the_papers_data(asc19: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIC_DATA", str(asc19))
    result = run("check", "asc19", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert len(report["counts"]) == 57
    found = {name: (each["accuracy"], each["macro_f1"]) for name, each in report["baselines"].items()}
    assert found == {"always-positive": (0.7123, 0.3961), "train-majority": (0.7206, 0.4001)}
    assert "0.7123 / 0.3961" in run("check", asc19).stdout


def test_domains_and_orders(asc19: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIC_DATA", str(asc19))
    assert "CanonPowerShotSD500" in run("domains").stdout
    assert len(json.loads(run("domains", "--json").stdout)) == 19
    assert len(json.loads(run("orders", "--json").stdout)) == 20
    assert "Laptop → Rest" in run("orders").stdout


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_convert(tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / "in.txt", tmp_path / f"out.{suffix}"
    source.write_text("lid[+2], pan[-1]##a lid , a pan\nfork##a fork\n")
    result = run("convert", source, target)
    assert result.exit_code == 0
    assert "1 left out: no-sign" in result.stderr
    assert read_examples(target) == read_examples(source)


def test_convert_guards_formulas_unless_raw(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.csv"
    source.write_text('{"sentence": "=1+1 lid", "aspect": "lid", "polarity": "+", "start": 5}\n')
    assert "1 guarded" in run("convert", source, target).stderr
    assert read_examples(target)[0].sentence == "'=1+1 lid"
    assert isinstance(run("convert", source, target).exception, InputError)
    assert run("convert", source, target, "--raw", "--force").exit_code == 0
    assert read_examples(target) == read_examples(source)


def test_convert_refuses_what_would_lose_data(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(HEADER + "a lid,lid,+\n")
    assert isinstance(run("convert", source, source, "--force").exception, InputError)
    assert isinstance(run("convert", source, tmp_path / "out.xlsx").exception, InputError)
    assert isinstance(run("convert", source, tmp_path / "no" / "out.csv").exception, InputError)
    assert source.read_text() == HEADER + "a lid,lid,+\n"


def test_convert_unlabelled(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text("text,term\na lid,lid\n")
    assert isinstance(run("convert", source, target).exception, DataError)
    assert run("convert", source, target, "--unlabelled").exit_code == 0


def test_demo_writes_files_that_can_be_loaded(tmp_path: Path) -> None:
    assert run("demo", tmp_path / "play").exit_code == 0
    for name in DEMO_DOMAINS:
        task, original = load_task(name, tmp_path / "play" / name), load_demo(name)
        assert len(task.train) == len(original.train)
    assert isinstance(run("demo", tmp_path / "play").exception, InputError)


def test_split(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(HEADER + "".join(f"- lid {n},lid,+\n" for n in range(20)))
    assert "16 train, 2 valid, 2 test" in run("split", source, tmp_path / "parts").stderr
    assert load_task("a", tmp_path / "parts") == load_task("a", source)
    assert isinstance(run("split", tmp_path, tmp_path / "other").exception, InputError)


def test_split_takes_tables_of_other_names(tmp_path: Path) -> None:
    source = tmp_path / "shop.csv"
    source.write_text("Comment;feature;stars\n" + "".join(f"a lid {n};lid;{1 + n % 5}\n" for n in range(20)))
    told = ("--column", "sentence=Comment", "--column", "aspect=feature", "--column", "polarity=stars")
    assert run("split", source, tmp_path / "parts", *told, "--stars", "2:4").exit_code == 0
    parts = load_task("a", tmp_path / "parts")
    counts = Counter(example.polarity for example in (*parts.train, *parts.valid, *parts.test))
    assert counts == {Polarity.POSITIVE: 8, Polarity.NEGATIVE: 8, Polarity.NEUTRAL: 4}


def test_help_needs_no_data() -> None:
    for command in ((), ("check",), ("convert",), ("split",)):
        assert run(*command, "--help").exit_code == 0
