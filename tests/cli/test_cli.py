"""The command line: learning, asking, looking, going back; exit codes and messages; no torch before it is needed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main

from classic.cli import main
from classic.data import write_examples
from classic.store.store import Store
from classic.types import Task

Tasks = tuple[Task, ...]
SENTENCE = "the screen is good and the soup is bad"


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def call(*arguments: object, stdin: str | bytes = "") -> Result:
    """Runs `classic` in this process, from the entry point on, so that messages and exit codes are the real ones."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", ["classic", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = 0
        try:
            main.run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Result(code, *texts)


def ok(*arguments: object, stdin: str | bytes = "") -> Result:
    result = call(*arguments, stdin=stdin)
    assert result.code == 0, result.err
    return result


def refused(*arguments: object, code: int = 2, stdin: str | bytes = "") -> str:
    """One clear message on standard error, nothing on standard output, no traceback."""
    result = call(*arguments, stdin=stdin)
    assert result.code == code, (result.out, result.err)
    assert result.out == ""
    assert "Traceback" not in result.err
    assert len(result.err.strip().splitlines()) <= 8
    assert result.err.strip()
    return result.err


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, toy_tasks: Tasks) -> Path:
    """screen/{train,valid,test}.csv, soup/..., lens/..., router/..."""
    folder = tmp_path_factory.mktemp("data")
    for task in toy_tasks:
        (folder / task.name).mkdir()
        for part in ("train", "valid", "test"):
            write_examples(getattr(task, part), folder / task.name / f"{part}.csv")
    return folder


@pytest.fixture(scope="module")
def recipe(tiny_encoder: Path) -> list[str]:
    """The options of a new store that learns in no time."""
    quick = ["--set", "backbone.width=16", "--set", "train.epochs=1", "--set", "train.batch_size=8", "--threads", "1"]
    return ["--encoder", str(tiny_encoder), *quick]


@pytest.fixture(scope="module")
def connections() -> list[object]:
    """Whatever anybody tried to connect to while the store was learned and asked."""
    return []


@pytest.fixture(scope="module")
def learned(
    tmp_path_factory: pytest.TempPathFactory, data: Path, recipe: list[str], connections: list[object]
) -> tuple[Path, list[Result]]:
    """A store that learned two domains through the command line, without a network."""
    path = tmp_path_factory.mktemp("cli") / "toy.store"

    def no_network(*arguments: object, **_: object) -> None:
        connections.append(arguments)
        raise OSError("there is no network")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, no_network)
        patch.setattr(socket, "getaddrinfo", no_network)
        first = ok("learn", path, data / "screen", "--domain", "screen", *recipe)
        second = ok("learn", path, data / "soup", "--domain", "soup", "--threads", 1, "--json")
        asked = ok("predict", path, SENTENCE, "--aspect", "screen", "--threads", 1)
    return path, [first, second, asked]


@pytest.fixture
def store(learned: tuple[Path, list[Result]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(learned[0], tmp_path / "toy.store"))


# --- learning and asking ---------------------------------------------------------------------------------------------


def test_learning_says_what_was_learned(learned: tuple[Path, list[Result]]) -> None:
    path, (first, second, _) = learned
    assert "version 1: screen" in first.out
    told = second.json
    assert (told["version"], told["record"]["domains"]) == (2, ["screen", "soup"])
    assert told["sha256"] == Store.open(path).verify()
    assert "note: no neutral example" in second.err  # the screens had some
    assert "neutral" not in first.err


def test_learning_and_asking_need_no_network(learned: tuple[Path, list[Result]], connections: list[object]) -> None:
    assert connections == []
    assert "screen" in learned[1][2].out


def test_learning_the_same_again_changes_nothing_and_other_data_is_refused(store: Path, data: Path) -> None:
    digest = Store.open(store).digest()
    again = ("learn", store, data / "screen", "--domain", "screen", "--threads", 1)
    assert ok(*again).out == "screen was learned already, as version 1; nothing was done\n"
    assert ok(*again, "--json").json["version"] == 1
    assert "already, from other data" in refused("learn", store, data / "lens", "--domain", "soup", "--threads", 1)
    assert Store.open(store).verify() == digest


def test_one_file_is_split_and_learned(store: Path, data: Path) -> None:
    told = ok("learn", store, data / "lens" / "train.csv", "--domain", "lens", "--threads", 1, "--json").json
    counts = {part: sum(by_class.values()) for part, by_class in told["record"]["counts"].items()}
    assert counts["train"] > counts["valid"] > 0
    assert sum(counts.values()) == 24


def test_a_sentence_with_two_aspects(store: Path) -> None:
    shown = ok("predict", store, SENTENCE, "--aspect", "screen", "--aspect", "soup", "--threads", 1).out
    assert "screen" in shown
    assert "soup" in shown
    found = ok("predict", store, SENTENCE, "--aspect", "screen", "--span", "27:31", "--json", "--threads", 1).lines
    assert [(row["aspect"], row["span"], row["version"]) for row in found] == [
        ("screen", [4, 10], 2),
        ("soup", [27, 31], 2),
    ]
    for row in found:
        shares = {name: row[name] for name in ("positive", "negative", "neutral")}
        assert row["polarity"] == max(shares, key=lambda name: shares[name])
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)


