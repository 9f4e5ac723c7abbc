"""The nightly stages in small, each with a proof that it can fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reliability import crowd, damage, faults, power


def test_no_power_cut_leaves_anything_but_the_old_version_or_the_new() -> None:
    found = power.run(states=40)
    assert found["states"] == 160 and found["operations"] > 30 and found["illegal"] == []


@pytest.mark.parametrize("forgotten", ["files", "folders"])
def test_a_store_that_forgets_to_sync_is_found_out(forgotten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(path: Path, data: bytes) -> None:
        path.write_bytes(data)

    if forgotten == "files":
        monkeypatch.setattr("classic.files.write_synced", careless)
        monkeypatch.setattr("classic.store.store.write_synced", careless)
    else:
        for name in ("classic.files.sync_folder", "classic.store.store.sync_folder"):
            monkeypatch.setattr(name, lambda _: None)
    assert power.run(states=40)["illegal"]


def test_damage_of_any_file_is_found_or_harmless() -> None:
    found = damage.run(each=25)
    assert found["files"] == 18 and found["silent"] == [] and found["found"] > 250 and found["harmless"] > 10


def test_damage_that_is_not_looked_for_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classic.store.versions.check_file", lambda *_: None)
    assert damage.run(each=25)["silent"]


def test_a_clock_that_jumps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults.clock(runs=10)["different"] == []
    import time

    from classic.store.store import Store

    numbers: Any = Store.numbers
    monkeypatch.setattr(Store, "numbers", lambda self: numbers(self) if time.time() < 1.9e9 else numbers(self)[:-1])
    with pytest.raises(Exception):  # noqa: B017 - a store that reads the clock goes wrong in one way or another
        assert faults.clock(runs=10)["different"] == []


def test_many_processes_change_one_store_and_nothing_is_lost() -> None:
    found = crowd.run(sequences=3, steps=12, processes=3)
    assert found["violations"] == [] and found["done"] > 20, found


def test_a_store_without_its_lock_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from classic.store import store

    monkeypatch.setattr(store.fcntl, "flock", lambda *_: None)
    assert crowd.run(sequences=3, steps=20, processes=4)["violations"]
