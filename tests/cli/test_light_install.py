"""`classic-asc[runtime]`: what it installs is enough to predict from an exported folder, and the rest is asked for by name.

The commands run in processes of their own in which every module that this extra does not bring cannot be imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

from classic.cli import main
from classic.data import write_examples
from classic.export import export_store
from classic.store.store import Store
from classic.types import Task

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
packaging = pytest.importorskip("packaging.requirements")

ROOT = Path(__file__).resolve().parents[2]
# tokenizers asks pip for it, to download with; it is never imported here, and neither is what it needs.
NEVER_USED = {"huggingface-hub"}
WITHOUT = """
import json, sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

absent = set(json.load(sys.stdin))
sys.meta_path.insert(0, Absent())
"""


def normal(name: str) -> str:
    return name.lower().replace("_", "-")


@cache
def runtime_distributions() -> frozenset[str]:
    """Everything `pip install classic-asc[runtime]` installs and that may be imported."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"]["runtime"]]
    found: set[str] = set()
    while waiting:
        requirement = packaging.Requirement(waiting.pop())
        name = normal(requirement.name)
        if name in found | NEVER_USED or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            waiting += requires(requirement.name) or []
        except PackageNotFoundError:  # a part for other machines than this one
            continue
    return frozenset(found)


@cache
def absent() -> list[str]:
    """The installed modules that a light installation has not got."""
    light = runtime_distributions() | {"classic-asc"}
    return sorted(
        module for module, owners in packages_distributions().items() if not {normal(owner) for owner in owners} & light
    )


def run_light(program: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        input=json.dumps(absent()),
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
    )


def classic(*arguments: object, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = ["classic", *map(str, arguments)]
    return run_light(f"sys.argv = {words!r}\nfrom classic.cli.main import run\nrun()", where)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, taught_path: Path) -> Path:
    target = tmp_path_factory.mktemp("export") / "toy.onnx"
    export_store(Store.open(taught_path), target)
    return target


def test_what_is_missing_is_really_missing() -> None:
    assert {"torch", "transformers", "safetensors", "accelerate", "huggingface_hub", "onnx", "scipy"} <= set(absent())
    assert not {"onnxruntime", "tokenizers", "numpy", "typer", "rich", "jinja2", "classic"} & set(absent())
    assert run_light("import torch.nn").returncode != 0


def test_an_exported_folder_answers(folder: Path, tmp_path: Path, toy_tasks: tuple[Task, ...]) -> None:
    done = run_light(
        "from classic.runtime import ExportedPredictor\n"
        f"print(ExportedPredictor({str(folder)!r}, 1).predict('the screen is good', ['screen'])[0].polarity)"
    )
    asked = classic("predict", folder, "the screen is good", "--aspect", "screen", "--json", "--threads", 1)
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["polarity"] == done.stdout.strip()
    source, out = tmp_path / "screen.csv", tmp_path / "answers.csv"
    write_examples(toy_tasks[0].test, source)
    asked = classic("predict", folder, source, "-o", out, "--threads", 1)
    assert asked.returncode == 0, asked.stderr
    assert len(out.read_text().splitlines()) == 1 + len(toy_tasks[0].test)


@pytest.mark.parametrize(
    "command", [["store", "verify", "STORE"], ["store", "card", "STORE"], ["report", "STORE", "-o", "OUT"]]
)
def test_a_store_can_be_looked_at(command: list[str], taught_path: Path, tmp_path: Path) -> None:
    places = {"STORE": str(taught_path), "OUT": str(tmp_path / "report.html")}
    done = classic(*(places.get(word, word) for word in command))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "mend"),
    [
        (["learn", "NEW", "DATA", "--domain", "screen"], "pip install 'classic-asc[learn]'"),
        (["predict", "STORE", "the soup", "--aspect", "soup"], "pip install 'classic-asc[learn]' for a store"),
        (["summarise", "STORE", "DATA"], "pip install 'classic-asc[learn]' for a store"),
        (["demo", "NEW"], "pip install 'classic-asc[learn]'"),
        (["systems", "advise"], "pip install 'classic-asc[learn]'"),
        (["export", "STORE", "-o", "NEW"], "pip install 'classic-asc[export]'"),
        (["serve", "STORE"], "pip install 'classic-asc[serve]'"),
        (["bench", "table", "main"], "pip install 'classic-asc[bench]'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_needs_torch_says_how_to_install_it(
    command: list[str], mend: str, taught_path: Path, tmp_path: Path, toy_tasks: tuple[Task, ...]
) -> None:
    data, new = tmp_path / "screen.csv", tmp_path / "new"
    write_examples([*toy_tasks[0].train, *toy_tasks[0].valid, *toy_tasks[0].test], data)
    places = {"STORE": str(taught_path), "DATA": str(data), "NEW": str(new)}
    done = classic(*(places.get(word, word) for word in command), where=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"Error: `classic {command[0]}` needs torch, which is not installed\n" in done.stderr
    assert f"How to mend it: {mend}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not new.exists()


@pytest.mark.parametrize("name", ["teach", "Predictor", "AspectClassifier"])
def test_python_names_the_extra_as_the_command_line_does(name: str) -> None:
    done = run_light(f"try:\n    from classic import {name}\nexcept ImportError as error:\n    print(error)\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"classic.{name} needs torch, which is not installed")
    assert "pip install 'classic-asc[learn]'" in done.stdout


def test_an_export_is_evaluated_without_torch(folder: Path, tmp_path: Path, toy_tasks: tuple[Task, ...]) -> None:
    write_examples(toy_tasks[0].test, tmp_path / "test.csv")
    done = run_light(
        f"from classic import evaluate\nprint(evaluate({str(folder)!r}, {str(tmp_path / 'test.csv')!r}).accuracy)"
    )
    assert done.returncode == 0, done.stderr
    assert 0 <= float(done.stdout) <= 1


def test_a_module_of_no_extra_is_a_bug_and_shown_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")

    monkeypatch.setattr(main, "app", broken)
    monkeypatch.setattr(sys, "argv", ["classic", "learn"])
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        main.run()