def test_a_csv_file_gives_a_csv_file_row_by_row(store: Path, data: Path, tmp_path: Path, toy_tasks: Tasks) -> None:
    target = tmp_path / "answers.csv"
    result = ok("predict", store, data / "lens" / "test.csv", "-o", target, "--threads", 1)
    assert (result.out, f"wrote {target}" in result.err.replace("\n", "")) == ("", True)
    with target.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["sentence"], row["aspect"]) for row in rows] == [(e.sentence, e.aspect) for e in toy_tasks[2].test]
    assert {row["polarity"] for row in rows} <= {"positive", "negative", "neutral"}
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_json_lines_in_give_json_lines_out(store: Path, data: Path) -> None:
    lines = [
        {"sentence": SENTENCE, "aspect": "screen"},
        {"sentence": "naïve 中文 soup", "aspects": [{"aspect": "soup"}, {"aspect": "中文"}]},
    ]
    given = "\ufeff" + "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n\n"
    found = ok("predict", store, "-", "--threads", 1, stdin=given).lines
    assert [row["aspect"] for row in found] == ["screen", "soup", "中文"]
    again = ok("predict", store, "--threads", 1, "--batch-size", 1, stdin=given).lines
    assert [row["polarity"] for row in again] == [row["polarity"] for row in found]


def test_an_older_version_can_be_asked(store: Path) -> None:
    (row,) = ok("predict", store, SENTENCE, "--aspect", "soup", "--version", 1, "--json", "--threads", 1).lines
    assert (row["version"], row["nearest_domain"]) == (1, "screen")


def test_csv_answers_are_safe_in_a_spreadsheet(store: Path, tmp_path: Path) -> None:
    nasty = ["=1+1 screen", "+screen", "-screen", "@screen", "\tscreen =2", " =screen", "fine\n=cmd screen", "screen"]
    given = "".join(json.dumps({"sentence": text, "aspect": text}) + "\n" for text in nasty)
    text = ok("predict", store, "-", "--format", "csv", "--threads", 1, stdin=given).out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["sentence"] for row in rows] == ["'" + text for text in nasty[:-1]] + ["screen"]
    assert [row["aspect"] for row in rows] == [row["sentence"] for row in rows]


