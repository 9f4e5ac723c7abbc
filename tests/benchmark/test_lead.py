"""One system beside several others: every figure is counted by hand here, and what cannot be compared is seen missing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from result_files import write_result

from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables.lead import lead_table
from classic.benchmark.tables.paired import compare
from classic.benchmark.tables.rows import newest_runs
from classic.benchmark.tables.statistics import holm
from classic.errors import InputError

OURS, NCL, EWC, OWM = (f"{name}@bert_adapter" for name in ("classic", "ncl", "ewc", "owm"))
FULL = Selection(orders=(0, 1), budget="full")
TRUE = "01" * 30


def write(folder: Path, system: str, wrong: int, *, order: int = 0, tells: bool = True) -> None:
    """A run with so many wrong answers of sixty, all about the class 0; two of the sixty are about mixed sentences."""
    said = "1" * (2 * wrong) + TRUE[2 * wrong :]
    final = {"accuracy": 1 - wrong / 60, "macro_f1": 0.5, "own_f1": 1 - wrong / 60, "mixed": [1, 2]}
    final |= {"true": TRUE, "said": said} if tells else {}
    scores = [(0.0, 1 - wrong / 60)]
    spec = {"budget": "full"}
    write_result(folder, f"{system}/dil", scores, order=order, spec=spec, of_tasks={"final": [final]})


def test_a_row_says_how_far_ours_is_ahead_and_with_which_chance(tmp_path: Path) -> None:
    for order in (0, 1):
        write(tmp_path, OURS, 3, order=order)
        write(tmp_path, NCL, 15, order=order)
    write(tmp_path, EWC, 4)
    table = lead_table(OURS, [NCL, EWC, OWM], FULL, tmp_path)
    titles = [column.title for column in table.columns]
    rows = {
        line.cells[0].text: dict(zip(titles, (cell.text for cell in line.cells), strict=True)) for line in table.lines
    }
    assert list(rows) == ["CLASSIC", "NCL", "EWC", "OWM"]
    assert rows["CLASSIC"]["all answers"] == "95.0 %"
    assert rows["CLASSIC"]["mixed"] == "50.0 %"
    assert rows["CLASSIC"]["ahead: own F1"] == ""
    assert rows["NCL"]["ahead: all answers"] == "+20.0, p <0.001"
    assert rows["NCL"]["runs"] == "2 of 2"
    assert rows["EWC"]["ahead: all answers"] == "+1.7, p 1.000"  # of order 0 alone: ours 57, theirs 56 of 60
    assert rows["EWC"]["runs"] == "1 of 2"
    assert rows["OWM"]["accuracy"] == rows["OWM"]["all answers"] == rows["OWM"]["ahead: own F1"] == "—"
    runs = newest_runs(tmp_path)
    ours, ncl, ewc = ([run for run in runs if run.spec.system.startswith(name)] for name in ("classic", "ncl", "ewc"))
    alone = {"NCL": compare(ours, ncl), "EWC": compare(ours, ewc)}
    p = holm({name: each.permutation for name, each in alone.items()})
    for name, each in alone.items():
        a, b, low, high = (100 * value for value in each.own_f1)
        wanted = f"{a - b:+.1f} ({low:+.1f} to {high:+.1f}), p ".replace("-", "−")
        assert rows[name]["ahead: own F1"].startswith(wanted)
        assert rows[name]["ahead: own F1"].endswith("<0.001" if p[name] < 0.001 else f"{p[name]:.3f}")
    assert table.command == f"classic bench compare {OURS} {NCL} {EWC} {OWM} --orders 0-1"


def test_files_without_single_answers_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, OURS, 3)
    write(tmp_path, NCL, 15, tells=False)
    (_, ncl) = lead_table(OURS, [NCL], FULL, tmp_path).lines
    assert ncl.cells[-1].text == "0 of 2"


def test_without_a_run_of_ours_there_is_nothing_to_tell(tmp_path: Path) -> None:
    write(tmp_path, NCL, 15)
    with pytest.raises(InputError, match="no run of classic@bert_adapter is finished"):
        lead_table(OURS, [NCL], FULL, tmp_path)


def test_the_command_names_what_is_not_usual(tmp_path: Path) -> None:
    write(tmp_path, OURS, 3)
    chosen = dataclasses.replace(FULL, seeds=(0,))
    assert lead_table(OURS, [NCL], chosen, tmp_path).command.endswith(f"{NCL} --orders 0-1 --seeds 0")
