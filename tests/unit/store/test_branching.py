"""A branch learns on its own; the store takes over what it learned, or nothing."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from classic.errors import DiskError, StoreError
from classic.learning.teach import teach
from classic.store.store import Store
from classic.types import Task

Tasks = tuple[Task, ...]


@pytest.fixture
def learned(taught_store: Path, toy_tasks: Tasks, tmp_path: Path) -> tuple[Store, Store, str]:
    """A store, its branch that learned a fourth domain, and the digest of what it learned."""
    store = Store.open(taught_store)
    branch = store.branch(tmp_path / "branch")
    teach(branch, toy_tasks[3])
    return store, branch, branch.digest()


def test_what_a_branch_learns_is_not_in_use(learned: tuple[Store, Store, str], taught_path: Path) -> None:
    store, branch, _ = learned
    assert store.current == 3 and store.verify() == Store.open(taught_path).verify()
    assert branch.current == 4 and branch.verify()


def test_an_adopted_version_is_the_one_the_store_would_have_learned(
    learned: tuple[Store, Store, str], taught_path: Path, toy_tasks: Tasks, tmp_path: Path
) -> None:
    store, branch, digest = learned
    assert store.adopt(branch, 4, digest).domain == toy_tasks[3].name
    import shutil

    plain = Store.open(shutil.copytree(taught_path, tmp_path / "plain"))
    teach(plain, toy_tasks[3])
    assert store.current == 4 and store.verify() == plain.verify() == digest


def test_adopting_twice_is_adopting_once(learned: tuple[Store, Store, str]) -> None:
    store, branch, digest = learned
    store.adopt(branch, 4, digest)
    assert store.adopt(branch, 4, digest).number == 4  # the pointer stands there
    store.rollback(3)
    assert store.adopt(branch, 4, digest).number == 4  # as if the kill had come before the pointer's move
    assert store.verify() == digest


def test_a_store_that_moved_on_adopts_nothing(learned: tuple[Store, Store, str]) -> None:
    store, branch, digest = learned
    store.rollback(2)
    with pytest.raises(StoreError, match="moved on"):
        store.adopt(branch, 4, digest)
    assert store.current == 2 and store.numbers() == [0, 1, 2, 3]
    assert branch.verify() == digest  # nothing was taken from it


def test_another_version_of_the_same_number_is_not_taken_for_it(
    learned: tuple[Store, Store, str], toy_tasks: Tasks
) -> None:
    store, branch, digest = learned
    other = Task("other", toy_tasks[3].train, toy_tasks[3].valid)
    teach(store, other)
    store.rollback(3)
    with pytest.raises(StoreError, match="moved on"):
        store.adopt(branch, 4, digest)
    assert store.current == 3


def test_a_damaged_version_is_not_adopted(learned: tuple[Store, Store, str]) -> None:
    store, branch, digest = learned
    file = branch.path / "versions" / "0004" / "delta.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        store.adopt(branch, 4, digest)
    assert store.current == 3 and store.numbers() == [0, 1, 2, 3]


def test_a_branch_shares_files_and_keeps_no_scraps(taught_store: Path, tmp_path: Path) -> None:
    store = Store.open(taught_store)
    (taught_store / "versions" / ".0004.scrap").mkdir()
    branch = store.branch(tmp_path / "branch")
    assert branch.numbers() == [0, 1, 2, 3] and not list((branch.path / "versions").glob(".*"))
    name = Path("versions") / "0002" / "delta.safetensors"
    assert (branch.path / name).samefile(store.path / name)


def test_a_branch_that_finds_no_room_says_so_and_leaves_nothing(
    taught_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where files cannot have a second name they are copied; what `copytree` gathers of many copies has no reason in it."""

    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", target)

    monkeypatch.setattr("classic.store.store.os.link", refuse)
    monkeypatch.setattr("classic.store.store.shutil.copyfile", full)
    with pytest.raises(DiskError, match="no space left on device"):
        Store.open(taught_store).branch(tmp_path / "branch")
    assert not (tmp_path / "branch").exists()


def test_a_branch_that_holds_another_version_than_was_promised_gives_nothing(learned: tuple[Store, Store, str]) -> None:
    store, branch, digest = learned
    with pytest.raises(StoreError):
        store.adopt(branch, 4, "0" * 64)
    assert store.numbers() == [0, 1, 2, 3] and store.current == 3  # not even moved and then refused
    assert branch.verify() == digest
