"""`classic bench table`, `plot` and `picture`: options in, files out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_files import write_result
from typer.main import get_command
from typer.testing import CliRunner

from classic.cli.main import app
from classic.errors import InputError

NCL = "ncl@bert_adapter"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_result(tmp_path / "results", f"{NCL}/dil", [(0.9, 0.8), (0.6, 0.6)])
    return tmp_path / "results"


def bench(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_prints_a_table_without_colours_into_a_pipe(results: Path) -> None:
    found = bench("table", "main", "--systems", NCL, "--results", results)
    assert found.exit_code == 0
    assert "0.7000" in found.stdout
    assert "\x1b" not in found.stdout


def test_compares_runs_of_the_first_tasks_and_with_changed_settings(tmp_path: Path) -> None:
    def answered(system: str, said: str, **spec: Any) -> None:
        final = {"accuracy": 0.0, "macro_f1": 0.0, "own_f1": 0.0, "true": "0011", "said": said, "mixed": [0, 0]}
        described = {"system": system, "accuracy": [(0.0, 0.0)], "tasks": ["camera"], "of_tasks": {"final": [final]}}
        write_result(tmp_path, **described, spec=spec, name=f"{system.partition('@')[0]}-{len(spec)}.json")

    for system, plain, changed in (("classic@bert_adapter/dil", "0010", "0011"), (f"{NCL}/dil", "0000", "1011")):
        answered(system, plain, first=1)
        answered(system, changed, first=1, changes={"train.epochs": 6})
    words = ("compare", "classic@bert_adapter", NCL, "--first", 1, "--budget", "quick", "--results", tmp_path)
    assert "3 and 2 right of 4" in bench(*words).stdout
    assert "4 and 3 right of 4" in bench(*words, "--set", "train.epochs=6").stdout
    assert bench(*words, "--set", "train.epochs=7").exit_code != 0


def test_a_comparison_tells_how_far_seeds_lie_apart(tmp_path: Path) -> None:
    def answered(system: str, seed: int, said: str, own_f1: float, **rest: Any) -> None:
        final = {"accuracy": 0.5, "macro_f1": 0.5, "own_f1": own_f1, "true": "0011", "said": said, "mixed": [0, 0]}
        described = {"accuracy": [(0.0, 0.0)], "tasks": ["camera"], "of_tasks": {"final": [final]}, "seed": seed}
        write_result(tmp_path, f"{system}/dil", **described, name=f"{system}-{seed}.json", **rest)

    words = ("compare", "classic@bert_adapter", NCL, "--budget", "quick", "--results", tmp_path)
    answered("classic@bert_adapter", 0, "0011", 0.9)
    answered(NCL, 0, "0000", 0.4)
    assert "not known: run some" in bench(*words).stdout
    answered("classic@bert_adapter", 1, "0001", 0.7)
    answered("classic@bert_adapter", 2, "1100", 0.1, determined_by={"versions": {"another": 1}})  # another recipe
    told = bench(*words).stdout
    assert "2 seeds of classic@bert_adapter, order 0: own F1 0.7000 to 0.9000" in told
    assert "no finding" in told and "4 and 2 right of 4" in told
    answered(NCL, 1, "0000", 0.4)
    for seeds in ("1", "0-1"):  # each system once, whichever seeds are compared
        assert bench(*words, "--seeds", seeds).stdout.count("2 seeds of") == 2


def test_several_others_are_compared_in_a_table(tmp_path: Path) -> None:
    for system, said in (("classic@bert_adapter", "0011"), (NCL, "0000"), ("ewc@bert_adapter", "0001")):
        final = {"accuracy": 0.5, "macro_f1": 0.5, "own_f1": 0.5, "true": "0011", "said": said, "mixed": [0, 0]}
        write_result(tmp_path, f"{system}/dil", [(0.0, 0.5)], tasks=["camera"], of_tasks={"final": [final]})
    others = ("--budget", "quick", "--results", tmp_path)
    told = bench("compare", "classic@bert_adapter", NCL, "ewc@bert_adapter", *others)
    assert told.exit_code == 0
    assert "+50.0" in told.stdout and "+25.0" in told.stdout
    page = tmp_path / "README.md"
    page.write_text("<!-- results:begin -->\n<!-- results:end -->\n", encoding="utf-8")
    one = ("compare", "classic@bert_adapter", NCL, *others, "--format", "markdown", "--write", page)
    assert bench(*one).exit_code == 0
    assert "| NCL | bert_adapter |" in page.read_text(encoding="utf-8")


def test_writes_a_table_to_a_file(results: Path, tmp_path: Path) -> None:
    target = tmp_path / "main.tex"
    found = bench("table", "main", "--systems", NCL, "--results", results, "--format", "latex", "-o", target)
    assert found.exit_code == 0
    assert r"\toprule" in target.read_text(encoding="utf-8")
    assert found.stdout == ""


def test_writes_a_table_into_a_page_and_again_the_same(results: Path, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("# Mine\n\n<!-- results:begin -->\n<!-- results:end -->\n\nEnd\n", encoding="utf-8")
    words = ("table", "main", "--short", "--format", "markdown", "--write", page, "--results", results)
    assert bench(*words).exit_code == 0
    once = page.read_text(encoding="utf-8")
    assert once.startswith("# Mine\n\n<!-- results:begin -->\n**The paper's main table")
    assert once.endswith("<!-- results:end -->\n\nEnd\n")
    assert "classic bench table main --short" in once
    assert bench(*words).exit_code == 0
    assert page.read_text(encoding="utf-8") == once


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("table", "main", "--write", "README.md"), "Markdown"),
        (("table", "main", "--format", "markdown", "--write", "nowhere.md"), "no page"),
        (("table", "mian"), "mian"),
        (("table", "main", "--format", "word"), "word"),
        (("table", "main", "--budget", "large"), "large"),
        (("table", "main", "--orders", "first"), "not a list of numbers"),
        (("plot", "main"), "nowhere to draw"),
        (("picture", "main", "-o", "main.jpg"), "jpg"),
        (("picture", "search", "-o", "main.png"), "no final scores"),
    ],
)
def test_mistakes_are_told(words: tuple[str, ...], says: str, results: Path) -> None:
    found = bench(*words, "--results", results)
    assert isinstance(found.exception, InputError)
    assert says in str(found.exception)


def test_draws_pictures_and_the_page(results: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "pictures", tmp_path / "report.html"
    words = ("plot", "main", "--systems", NCL, "--results", results, "-o", out, "--format", "svg", "--html", page)
    found = bench(*words)
    assert found.exit_code == 0
    assert {path.suffix for path in out.iterdir()} == {".svg"}
    assert "Plotly.newPlot" in page.read_text(encoding="utf-8")


def test_draws_one_picture_and_shows_it_in_a_page_again_the_same(results: Path, tmp_path: Path) -> None:
    page, out = tmp_path / "README.md", tmp_path / "docs" / "main.png"
    out.parent.mkdir()
    page.write_text("# Mine\n\n<!-- picture:begin -->\n<!-- picture:end -->\n\nEnd\n", encoding="utf-8")
    words = ("picture", "main", "--systems", NCL, "--short", "--results", results, "-o", out, "--write", page)
    assert bench(*words).exit_code == 0
    once, drawn = page.read_text(encoding="utf-8"), out.read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert "](docs/main.png)\n\nMade by `classic bench picture main --systems ncl@bert_adapter --short" in once
    assert once.endswith("<!-- picture:end -->\n\nEnd\n")
    assert bench(*words).exit_code == 0
    assert (page.read_text(encoding="utf-8"), out.read_bytes()) == (once, drawn)


@pytest.mark.parametrize("command", ["run", "table", "plot", "picture"])
def test_every_command_takes_the_same_choice(command: str) -> None:
    (group,) = [each for each in get_command(app).commands.values() if each.name == "bench"]  # type: ignore[attr-defined]
    parameters = {parameter.name: parameter for parameter in group.commands[command].params}
    for name in ("systems", "orders", "seeds", "budget", "backbone", "first", "encoder"):
        assert parameters[name].opts == [f"--{name}"]
        assert parameters[name].help
    assert "chosen" not in parameters


def test_what_is_chosen_is_what_is_shown(results: Path) -> None:
    write_result(results, f"{NCL}/dil", [(0.5, 0.4)], order=2)
    found = bench("table", "main", "--systems", NCL, "--orders", "1-2", "--results", results, "--format", "markdown")
    assert "1 of 2 runs; budget quick (" in found.stdout and "); order 2, seed 0" in found.stdout
    assert "0.4000" in found.stdout


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--orders", "9-99", "there is no task order 20"),
        ("--orders", "4-0", "not a list of numbers"),
        ("--systems", "nosuch@bert_adapter", "nosuch"),
        ("--systems", "ncl@nowhere", "nowhere"),
    ],
)
def test_what_does_not_exist_is_refused(results: Path, option: str, value: str, told: str) -> None:
    found = bench("table", "main", option, value, "--results", results)
    assert isinstance(found.exception, InputError)
    assert told in str(found.exception)