def test_an_input_of_no_rows_still_gives_a_header(store: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("sentence,aspect\n")
    ok("predict", store, tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--threads", 1)
    assert (tmp_path / "out.csv").read_text().startswith("sentence,aspect,polarity,")


def test_scoring_keeps_numbers_only(store: Path, data: Path) -> None:
    named = f"soup={data / 'soup'}"
    shown = ok("evaluate", store, named, data / "lens" / "test.csv", "--threads", 1).out
    assert "macro-F1" in shown
    found = ok("evaluate", store, named, "--all-versions", "--json", "--threads", 1).json
    assert set(found) == {"1", "2"}
    assert found["2"]["soup"]["accuracy"] == Store.open(store).version(2).record["scores"]["test"]["accuracy"]
    scores = Store.open(store).read_scores(2)
    assert set(scores) == {"soup", "test"}
    assert sum(count for _, _, count in scores["soup"]["pairs"]) == 12


def test_scores_come_with_classes_confusions_and_intervals(store: Path, data: Path) -> None:
    named = f"soup={data / 'soup'}"
    shown = ok("evaluate", store, named, "--threads", 1).out
    for word in ("95 % intervals", "classes and confusions", "precision"):
        assert word in shown
    assert shown.count("said") == 3  # a column for every polarity, its name on a line of its own
    found = ok("evaluate", store, named, "--json", "--threads", 1).json["2"]["soup"]
    assert sum(map(sum, found["confusion"])) == found["examples"] == 12
    assert found["intervals"]["accuracy"][0] <= found["accuracy"] <= found["intervals"]["accuracy"][1]
    told = ok("report", store, "--json").json["details"]["soup"]
    assert {key: told[key] for key in ("confusion", "classes")} == {key: found[key] for key in ("confusion", "classes")}
    card = ok("store", "card", store, "--markdown").out
    assert "said negative" in card
    assert "95 % interval" in card


def test_scores_of_an_unknown_domain_are_refused(store: Path, data: Path) -> None:
    told = refused("evaluate", store, f"suop={data / 'soup'}", "--threads", 1)
    assert "did you mean 'soup'" in told
    assert "as PATH" in told


def test_folders_of_domains_that_were_not_learned_are_scored_together(store: Path, data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "soup", tmp_path / "stew")
    shutil.copytree(data / "soup", tmp_path / "broth")
    found = ok("evaluate", store, tmp_path / "stew", tmp_path / "broth", "--no-save", "--json", "--threads", 1).json
    assert set(found["2"]) == {"stew", "broth"}
    shutil.copytree(data / "soup", tmp_path / "other" / "stew")
    told = refused("evaluate", store, tmp_path / "stew", tmp_path / "other" / "stew", "--threads", 1)
    assert "two sets are called 'stew'" in told and "rename" in told


def test_a_folder_with_a_test_file_alone_is_scored(store: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "stew").mkdir()
    shutil.copy(data / "soup" / "test.csv", tmp_path / "stew")
    found = ok("evaluate", store, tmp_path / "stew", "--no-save", "--json", "--threads", 1).json
    assert set(found["2"]) == {"stew"}


def test_a_set_of_no_domain_is_refused_where_the_domain_must_be_told(
    data: Path, recipe: list[str], tmp_path: Path
) -> None:
    store, soup = tmp_path / "told.store", data / "soup" / "test.csv"
    for name in ("screen", "soup"):
        ok("learn", store, data / name, "--domain", name, *recipe, "--scenario", "til")
    assert "give NAME=PATH; it knows screen, soup" in refused("evaluate", store, soup, "--threads", 1)
    assert "it knows screen" in refused("evaluate", store, f"soup={soup}", "--version", 1, "--threads", 1)
    found = ok("evaluate", store, f"soup={soup}", "--all-versions", "--json", "--threads", 1).json
    assert [list(scores) for scores in found.values()] == [[], ["soup"]]


def test_an_export_is_scored_as_the_store_is(store: Path, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    ok("export", store, "-o", tmp_path / "toy.onnx", "--threads", 1)
    named = f"soup={data / 'soup'}"
    there = ok("evaluate", tmp_path / "toy.onnx", named, "--json", "--threads", 1).json
    assert there == ok("evaluate", store, named, "--json", "--threads", 1).json
    assert "did you mean 'soup'" in refused("evaluate", tmp_path / "toy.onnx", f"suop={data / 'soup'}")
    told = refused("store", "list", tmp_path / "toy.onnx", code=1)
    assert "is an exported folder, not a store" in told and "`summarise`" in told
    assert "classic learn" not in told


@pytest.mark.parametrize("name", ["", " ", "../evil", "a/b", "a\nb", "x" * 81, ".", " a", "<b>"])
def test_a_name_that_is_none_is_refused(data: Path, tmp_path: Path, name: str) -> None:
    told = refused("learn", tmp_path / "new.store", data / "soup", "--domain", name)
    assert "cannot be the name of a domain" in told
    assert not (tmp_path / "new.store").exists()


def test_errors_break_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = call("learn", tmp_path / "new.store", tmp_path, "--domain", "x" * 81).err
    plain = re.sub(r"\x1b\[[0-9;]*m", "", err)
    assert "letters, digits, spaces" in plain


def test_the_placeholder_of_a_help_is_shown() -> None:
    for command in ("demo", "starter"):
        assert "OUT_DIR/DOMAIN/" in ok("data", command, "--help").out


def test_the_help_of_the_domain_says_that_every_store_takes_it() -> None:
    for command in ("predict", "find", "summarise"):
        assert "it weighs in" in ok(command, "--help").out


def two_clauses(data: Path) -> list[dict[str, str]]:
    """Test sentences of two domains in pairs, each asked about both of its aspects."""
    parts = []
    for domain in ("screen", "soup"):
        with (data / domain / "test.csv").open(newline="") as file:
            parts.append(list(csv.DictReader(file)))
    return [
        {
            "sentence": f"{left['sentence']}, but {right['sentence']}",
            "aspect": asked["aspect"],
            "polarity": asked["polarity"],
        }
        for left, right in zip(*parts, strict=True)
        for asked in (left, right)
    ]


def test_scores_are_those_of_the_answers(store: Path, data: Path, tmp_path: Path) -> None:
    rows = two_clauses(data)
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = ok("predict", store, file, "--format", "jsonl", "--threads", 1).lines
    right = sum(answer["polarity"] == row["polarity"] for answer, row in zip(said, rows, strict=True))
    found = ok("evaluate", store, file, "--no-save", "--json", "--threads", 1).json
    assert found["2"]["pairs"]["accuracy"] == pytest.approx(right / len(rows))


# --- looking after a store -------------------------------------------------------------------------------------------


def test_list_shows_versions_and_the_one_in_use(store: Path) -> None:
    assert "in use" in ok("store", "list", store).out
    found = ok("store", "list", store, "--json").json
    assert found["current"] == 2
    assert [(row["version"], row["domain"], row["current"]) for row in found["versions"]] == [
        (1, "screen", False),
        (2, "soup", True),
    ]


def test_verify_prints_the_digest_or_names_the_damaged_file(store: Path) -> None:
    digest = Store.open(store).digest()
    told = ok("store", "verify", store).out
    assert digest in told
    assert "2 versions; version 2 is in use" in told
    assert ok("store", "verify", store, "--json").json == {"ok": True, "current": 2, "sha256": digest}
    file = store / "versions" / "0001" / "delta.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    assert "0001/delta.safetensors" in refused("store", "verify", store, code=1)
    assert "0001/delta.safetensors" in refused("predict", store, SENTENCE, "--aspect", "soup", code=1)


def test_card_is_plain_markdown_if_wanted(store: Path) -> None:
    assert ok("store", "card", store, 1, "--markdown").out.startswith("# screen\n")
    assert "soup" in ok("store", "card", store).out


def test_rollback_and_prune_forget_a_domain(store: Path) -> None:
    assert "it knows: screen" in ok("store", "rollback", store, 1).out
    assert "nothing yet" in ok("store", "rollback", store, 0).out
    assert "not learned any domain" in refused("predict", store, SENTENCE, "--aspect", "soup")
    ok("store", "rollback", store, 1)
    assert call("store", "prune", store, stdin="n\n").code == 1
    assert Store.open(store).numbers() == [0, 1, 2]
    assert "2 (soup)" in ok("store", "prune", store, "--yes").out
    assert Store.open(store).numbers() == [0, 1]
    assert "nothing to delete" in ok("store", "prune", store).out


def test_what_a_deletion_takes_along_is_said_before_and_after(store: Path) -> None:
    assert "it knows screen, soup" in refused("store", "delete", store, "--domain", "lens")  # nothing is asked
    ok("store", "rollback", store, 1)
    asked = call("store", "delete", store, "--domain", "screen", stdin="n\n")
    assert asked.code == 1 and "Versions that go: 1 (screen), 2 (soup)" in asked.out
    assert Store.open(store).numbers() == [0, 1, 2]
    assert "deleted versions: 1 (screen), 2 (soup)" in ok("store", "delete", store, "--domain", "screen", "--yes").out


def test_a_damaged_version_can_be_left_behind_and_pruned(store: Path) -> None:
    (store / "versions" / "0002" / "record.json").write_bytes(b"{")
    ok("store", "rollback", store, 1)
    assert "2 (damaged)" in ok("store", "prune", store, "--yes").out
    ok("store", "verify", store)


def test_pack_and_unpack(store: Path, tmp_path: Path) -> None:
    digest = Store.open(store).digest()
    assert digest in ok("store", "pack", store, tmp_path / "toy.packed").out
    refused("store", "unpack", tmp_path / "toy.packed", tmp_path / "other", "--sha256", "0" * 64, code=1)
    assert "screen, soup" in ok("store", "unpack", tmp_path / "toy.packed", tmp_path / "other", "--sha256", digest).out
    assert digest in ok("store", "verify", tmp_path / "other").out
    refused("store", "pack", store, tmp_path / "toy.packed")
    refused("store", "unpack", tmp_path / "toy.packed", tmp_path / "other")


# --- mistakes --------------------------------------------------------------------------------------------------------


def test_what_is_no_store_is_said_in_one_message(tmp_path: Path) -> None:
    for command in ("list", "verify", "card", "prune"):
        assert "is not a store" in refused("store", command, tmp_path, code=1)
    assert "is not a store" in refused("predict", tmp_path, SENTENCE, "--aspect", "soup", code=1)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--preset", "defualt"], "did you mean 'default'"),
        (["--method", "clasic"], "did you mean 'classic'"),
        (["--backbone", "brt"], "did you mean 'bert'"),
        (["--scenario", "dill"], "use dil or til"),
        (["--set", "train.epoch=2"], "did you mean 'epochs'"),
        (["--set", "epochs=2"], "begin it with train."),
        (["--set", "train.epochs"], "write KEY=VALUE"),
        (["--set", "train.epochs=many"], "give a whole number"),
        (["--set", "train.schedule=liner"], "did you mean 'linear'"),
        (["--device", "gpu"], "use one of"),
        (["--threads", "0"], "at least 1"),
        (["--encoder", "./nowhere"], "config.json"),
        (["--sed", "1"], "--se"),
    ],
)
def test_a_wrong_option_is_answered_with_the_right_one(
    tmp_path: Path, data: Path, options: list[str], hint: str
) -> None:
    error = refused("learn", tmp_path / "new.store", data / "soup", "--domain", "soup", *options)
    assert hint in error
    assert not (tmp_path / "new.store").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sentence,aspect,polarity\na soup,soup,positive\n", "1 training example\n"),
        ("sentence,aspect,polarity\n" + "a soup,soup,positive\n" * 20, "positive"),
        ("sentence,aspect,polarity\na soup,soup,delicious\n", ":2"),
        ("nothing here", ""),
    ],
    ids=["one example", "one class", "unknown polarity", "no known format"],
)
def test_data_that_cannot_be_learned_leave_no_store(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "data.csv").write_text(content)
    assert message in refused("learn", tmp_path / "new.store", tmp_path / "data.csv", "--domain", "soup")
    assert not (tmp_path / "new.store").exists()


