"""A version's finder: kept beside its model, checked before it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from classic.errors import StoreError
from classic.store.manifest import FINDER
from classic.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Version 1 has a finder, version 2 has none."""
    store = Store.create(tmp_path / "a.store", {"system": {"method": "toy"}, "seed": 0}, {"whole/w": torch.zeros(4, 2)})
    with store.lock():
        for number in (1, 2):
            finder = {"find": torch.arange(3.0)} if number == 1 else None
            record = {"domain": f"d{number}", "domains": [f"d{each}" for each in range(1, number + 1)]}
            store.publish({"w": torch.full((4, 2), float(number))}, record, {}, "# card\n", finder)
    return store


def test_a_finder_comes_back_as_it_was_given(store: Store) -> None:
    found = store.finder(1)
    assert found is not None and list(found) == ["find"] and torch.equal(found["find"], torch.arange(3.0))
    assert store.finder() is None and store.finder(2) is None and store.finder(0) is None
    store.rollback(1)
    assert store.finder() is not None


def test_a_damaged_finder_is_refused(store: Store) -> None:
    file = store.path / "versions" / "0001" / FINDER
    data = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(StoreError, match="finder"):
        store.finder(1)
