"""The check finds what it promises and repeats no review text unless asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from classic.data import check, read_rows
from classic.data.readers import Note
from classic.data.readers.source import zip_members
from classic.types import Example, Polarity, Task

P, N = Polarity.POSITIVE, Polarity.NEGATIVE


def kinds(task: Task) -> set[tuple[str, str, str]]:
    return {(finding.kind, finding.severity, finding.split) for finding in check(task).findings}


def test_leak_is_found_across_case_and_white_space() -> None:
    task = Task("t", (Example("A  lid", "lid", P), Example("x", "x", N)), (), (Example("a lid ", "lid", P),))
    assert ("leak", "warning", "test") in kinds(task)


def test_duplicates_conflicts_and_absent_aspects() -> None:
    rows = (
        Example("a lid", "lid", P, (2, 5)),
        Example("a lid", "lid", P, (2, 5)),
        Example("a lid", "lid", N, (2, 5)),
        Example("a pan", "pot", P),
    )
    found = Counter(finding.kind for finding in check(Task("t", rows, rows[:0], rows[:0])).findings)
    assert (found["duplicate"], found["conflict"], found["aspect-not-in-sentence"]) == (1, 1, 1)
    assert ("aspect-not-in-sentence", "warning", "train") in kinds(Task("t", rows, rows[:0], rows[:0]))  # for --strict


def test_two_occurrences_are_neither_duplicate_nor_conflict() -> None:
    spans = (Example("a lid on a lid", "lid", P, (2, 5)), Example("a lid on a lid", "lid", N, (11, 14)))
    unknown = (Example("a pan on a pan", "pan", P), Example("a pan on a pan", "pan", N))
    assert not {"duplicate", "conflict"} & {kind for kind, _, _ in kinds(Task("t", spans + unknown))}


def test_classes() -> None:
    train = (Example("a", "a", P), Example("b", "b", P))
    found = kinds(Task("t", train, (), (Example("c", "c", N),)))
    assert ("one-class", "warning", "train") in found
    assert ("unlearned-class", "warning", "test") in found
    assert ("missing-class", "warning", "test") in found
    assert ("empty-split", "warning", "valid") in found
    assert ("empty-split", "error", "train") in kinds(Task("t", ()))


def test_training_of_one_polarity_is_said_to_be_refused_by_learn() -> None:
    one = (Example("a lid", "lid", P), Example("a pan", "pan", P))
    told = {each.split: each.message for each in check(Task("t", one, (), one)).findings if each.kind == "one-class"}
    assert "from two polarities" in told["train"] and "accuracy says nothing" in told["test"]


def test_a_polarity_that_training_lacks_is_said_with_what_follows_and_is_no_warning() -> None:
    report = check(Task("t", *3 * [(Example("a lid", "lid", P), Example("a pan", "pan", N))]))
    told = [finding for finding in report.findings if finding.kind == "missing-class"]
    assert [finding.severity for finding in told] == ["info"]
    assert "hardly say neutral" in told[0].message


def test_lines_and_text(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("sentence,aspect,polarity\na secret,secret,+\nother,other,-\n")
    (tmp_path / "test.csv").write_text("sentence,aspect,polarity\n\nother,other,-\na secret,secret,+\n")
    report = check(tmp_path)
    leak = next(finding for finding in report.findings if finding.kind == "leak")
    assert (leak.split, leak.line, leak.message) == ("test", 3, "the same sentence is in train in line 3")
    assert "secret" not in str(report)
    assert "secret" in str(check(tmp_path, show_text=True))


def test_the_papers_57_splits(asc19: Path) -> None:
    report = check(asc19)
    assert len(report.counts) == 57
    assert report.errors == 0
    leaks = [f for f in report.findings if f.kind == "leak" and f.split == "test" and "in train" in f.message]
    assert sorted(finding.domain for finding in leaks) == ["Laptop", "Rest"]


def test_a_missing_domain_and_wrong_counts_are_errors(tmp_path: Path) -> None:
    folder = tmp_path / "Bing3Domains" / "asc" / "Speaker"
    folder.mkdir(parents=True)
    (folder / "train.json").write_text('{"0": {"polarity": "+", "term": "a", "sentence": "a"}}')
    found = Counter(finding.kind for finding in check(tmp_path).findings if finding.severity == "error")
    assert found == {"missing-domain": 18, "differs-from-paper": 3}


def raw_folder(asc19: Path, name: str) -> Path:
    folder = asc19.parent / "raw" / name
    if not folder.is_dir():
        pytest.skip(f"no raw data at {folder}")
    return folder


@pytest.mark.parametrize(
    ("file", "polarities", "conflicts"),
    [
        ("Laptops_Train_v2.xml", (987, 866, 460), 45),
        ("Laptops_Test_Gold.xml", (341, 128, 169), 16),
        ("Restaurants_Train_v2.xml", (2164, 805, 633), 91),
        ("Restaurants_Test_Gold.xml", (728, 196, 196), 14),
    ],
)
def test_semeval_counts(asc19: Path, file: str, polarities: tuple[int, int, int], conflicts: int) -> None:
    path = raw_folder(asc19, "semeval14") / file
    notes: list[Note] = []
    rows = read_rows(path, notes=notes)
    counts = Counter(row.example.polarity for row in rows)
    assert tuple(counts[each] for each in Polarity) == polarities
    assert len(notes) == conflicts
    assert len(rows) + conflicts == path.read_bytes().count(b"<aspectTerm ")
    assert all(row.example.span for row in rows)


def test_hu_liu_zips(asc19: Path) -> None:
    total = Counter[str]()
    for archive in sorted(raw_folder(asc19, "nltk").glob("*.zip")):
        for member in zip_members(archive):
            if not member.endswith("README.txt"):
                notes: list[Note] = []
                rows = read_rows(archive / member, notes=notes)
                assert len(rows) >= 100
                assert len(notes) <= 20
                total["examples"] += len(rows)
                total["left out"] += len(notes)
    assert total == {"examples": 4689, "left out": 39}