def test_a_store_keeps_its_settings(store: Path, data: Path, recipe: list[str]) -> None:
    error = refused("learn", store, data / "lens", "--domain", "lens", *recipe, "--set", "backbone.width=32")
    assert "width is 16 there, 32 was asked for" in error
    assert "seed is 0 there, 7 was asked for" in refused(
        "learn", store, data / "lens", "--domain", "lens", *recipe, "--seed", 7
    )


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["  "], "empty"),
        (["missing.csv"], "no file"),
        ([SENTENCE, "--span", "4-9"], "START:END"),
        ([SENTENCE, "--span", "40:99"], "outside the sentence"),
        ([SENTENCE, "--aspect", " "], "empty"),
        ([SENTENCE, "--aspect", "soup", "--format", "xlsx"], "jsonl or csv"),
        ([SENTENCE, "--aspect", "soup", "--format", "csv", "--json"], "leave --json out"),
        ([SENTENCE, "--aspect", "soup", "--json", "--out", "q.csv"], "leave --json out"),
        ([SENTENCE, "--aspect", "soup", "--format", "csv", "--out", "q.jsonl"], "leave --format out"),
        ([SENTENCE, "--aspect", "soup", "--domain", "pasta"], "it knows screen, soup"),
        ([SENTENCE, "--aspect", "soup", "--version", "9"], "versions there are: 0, 1, 2"),
        ([SENTENCE, "--aspect", "soup", "--out", "no/where.csv"], "cannot be written"),
    ],
)
def test_a_question_that_cannot_be_meant_is_answered_with_how_to_ask(
    learned: tuple[Path, list[Result]], arguments: list[str], hint: str
) -> None:
    assert hint in refused("predict", learned[0], *arguments)


