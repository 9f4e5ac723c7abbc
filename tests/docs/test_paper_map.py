"""docs/paper.md must stay true: all 14 equations, each with code that exists and says so."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from classic.config import PRESETS
from classic.systems.system import SystemConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \((\d+)\) \|(.*)\|$", re.MULTILINE)
NAME = re.compile(r"`(classic(?:\.\w+)+)`")
SETTING = re.compile(r"`((?:train|method|backbone|additions)\.[\w.]+)`")
CITATION = re.compile(r"Eq\. ((?:\(\d+\)(?:-| and |, )?)+)")


def rows() -> dict[int, list[str]]:
    """Names in the column "Where", by equation."""
    return {int(number): NAME.findall(cells.split("|")[1]) for number, cells in ROW.findall(PAGE)}


def find(name: str) -> tuple[Any, list[Any]]:
    """The object of a dotted name, and everything it lies in, module first."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        around = [owner]
        for part in parts[length:]:
            around.append(getattr(around[-1], part))
        return around[-1], around[:-1]
    raise AssertionError(f"{name} cannot be imported")


def cited(text: str) -> set[int]:
    """The equations a docstring cites: "Eq. (3)", "Eq. (6) and (7)", "Eq. (8)-(11)"."""
    found: set[int] = set()
    for citation in CITATION.findall(text):
        for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", citation):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_citations_are_read() -> None:
    assert cited("Paper: Eq. (3), Sec. 3.2.2") == {3}
    assert cited("Paper: Eq. (6) and (7), Sec. 3.2.3") == {6, 7}
    assert cited("Paper: Eq. (8)-(11), Sec. 3.3.1") == {8, 9, 10, 11}
    assert cited("Paper: Sec. 3") == set()


def test_every_equation_has_one_row() -> None:
    numbers = [int(number) for number, _ in ROW.findall(PAGE)]
    assert numbers == list(range(1, 15))


@pytest.mark.parametrize("equation", range(1, 15))
def test_the_code_says_which_equation_it_is(equation: int) -> None:
    names = rows()[equation]
    assert names, f"equation {equation} names no code"
    for name in names:
        found, around = find(name)
        texts = [each.__doc__ or "" for each in (found, *around)]
        assert any(equation in cited(text) for text in texts), f"{name} does not cite Eq. ({equation})"
    first, around = find(names[0])
    texts = [each.__doc__ or "" for each in (first, *around)]
    assert any("Paper: Eq." in text and equation in cited(text) for text in texts)


@pytest.mark.parametrize("name", sorted(set(NAME.findall(PAGE))))
def test_every_name_on_the_page_exists(name: str) -> None:
    find(name)


@pytest.mark.parametrize("setting", sorted(set(SETTING.findall(PAGE))))
def test_every_setting_on_the_page_exists(setting: str) -> None:
    section, _, rest = setting.partition(".")
    for preset in PRESETS:
        values: Any = SystemConfig.preset(preset).to_dict()
        values = values[section] if section in ("train", "additions") else values[f"{section}_config"]
        for part in rest.split("."):
            values = values[part]


def test_the_tests_that_the_records_name_exist() -> None:
    pages = [ROOT / "docs" / "paper.md", *(ROOT / "docs" / "decisions").glob("*.md")]
    for page in pages:
        for path in re.findall(r"`(tests/[\w/]+(?:\.py)?)", page.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), f"{page.name} names {path}, which is not there"
