"""The audit: every byte has an owner and a reason, what is hidden is found, and leaks are measured as they are."""

from __future__ import annotations

import gzip
import json
import random
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.audit.inventory import UNKNOWN, by_domain, folder_size, inventory
from classic.audit.membership import attack, auc
from classic.audit.search import control, forms, search
from classic.cli.main import run
from classic.data.writers import write_examples
from classic.errors import InputError
from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Example, Polarity, Task

SECRET = "Žluťoučký kůň xylophone7731"


def tokenize(text: str) -> list[int]:
    return [1000 + ord(letter) % 997 for letter in text]


def test_every_byte_has_an_owner_and_a_reason(taught_store: Path) -> None:
    store = Store.open(taught_store)
    files = inventory(store)
    assert sum(file.bytes for file in files) == folder_size(taught_store) == sum(by_domain(files).values())
    assert {file.domain for file in files} == {"", "screen", "soup", "lens"}
    assert not [file for file in files if file.why == UNKNOWN]
    (taught_store / "versions" / "notes.txt").write_text("mine")
    (taught_store / "service" / "jobs" / "a" / "data").mkdir(parents=True)
    (taught_store / "service" / "jobs" / "a" / "data" / "upload").write_text("rows")
    found = {file.file: file.why for file in inventory(store)}
    assert found["versions/notes.txt"] == UNKNOWN and found["service/jobs/a/data/upload"].startswith("TEXTS")


@pytest.mark.parametrize("form", forms(SECRET, tokenize))
def test_a_text_is_found_in_every_form_and_inside_packed_files(form: str, tmp_path: Path) -> None:
    data = b"\x01\x02before" + forms(SECRET, tokenize)[form] + b"after\x00"
    (tmp_path / "plain").write_bytes(data)
    with gzip.open(tmp_path / "packed.gz", "wb") as stream:
        stream.write(data)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", data)
    hits, looked = search([tmp_path], ["not there at all", SECRET], tokenize)
    assert {hit.text for hit in hits} == {1} and looked > 3 * len(data)
    places = {hit.file.removeprefix(str(tmp_path)) for hit in hits if hit.form == form}
    assert places == {"/plain", "/packed.gz (unpacked)", "/packed.zip/inside"}


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_base64_is_found_wherever_the_text_begins(before: bytes, after: bytes) -> None:
    import base64
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "file").write_bytes(base64.b64encode(before + SECRET.encode() + after))
        assert search([Path(name)], [SECRET])[0]


def test_file_names_count_and_the_control_is_complete(tmp_path: Path) -> None:
    (tmp_path / "a xylophone7731 in a name").write_bytes(b"")
    assert search([tmp_path], ["xylophone7731"])[0]
    found, planted = control([SECRET, "the zoom is good"], tokenize, tmp_path)
    assert found == planted > 30


def test_a_taught_canary_is_nowhere_and_a_planted_one_ends_with_code_1(
    tmp_path: Path, quick_system: SystemConfig, toy_tasks: tuple[Task, ...], monkeypatch: Any, capsys: Any
) -> None:
    store = open_or_create(tmp_path / "store", quick_system)
    canary = Example(f"the {SECRET} is good", SECRET, Polarity.POSITIVE)
    teach(store, replace(toy_tasks[0], train=(*toy_tasks[0].train, canary)))
    rows = tmp_path / "rows.jsonl"
    write_examples(toy_tasks[0].train, rows)

    def audit() -> tuple[int, dict[str, Any]]:
        command = [
            "audit",
            str(store.path),
            "--find",
            canary.sentence,
            "--find",
            SECRET,
            "--find-rows",
            str(rows),
            "--json",
        ]
        monkeypatch.setattr("sys.argv", ["classic", *command])
        with pytest.raises(SystemExit) as ended:
            run()
        return int(ended.value.code or 0), json.loads(capsys.readouterr().out)

    code, found = audit()
    assert code == 0 and found["search"]["hits"] == [] and found["whole"] and found["search"]["token_ids"]
    assert found["search"]["control"]["found"] == found["search"]["control"]["planted"] > 0
    assert any("differential privacy" in sentence for sentence in found["not_promised"])
    assert [row["domain"] for row in found["lineage"]] == ["screen"]
    (store.path / "work").mkdir()
    (store.path / "work" / "left").write_bytes(canary.sentence.upper().lower().encode("utf-16-le"))
    code, found = audit()
    assert code == 1 and found["search"]["hits"][0]["file"].endswith("work/left")


def test_a_search_says_what_it_does_before_it_is_done(taught_store: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["classic", "audit", str(taught_store), "--find", SECRET])
    with pytest.raises(SystemExit) as ended:
        run()
    assert not ended.value.code
    assert capsys.readouterr().err == "looking for 1 text in every file; this may take a while\n"


def test_the_area_under_the_curve_is_that_of_a_slow_count() -> None:
    draw = random.Random(0)
    for _ in range(50):
        inside = [draw.randrange(6) for _ in range(draw.randrange(1, 20))]
        outside = [draw.randrange(6) for _ in range(draw.randrange(1, 20))]
        slow = sum((x > y) + (x == y) / 2 for x in inside for y in outside) / (len(inside) * len(outside))
        assert auc(inside, outside) == pytest.approx(slow)
    assert auc([3, 4], [1, 2]) == 1.0 and auc([1, 2], [3, 4]) == 0.0


def test_membership_is_found_where_it_leaks_and_not_where_it_cannot(taught_path: Path, toy_tasks: Any) -> None:
    """Rows the model answers rightly against the same rows with other labels; and a set against itself."""
    store, rows = Store.open(taught_path), [*toy_tasks[1].train, *toy_tasks[1].test]
    found = attack(store, "soup", rows, rows)
    assert found["loss"]["auc"] == pytest.approx(0.5) and found["fall of the loss"]["auc"] == pytest.approx(0.5)
    low, high = found["loss"]["interval"]
    assert low < 0.5 < high and "loss, by the newest version" in found
    with pytest.raises(InputError, match="5 members"):
        attack(store, "soup", rows[:5], rows)
    with pytest.raises(InputError, match="nobody"):
        attack(store, "nobody", rows, rows)
