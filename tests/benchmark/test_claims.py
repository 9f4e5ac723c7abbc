"""The paper's claims: every verdict says as much as the figures do, and what was not run is seen missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_files import write_result
from typer.testing import CliRunner

from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables.claims import Claim, claims_table
from classic.benchmark.tables.statistics import mean, wilcoxon
from classic.cli.main import app
from classic.errors import InputError

OURS = "classic@bert"
FULL = Selection(orders=(0, 1), budget="full")
TASKS = [f"domain{number}" for number in range(8)]
TRUE = "01" * 15


def write(
    folder: Path, system: str, wrong: int, *, forward: list[float] | None = None, order: int = 0, scenario: str = "dil"
) -> None:
    """A run over eight domains of thirty sentences, each with so many wrong answers."""
    final: dict[str, Any] = {"accuracy": 1 - wrong / 30, "macro_f1": 0.5, "own_f1": 1 - wrong / 30, "mixed": [0, 0]}
    final |= {"true": TRUE, "said": "1" * (2 * wrong) + TRUE[2 * wrong :]}
    scores = [(value, 1 - wrong / 30) for value in forward or [0.5] * len(TASKS)]
    write_result(
        folder,
        f"{system}/{scenario}",
        scores,
        tasks=TASKS,
        order=order,
        spec={"budget": "full"},
        of_tasks={"final": [final] * len(TASKS)},
    )


def lines(folder: Path) -> dict[str, dict[str, str]]:
    table = claims_table(OURS, FULL, folder)
    titles = [column.title for column in table.columns]
    return {
        line.cells[0].text: dict(zip(titles, (cell.text for cell in line.cells), strict=True)) for line in table.lines
    }


def test_each_claim_has_its_figures_and_a_verdict(tmp_path: Path) -> None:
    forward = [0.9, 0.8, 0.85, 0.9, 0.7, 0.85, 0.8, 28 / 30]  # of the last domain the end is right after
    for order in (0, 1):
        write(tmp_path, OURS, 2, forward=forward, order=order)
    write(tmp_path, "ncl@bert", 10)
    write(tmp_path, "ewc@bert", 2, order=1)
    write(tmp_path, "joint@bert", 0)
    write(tmp_path, "one@bert", 4, forward=[26 / 30] * 8, scenario="til")
    found = lines(tmp_path)
    assert found["better than NCL"]["all answers"] == "+26.7, p <0.001"
    assert found["better than NCL"]["verdict"] == "holds"
    assert found["better than EWC"]["verdict"].startswith("not shown")
    assert found["better than EWC"]["runs"] == "1"
    assert found["better than Joint"]["verdict"] == "fails"
    ahead = found["forward: better than a network for each domain"]
    assert ahead["ours"] == f"{mean(forward):.4f}"
    assert ahead["theirs"] == "0.8667"  # of 30, 26
    assert ahead["p"] == f"{wilcoxon(forward, [26 / 30] * 8):.3f}"
    assert ahead["verdict"] == "not shown (behind within chance)"
    back = found["backward: better at the end than right after"]
    assert (back["ours"], back["theirs"], back["runs"]) == ("0.9333", f"{mean(forward):.4f}", "2")
    assert back["verdict"] == "holds"
    assert found["better than CLASSIC − CED"]["verdict"] == "not run"


def test_what_was_not_run_is_named(tmp_path: Path) -> None:
    write(tmp_path, OURS, 2)
    write(tmp_path, "ncl@bert", 10, order=3)  # an order that nobody asked for
    write(tmp_path, "ncl@bert_adapter", 10)
    notes = claims_table(OURS, FULL, tmp_path).notes
    (missing,) = (note for note in notes if note.startswith("Not run"))
    assert "ncl@bert," in missing and "derpp@w2v" in missing and "ncl@bert_adapter" not in missing
    found = lines(tmp_path)
    assert "better than NCL, bert_adapter" in found
    assert found["forward: better than a network for each domain"]["verdict"] == "not run"


@pytest.mark.parametrize(
    ("ours", "theirs", "p", "verdict"),
    [
        (0.9, 0.8, 0.049, "holds"),
        (0.8, 0.9, 0.049, "fails"),
        (0.9, 0.8, 0.05, "not shown (ahead within chance)"),
        (0.8, 0.9, 0.5, "not shown (behind within chance)"),
    ],
)
def test_a_verdict_says_no_more_than_its_p(ours: float, theirs: float, p: float, verdict: str) -> None:
    assert Claim("", "", ours, theirs, (0.0, 0.0), p, "", 1).verdict == verdict


def test_only_of_classic_is_something_claimed(tmp_path: Path) -> None:
    write(tmp_path, "ncl@bert", 1)
    with pytest.raises(InputError, match="claims nothing about ncl@bert"):
        claims_table("ncl@bert", FULL, tmp_path)
    with pytest.raises(InputError, match="no run of classic@bert"):
        claims_table(OURS, FULL, tmp_path)


def test_a_page_gets_them_between_its_marks(tmp_path: Path) -> None:
    write(tmp_path, OURS, 2)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- claims:begin -->\nearlier\n<!-- claims:end -->\nafter\n", "utf-8")
    words = ["bench", "claims", OURS, "--orders", "0,1", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, [*words, "--format", "markdown", "--write", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert "earlier" not in text and text.startswith("before") and text.endswith("after\n")
    assert "Made by `classic bench claims classic@bert --orders 0-1`." in text
