"""Tasks from folders, files, the demo and the paper's data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from classic.data import (
    DEMO_DOMAINS,
    DOMAINS,
    check,
    data_root,
    domain,
    load_demo,
    load_domain,
    load_task,
    order,
    read_orders,
    task_hash,
)
from classic.errors import DataError, InputError
from classic.types import POLARITIES, Example, Task

CSV = "sentence,aspect,polarity\n"


def test_a_folder_of_mixed_formats(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(CSV + "a lid,lid,positive\n")
    (tmp_path / "Dev.txt").write_text("the $T$ fits\nlid\n-1\n")
    (tmp_path / "test.jsonl").write_text('{"text": "a pan", "term": "pan", "label": "neu"}\n')
    (tmp_path / "notes.md").write_text("not data")
    task = load_task("kitchen", tmp_path)
    assert (task.name, task.train[0].aspect, task.valid[0].span, task.test[0].sentence) == (
        "kitchen",
        "lid",
        (4, 7),
        "a pan",
    )


def test_a_single_file_is_split(tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    file.write_text(CSV + "".join(f"lid {n},lid,positive\n" for n in range(20)))
    task = load_task("lids", file)
    assert (len(task.train), len(task.valid), len(task.test)) == (16, 2, 2)
    assert load_task("lids", file, seed=1) != task


def test_folders_that_cannot_be_a_task(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no training file"):
        load_task("empty", tmp_path)
    (tmp_path / "train.csv").write_text(CSV)
    (tmp_path / "dev.csv").write_text(CSV)
    (tmp_path / "valid.csv").write_text(CSV)
    with pytest.raises(DataError, match="two files for the split valid"):
        load_task("twice", tmp_path)


def test_task_hash_sees_every_field_but_not_the_name() -> None:
    task = Task("a", (Example("a lid", "lid", POLARITIES[0], (2, 5)),), (), (Example("b", "b", POLARITIES[1]),))
    known = task_hash(task)
    assert len(known) == 64
    assert task_hash(replace(task, name="b")) == known
    row = task.train[0]
    for change in ({"sentence": "A lid"}, {"aspect": "Lid"}, {"polarity": POLARITIES[2]}, {"span": None}):
        assert task_hash(replace(task, train=(replace(row, **change),))) != known
    assert task_hash(replace(task, valid=task.test, test=())) != known


def test_domains_are_found_by_any_of_their_names() -> None:
    assert len(DOMAINS) == 19 == len({entry.key for entry in DOMAINS})
    for name in ("CanonD500", "canonpowershotsd500", "Bing9domains_CanonPowerShotSD500", "CANOND500"):
        assert domain(name).name == "CanonD500"
    assert domain("Rest.").name == "Rest"
    with pytest.raises(InputError, match="did you mean 'Nokia6610'"):
        domain("Nokia6611")


def test_paper_totals() -> None:
    assert sum(sum(entry.train) for entry in DOMAINS) == 10_241
    assert sum(sum(entry.test) for entry in DOMAINS) == 2_344


def test_data_root_explains_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="CLASSIC_DATA"):
        data_root()
    monkeypatch.setenv("CLASSIC_DATA", str(tmp_path))
    with pytest.raises(InputError, match="none of the paper's domains"):
        data_root()
    (tmp_path / "asc" / domain("Rest").folder).mkdir(parents=True)
    with pytest.raises(InputError, match=f"did you mean '{tmp_path / 'asc'}'"):
        data_root()
    monkeypatch.setenv("CLASSIC_DATA", str(tmp_path / "asc"))
    assert data_root() == tmp_path / "asc"
    with pytest.raises(InputError, match="Speaker"):
        load_domain("Speaker")


@pytest.mark.parametrize("separator", ["\t", " "])
def test_orders_with_tabs_or_spaces(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "orders"
    file.write_text(separator.join(["XuSemEval14_rest", "Bing9domains_ipod"]) + "\n\n")
    assert read_orders(file) == [["Rest", "Ipod"]]


@pytest.mark.parametrize(
    ("text", "line", "column"), [("rest\nrest pod", 2, 6), ("ipod rest ipod", 1, 11)], ids=["unknown", "twice"]
)
def test_wrong_orders_are_located(tmp_path: Path, text: str, line: int, column: int) -> None:
    file = tmp_path / "orders"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_orders(file)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_real_orders(asc19: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIC_DATA", str(asc19))
    orders = read_orders()
    assert len(orders) == 20
    assert all(sorted(each) == sorted(entry.name for entry in DOMAINS) for each in orders)
    assert [each[0] for each in orders[:5]] == ["Laptop", "CanonG3", "CanonD500", "CanonG3", "Norton"]
    assert [each[-1] for each in orders[:5]] == ["Router", "Laptop", "Creative", "Hitachi", "Speaker"]
    assert order(4) == orders[4]
    with pytest.raises(InputError, match="0 to 19"):
        order(20)


def test_real_domain(asc19: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIC_DATA", str(asc19))
    task = load_domain("ipod")
    assert (task.name, len(task.train), len(task.valid), len(task.test)) == ("Ipod", 153, 19, 20)
    assert task.classes == POLARITIES[:2]


@pytest.mark.parametrize("name", DEMO_DOMAINS)
def test_demo_domains(name: str) -> None:
    task = load_demo(name)
    for part, size in ((task.train, 150), (task.valid, 30), (task.test, 50)):
        assert abs(len(part) - size) <= 0.1 * size
        assert {example.polarity for example in part} == set(POLARITIES)
        for example in part:
            assert example.span is not None
            assert example.sentence[slice(*example.span)] == example.aspect
    assert check(task).findings == ()


def test_unknown_demo() -> None:
    with pytest.raises(InputError, match="did you mean 'headphones'"):
        load_demo("headphone")