@pytest.mark.parametrize(
    "stdin", [b'{"sentence": "a soup"\n', b"\xff\xfe\n", b'{"sentence": "\\ud800 soup", "aspect": "soup"}\n', b"[]\n"]
)
def test_a_bad_line_of_standard_input_is_named(learned: tuple[Path, list[Result]], stdin: bytes) -> None:
    good = b'{"sentence": "a soup", "aspect": "soup"}\n'
    error = refused("predict", learned[0], "-", "--threads", 1, stdin=good + stdin)
    assert "<standard input>:2" in error


def test_a_failing_prediction_leaves_the_old_answers(store: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("sentence,aspect\na soup,soup\na soup\n")
    target.write_text("precious")
    assert "in.csv:3" in refused("predict", store, source, "-o", target, "--threads", 1)
    assert target.read_text() == "precious"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.csv", "out.csv", "toy.store"]


def test_the_input_is_never_overwritten_by_the_answers(store: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("sentence,aspect\na soup,soup\n")
    assert "same file" in refused("predict", store, source, "-o", source)
    assert source.read_text() == "sentence,aspect\na soup,soup\n"


def test_an_interrupt_is_told_and_has_its_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Path) -> Store:
        raise KeyboardInterrupt

    monkeypatch.setattr("classic.cli.store.Store.open", interrupt)
    result = call("store", "list", tmp_path)
    assert result.code == 130
    assert "Interrupted" in result.err


def test_a_traceback_shows_no_local_variables() -> None:
    """A traceback with local variables would print the sentences in memory."""
    assert main.app.pretty_exceptions_show_locals is False


# --- quick and quiet -------------------------------------------------------------------------------------------------

LOOKING = [
    ["--version"],
    ["data", "domains"],
    ["store", "list", "STORE"],
    ["store", "verify", "STORE"],
    ["store", "card", "STORE"],
]
HEAVY = ("torch", "transformers", "tokenizers", "safetensors", "huggingface_hub", "accelerate", "numpy")
SCRIPT = """
import json, sys
from classic.cli.main import app
commands, heavy = json.loads(sys.argv[1])
for command in commands:
    try:
        app(command)
    except SystemExit as end:
        assert not end.code, (command, end.code)
    loaded = [name for name in heavy if name in sys.modules]
    assert not loaded, (command, loaded)
print("all light")
"""


def all_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from all_commands(inner, (*path, name))


def test_help_and_looking_do_not_import_torch(learned: tuple[Path, list[Result]]) -> None:
    commands = [[str(learned[0]) if word == "STORE" else word for word in command] for command in LOOKING]
    commands += [[*command, "--help"] for command in all_commands(typer.main.get_command(main.app))]
    assert len(commands) > 25
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([commands, HEAVY])],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all light\n")
    assert done.stderr == ""


