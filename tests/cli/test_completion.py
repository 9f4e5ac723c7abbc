"""What the shell proposes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import ok

from classic.cli import completion
from classic.systems.system import BACKBONES, METHODS


def proposed(words: str) -> list[str]:
    """What bash is told when TAB is pressed behind the words."""
    program = "from classic.cli.main import app; app(prog_name='classic')"
    parts = words.split(" ")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            "PATH": "",
            "PYTHONPATH": ":".join(sys.path),
            "_CLASSIC_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(parts) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


def test_every_method_is_proposed() -> None:
    ours = {name for name, part in METHODS.items() if part.build.__module__.startswith("classic.")}
    assert set(completion.METHODS) == ours  # other tests may have loaded a method from a file


def test_every_backbone_is_proposed() -> None:
    assert set(completion.backbone("")) == set(BACKBONES)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("classic learn new.store data.csv --method ha", ["hat"]),
        ("classic learn new.store data.csv --backbone bert_f", ["bert_frozen"]),
        ("classic learn new.store data.csv --preset ", ["default", "paper", "authors"]),
        ("classic predict STORE text --domain s", ["screen", "soup"]),
        ("classic store delete STORE --domain s", ["screen", "soup"]),
        ("classic audit STORE --domain l", ["lens"]),
        ("classic predict STORE text --on-error m", ["mark"]),
        ("classic predict nowhere.store text --domain s", []),
    ],
)
def test_values_are_proposed(words: str, found: list[str], taught_path: Path) -> None:
    assert proposed(words.replace("STORE", str(taught_path))) == found


def test_advice_is_ranked_by_the_papers_scores() -> None:
    told = ok("systems", "advise", "--json").json
    names = list(told["fitting"])
    assert names[0] == "classic"
    scores = [told["paper"][name][1] for name in names if told["paper"][name]]
    assert scores == sorted(scores, reverse=True)
    assert told["paper"]["lamol"] == [0.8891, 0.8059]
    unknown = [name for name in names if not told["paper"][name]]
    assert names[len(names) - len(unknown) :] == unknown
    assert "best first" in ok("systems", "advise", "--keep-data").out
