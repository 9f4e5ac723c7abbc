"""Row by row of the paper: what came out, and why not."""

from __future__ import annotations

from pathlib import Path

from result_files import write_result

from classic.benchmark.runs.suites import Selection
from classic.benchmark.tables.reproduction import reproduction


def line(text: str, system: str) -> str:
    return next(each for each in text.splitlines() if f"`{system}`" in each)


def test_what_is_said_of_a_row(tmp_path: Path) -> None:
    same = [(0.5, 0.7701)] * 2
    write_result(tmp_path, "one@w2v/til", same, macro_f1=[(0.5, 0.5189)] * 2)
    write_result(tmp_path, "ncl@w2v/dil", [(0.5, 0.5)] * 2)
    write_result(tmp_path, "kan+last@w2v/dil", [(0.9, 0.9)] * 2, dirty=True)
    text = reproduction(Selection(), tmp_path)
    assert "| close | 0.7701 / 0.5189 | 0.7701 / 0.5189 | +0.0000 / +0.0000 | 1 |  |" in line(text, "one@w2v")
    assert "| not reproduced | 0.5000 / 0.5000 |" in line(text, "ncl@w2v")
    assert "short training" in line(text, "ncl@w2v")
    assert "behind the padding" in line(text, "kan+last@w2v")
    assert "| not run | — |" in line(text, "lamol@gpt2")
    assert "no GPT-2 weights" in line(text, "lamol@gpt2")
    assert "verified" not in text
    assert line(text, "kan+last@w2v").startswith("| KAN + last‡,") and line(text, "ncl@w2v").startswith("| NCL,")
    assert text.count("‡: made by code with changes that are in no commit.") == 1


def test_only_the_papers_own_setting_is_verified(tmp_path: Path) -> None:
    paper = {"budget": "paper", "encoder": "bert-base-uncased"}
    write_result(tmp_path, "ncl@bert/dil", [(0.5, 0.8048)] * 2, macro_f1=[(0.5, 0.7085)] * 2, spec=paper)
    text = reproduction(Selection(budget="paper", encoder="bert-base-uncased"), tmp_path)
    assert "| verified |" in line(text, "ncl@bert")