def test_a_closed_pipe_is_quiet() -> None:
    code = "from classic.cli.main import run; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "data", "domains", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()


def test_a_pipe_that_closes_in_the_middle_of_the_answers_is_quiet(
    learned: tuple[Path, list[Result]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("classic.cli.predict._write", broken)
    result = call("predict", learned[0], SENTENCE, "--aspect", "soup", "--json", "--threads", 1)
    assert (result.out, result.err) == ("", "")


def test_a_setting_without_effect_is_refused_and_no_store_is_made(
    tmp_path: Path, data: Path, recipe: list[str]
) -> None:
    place = tmp_path / "new.store"
    error = refused("learn", place, data / "screen", "--domain", "screen", *recipe, "--set", "method.gates.s_max=200")
    assert "method.gates.s_max has no effect in this system: hard masks are not annealed" in error
    assert not place.exists()


def test_verbose_learning_prints_how_hard_each_loss_pulls(store: Path, data: Path) -> None:
    said = ok("learn", store, data / "lens", "--domain", "lens", "-v").err
    assert "epoch 1: losses ce" in said
    assert "pull beside ce csc" in said


def test_help_names_what_to_write_not_types_of_a_programming_language() -> None:
    for command in all_commands(typer.main.get_command(main.app)):
        shown = re.sub(
            r"(\[NAME=\]PATH|THEIRS\.\.\.) +<list\[str\]>", "", ok(*command, "--help").out
        )  # arguments show both
        assert "list[" not in shown, command
