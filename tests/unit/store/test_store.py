"""A store: immutable versions, one pointer, damage found before it is used, crashes without traces."""

from __future__ import annotations

import ast
import json
import multiprocessing
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import classic
from classic.errors import InputError, StoreError
from classic.files import json_bytes, sha256
from classic.learning.teach import teach
from classic.store.manifest import CONTENT
from classic.store.store import Store
from classic.types import Task

VERSION_FILES = (*CONTENT, "manifest.json")


def make_store(path: Path, versions: int = 3) -> Store:
    """A store of a few numbers, without any network."""
    store = Store.create(path, {"system": {"method": "toy"}, "seed": 0}, {"whole/w": torch.zeros(8, 4)})
    for number in range(1, versions + 1):
        publish(store, f"domain{number}", number)
    return store


def publish(store: Store, name: str, value: float) -> int:
    tensors = {key: tensor.clone() for key, tensor in store.tensors().items()}
    tensors["w"][int(value) % 8] = value
    record = {"domain": name, "domains": [*store.domains(), name], "value": value}
    with store.lock():
        return store.publish(tensors, record, {"seconds": 1.0}, f"# {name}\n").number


def tree(path: Path) -> dict[str, bytes]:
    """Every file of a store but the lock."""
    files = (file for file in path.rglob("*") if file.is_file() and file.name != "lock")
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def use_all(path: Path) -> None:
    """All that a prediction reads."""
    store = Store.open(path)
    store.chain()
    store.card()
    store.tensors()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("plain") / "plain.store").path


@pytest.fixture
def store(tmp_path: Path, plain: Path) -> Store:
    return Store.open(shutil.copytree(plain, tmp_path / "plain.store"))


# --- growing, going back, cleaning up --------------------------------------------------------------------------------


def test_versions_grow_one_from_another_and_keep_only_what_changed(store: Store) -> None:
    assert (store.current, store.numbers()) == (3, [0, 1, 2, 3])
    assert store.domains() == ["domain1", "domain2", "domain3"]
    assert store.domains(2) == ["domain1", "domain2"]
    assert [version.parent for version in store.chain()] == [0, 1, 2]
    for number in range(4):
        expected = torch.zeros(8, 4)
        for row in range(1, number + 1):
            expected[row] = row
        assert torch.equal(store.tensors(number)["w"], expected)
    from safetensors.torch import load_file

    stored = load_file(store.path / "versions" / "0003" / "delta.safetensors")
    assert {name: tuple(tensor.shape) for name, tensor in stored.items()} == {"rows/w": (1, 4), "rows.at/w": (1,)}


def test_a_new_version_changes_no_file_but_the_pointer(store: Store) -> None:
    before = tree(store.path)
    publish(store, "domain4", 4)
    after = tree(store.path)
    assert {name for name in before if before[name] != after[name]} == {"current"}
    assert all(name.startswith("versions/0004/") for name in after.keys() - before.keys())


def test_reading_changes_nothing(store: Store) -> None:
    before = tree(store.path)
    use_all(store.path)
    store.verify()
    store.digest()
    store.read_scores(3)
    assert tree(store.path) == before


def test_equal_stores_have_equal_digests_and_others_do_not(tmp_path: Path, plain: Path) -> None:
    again = make_store(tmp_path / "again")
    assert again.digest() == Store.open(plain).digest() == again.verify()
    assert len({again.digest(number) for number in range(4)}) == 4
    other = Store.create(tmp_path / "other", {"system": {"method": "toy"}, "seed": 1}, {"whole/w": torch.zeros(8, 4)})
    assert other.digest() != again.digest(0)


def test_rollback_brings_back_the_very_bytes(store: Store) -> None:
    before, digest = tree(store.path), store.digest(1)
    store.rollback(1)
    assert (store.current, store.domains(), store.digest()) == (1, ["domain1"], digest)
    assert store.numbers() == [0, 1, 2, 3]
    store.rollback(3)
    assert tree(store.path) == before


def test_rollback_to_a_version_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="no version 7"):
        store.rollback(7)
    assert store.current == 3


def test_rollback_never_points_at_a_damaged_version(store: Store) -> None:
    (store.path / "versions" / "0001" / "delta.safetensors").write_bytes(b"")
    for number in (1, 2):
        with pytest.raises(StoreError, match=r"0001/delta\.safetensors"):
            store.rollback(number)
    assert store.current == 3
    store.rollback(0)


def test_a_branch_grows_beside_what_a_rollback_left(store: Store) -> None:
    store.rollback(1)
    assert publish(store, "other", 5) == 4
    assert store.domains() == ["domain1", "other"]
    assert store.version().parent == 1
    assert store.domains(3) == ["domain1", "domain2", "domain3"]
    store.verify()


def test_prune_leaves_a_store_that_never_learned_the_domain(store: Store, tmp_path: Path) -> None:
    short = make_store(tmp_path / "short", versions=1)
    for number in (1, 2, 3):
        store.write_scores(number, {f"domain{number}": {"pairs": [[0, 0, 1]]}})
    store.checkpoint.parent.mkdir()
    store.checkpoint.write_bytes(b"moments of domain3")
    store.rollback(1)
    assert store.prune() == [2, 3]
    left = tree(store.path)
    assert left.pop("scores/0001.json")
    assert left == tree(short.path)
    assert not any(word in data for data in left.values() for word in (b"domain2", b"domain3"))
    assert publish(store, "next", 6) == 2


def test_prune_forgets_the_exports_of_what_is_gone(store: Store) -> None:
    """They are made for quick answers, and hold the weights of every domain up to theirs."""
    for number in (1, 2):
        (store.path / "exports" / f"{number:04d}").mkdir(parents=True)
        (store.path / "exports" / f"{number:04d}" / "model.onnx").write_bytes(b"weights")
    store.rollback(1)
    assert store.prune() == [2, 3]
    assert [entry.name for entry in (store.path / "exports").iterdir()] == ["0001"]


def test_a_prune_that_was_killed_can_be_finished(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.rollback(1)
    publish(store, "other", 5)
    for number in store.numbers():
        store.write_scores(number, {"kept": {"pairs": []}})
    calls = []

    def killed(path: Path, *_: Any, **__: Any) -> None:
        calls.append(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            store.prune()
    assert calls
    assert store.verify()
    store.prune()
    assert sorted(entry.name for entry in (store.path / "versions").iterdir()) == ["0000", "0001", "0004"]
    assert sorted(entry.name for entry in (store.path / "scores").iterdir()) == ["0000.json", "0001.json", "0004.json"]


def test_the_same_taught_again_after_a_rollback_is_the_same_version(store: Store) -> None:
    digest = store.digest()
    store.rollback(2)
    assert publish(store, "domain3", 3) == 3
    assert store.digest() == digest


def test_a_damaged_twin_is_not_taken_for_the_new_version(store: Store) -> None:
    store.rollback(2)
    (store.path / "versions" / "0003" / "delta.safetensors").write_bytes(b"")
    assert publish(store, "domain3", 3) == 4
    store.tensors()


def test_scores_are_kept_by_version(store: Store) -> None:
    assert store.read_scores(2) == {}
    store.write_scores(2, {"a": {"pairs": [[0, 1, 2]]}})
    assert store.read_scores(2) == {"a": {"pairs": [[0, 1, 2]]}}
    assert store.read_scores(3) == {}


# --- making and opening ----------------------------------------------------------------------------------------------


def test_what_is_no_store_is_not_opened(tmp_path: Path) -> None:
    assert not Store.exists(tmp_path)
    with pytest.raises(StoreError, match=r"no store\.json"):
        Store.open(tmp_path)


@pytest.mark.parametrize("content", ["notes.txt", "versions/0001/delta.safetensors", "versions/mine.txt"])
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, content: str) -> None:
    file = tmp_path / "folder" / content
    file.parent.mkdir(parents=True)
    file.write_text("precious")
    with pytest.raises(StoreError, match="no store"):
        make_store(tmp_path / "folder")
    assert tree(tmp_path / "folder") == {content: b"precious"}


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(StoreError, match="not a folder"):
        make_store(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


def test_a_store_that_lost_its_settings_is_not_made_anew(store: Store) -> None:
    (store.path / "store.json").unlink()
    before = tree(store.path)
    with pytest.raises(StoreError, match="exists"):
        make_store(store.path)
    assert tree(store.path) == before


@pytest.mark.parametrize("step", ["_write_version", "_point", "write_json"])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_making_a_store_can_be_cut_short_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, done: bool
) -> None:
    owner: Any = sys.modules[Store.__module__] if step == "write_json" else Store
    real = getattr(owner, step)

    def cut(*arguments: Any) -> None:
        if done:
            real(*arguments)
        raise KeyboardInterrupt

    path = tmp_path / "new.store"
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, cut)
        with pytest.raises(KeyboardInterrupt):
            make_store(path, 0)
    store = Store.open(path) if Store.exists(path) else make_store(path, 0)
    assert store.verify() == make_store(tmp_path / "whole", 0).digest()


@pytest.mark.parametrize("form", [0, 2, 99, "1", None])
def test_another_format_is_refused_by_name(store: Store, form: object) -> None:
    file = store.path / "store.json"
    file.write_bytes(json_bytes(json.loads(file.read_bytes()) | {"format": form}))
    with pytest.raises(StoreError, match="store format"):
        Store.open(store.path)


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERSION_FILES)
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "longer", "zeros", "of another version"])
def test_damage_of_a_version_is_found_before_use_and_named(store: Store, number: int, name: str, damage: str) -> None:
    file = store.path / "versions" / f"{number:04d}" / name
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        other = store.path / "versions" / "0002" / name
        changed = {
            "empty": b"",
            "cut": data[: len(data) // 2],
            "longer": data + b"\n",
            "zeros": bytes(len(data)),
            "of another version": other.read_bytes(),
        }
        file.write_bytes(changed[damage])
    for use in (lambda: use_all(store.path), lambda: Store.open(store.path).verify()):
        with pytest.raises(StoreError, match=name.replace(".", r"\.")):
            use()


@given(data=st.data())
@settings(max_examples=150)
def test_no_flipped_bit_is_ever_loaded(plain: Path, data: st.DataObject) -> None:
    places = [f"versions/{number:04d}/{name}" for number in range(4) for name in VERSION_FILES]
    file = plain / data.draw(st.sampled_from([*places, "store.json", "current"]))
    whole = file.read_bytes()
    damaged = bytearray(whole)
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    try:
        file.write_bytes(damaged)
        with pytest.raises(StoreError, match=file.name.replace(".", r"\.")):
            use_all(plain)
        with pytest.raises(StoreError, match=file.name.replace(".", r"\.")):
            Store.open(plain).verify()
    finally:
        file.write_bytes(whole)


def test_every_bit_of_a_manifest_and_of_the_pointer_counts(plain: Path) -> None:
    for file in (plain / "versions" / "0003" / "manifest.json", plain / "current"):
        whole = file.read_bytes()
        try:
            for place in range(len(whole)):
                damaged = bytearray(whole)
                damaged[place] ^= 1 << (place % 8)
                file.write_bytes(damaged)
                with pytest.raises(StoreError):
                    Store.open(plain).tensors()
        finally:
            file.write_bytes(whole)


def test_two_swapped_versions_are_found(store: Store) -> None:
    folder = store.path / "versions"
    (folder / "0001").rename(folder / "swap")
    (folder / "0002").rename(folder / "0001")
    (folder / "swap").rename(folder / "0002")
    with pytest.raises(StoreError, match=r"manifest\.json"):
        use_all(store.path)


def test_a_version_of_another_store_is_found(store: Store, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other", 0)
    publish(other, "foreign", 7)
    shutil.rmtree(store.path / "versions" / "0001")
    shutil.copytree(other.path / "versions" / "0001", store.path / "versions" / "0001")
    with pytest.raises(StoreError, match="grew from another version 1"):
        use_all(store.path)


def test_a_version_that_names_itself_as_its_parent_does_not_hang(store: Store) -> None:
    folder = store.path / "versions" / "0003"
    record = json.loads((folder / "record.json").read_bytes()) | {"parent": 3}
    (folder / "record.json").write_bytes(json_bytes(record))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    promise = {"sha256": sha256(folder / "record.json"), "bytes": (folder / "record.json").stat().st_size}
    manifest["files"]["record.json"], manifest["parent"]["number"] = promise, 3
    (folder / "manifest.json").write_bytes(json_bytes(manifest))
    store._point(3)
    with pytest.raises(StoreError, match=r"0003/manifest\.json"):
        store.chain()


@pytest.mark.parametrize("content", [b"\x80\x04cos\nsystem\n", b"PK\x03\x04", b"\x10" + bytes(7) + b'{"a":'])
def test_a_delta_that_is_no_safetensors_is_refused_though_its_sums_are_right(store: Store, content: bytes) -> None:
    folder = store.path / "versions" / "0003"
    (folder / "delta.safetensors").write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    promise = {"sha256": sha256(folder / "delta.safetensors"), "bytes": len(content)}
    manifest["files"]["delta.safetensors"] = promise
    (folder / "manifest.json").write_bytes(json_bytes(manifest))
    store._point(3)
    with pytest.raises(StoreError, match=r"0003/delta\.safetensors holds no model"):
        store.tensors()


def test_no_line_of_the_package_can_run_what_a_file_says() -> None:
    """Weights are safetensors and settings are JSON; nothing that unpickles or evaluates is even imported."""
    names = {"eval", "exec", "compile", "__import__"}
    options = {"trust_remote_code", "allow_pickle"}
    modules = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"}
    found = []
    for file in Path(classic.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in names | {"torch.load", "np.load", "numpy.load", "torch.jit.load", "torch.hub.load"}:
                    found.append(f"{file.name}: {called}")
                found += [f"{file.name}: {option.arg}" for option in node.keywords if option.arg in options]
            imported = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{file.name}: {name}" for name in imported if name.partition(".")[0] in modules]
    assert found == []


def test_an_extra_file_is_found_by_verify(store: Store) -> None:
    (store.path / "versions" / "0002" / "notes.txt").write_text("x")
    with pytest.raises(StoreError, match=r"0002 holds files .*notes\.txt"):
        store.verify()


@pytest.mark.parametrize("name", ["0009", "copy of 0003", "3"])
def test_an_extra_folder_is_found_by_verify(store: Store, name: str) -> None:
    (store.path / "versions" / name).mkdir()
    with pytest.raises(StoreError, match=name):
        store.verify()


@pytest.mark.parametrize("name", ["versions/0002/run.json", "scores/0002.json"])
def test_what_only_informs_may_be_damaged_without_harm_and_verify_names_it(store: Store, name: str) -> None:
    """Cut, flipped or missing: as good as not there, and never another value. `verify` said whole, and nothing worked."""
    store.write_scores(2, {"a": {"pairs": [[0, 1, 2]]}})
    file = store.path / name
    whole, draw = file.read_bytes(), random.Random(3)
    known = (store.version(2).run, store.read_scores(2))
    for _ in range(200):
        place = draw.randrange(len(whole))
        cut, bit = whole[:place], bytes([whole[place] ^ 1 << draw.randrange(8)])
        file.write_bytes(draw.choice([cut, cut + bit + whole[place + 1 :]]))
        with pytest.raises(StoreError, match=name):
            store.verify()
        store.tensors()
        found = (store.version(2).run, store.read_scores(2))
        assert found in ((known[0], {}), ({}, known[1]))
    file.unlink()
    store.verify()
    assert (store.version(2).run, store.read_scores(2)) in ((known[0], {}), ({}, known[1]))


def test_scores_of_a_version_that_had_the_same_number_are_not_taken_for_its_own(store: Store) -> None:
    store.write_scores(3, {"a": {"pairs": [[0, 1, 2]]}})
    kept = (store.path / "scores" / "0003.json").read_bytes()
    store.rollback(2)
    store.prune()
    assert publish(store, "another", 5) == 3
    (store.path / "scores" / "0003.json").write_bytes(kept)  # as a backup brings it back
    assert store.read_scores(3) == {}


@pytest.mark.parametrize("content", [None, b"", b"x\n", b"3", b"-1\n", b"3 abc\n", b"2\n\n", b"9\n", "３\n".encode()])
def test_a_damaged_pointer_is_one_clear_error_and_rollback_mends_it(store: Store, content: bytes | None) -> None:
    pointer, digest = store.path / "current", store.digest()
    if content is None:
        pointer.unlink()
    else:
        pointer.write_bytes(content)
    for use in (store.tensors, store.verify, store.domains):
        with pytest.raises(StoreError, match="current"):
            use()
    store.rollback(3)
    assert store.verify() == digest


def test_damage_of_the_newest_version_leaves_the_older_ones_usable(store: Store) -> None:
    for file in (store.path / "versions" / "0003").iterdir():
        file.write_bytes(b"\x00")
    store.rollback(2)
    assert store.domains() == ["domain1", "domain2"]
    assert publish(store, "domain3", 3) == 4
    store.prune()
    assert store.numbers() == [0, 1, 2, 4]
    store.verify()


# --- one writer ------------------------------------------------------------------------------------------------------


@contextmanager
def held_by_another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    code = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX)"
    code += "; print('held', flush=True); input()"
    command = [sys.executable, "-c", code, str(path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder
        finally:
            holder.kill()


def test_a_busy_store_is_one_clear_error_and_still_answers(store: Store, toy_tasks: tuple[Task, ...]) -> None:
    before = tree(store.path)
    changes: tuple[Callable[[], object], ...] = (
        lambda: publish(store, "domain4", 4),
        lambda: store.rollback(1),
        store.prune,
        lambda: teach(store, toy_tasks[0]),
    )
    with held_by_another_process(store.path):
        for change in changes:
            with pytest.raises(StoreError, match="busy"):
                change()
        use_all(store.path)
        store.verify()
        assert tree(store.path) == before
    publish(store, "domain4", 4)


def test_the_lock_of_a_killed_process_is_free_again(store: Store) -> None:
    with held_by_another_process(store.path) as holder:
        holder.kill()
        holder.wait()
        store.rollback(1)


def _roll(path: Path, seed: int, results: Any) -> None:
    draw = random.Random(seed)
    for _ in range(25):
        try:
            Store.open(path).rollback(draw.randint(0, 3))
            results.put("done")
        except StoreError as error:
            results.put("busy" if "busy" in str(error) else str(error))


def test_many_writers_at_once_leave_a_whole_store(store: Store) -> None:
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    writers = [context.Process(target=_roll, args=(store.path, seed, results)) for seed in range(4)]
    for writer in writers:
        writer.start()
    found = [results.get() for _ in range(100)]
    for writer in writers:
        writer.join()
    assert set(found) <= {"done", "busy"}
    assert "done" in found
    store.verify()
    assert store.current in range(4)


# --- crashes in the middle of teaching -------------------------------------------------------------------------------


@contextmanager
def cut_short(monkeypatch: pytest.MonkeyPatch, step: str) -> Iterator[None]:
    """The process dies where the store would begin with a step."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, step, die)
        yield


def test_a_crash_before_the_pointer_moves_publishes_the_same_version_next_time(
    taught_store: Path, tmp_path: Path, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Store.open(shutil.copytree(taught_store, tmp_path / "whole.store"))
    teach(whole, toy_tasks[3])
    store, before = Store.open(taught_store), Store.open(taught_store).digest()
    with cut_short(monkeypatch, "_point"):
        teach(store, toy_tasks[3])
    assert (store.current, store.digest(), store.numbers()[-1]) == (3, before, 4)
    assert store.verify() == before
    assert store.checkpoint.is_file()
    version, _ = teach(store, toy_tasks[3])
    assert (version.number, store.numbers()) == (4, [0, 1, 2, 3, 4])
    assert store.verify() == whole.digest()
    assert not store.checkpoint.parent.exists()


def test_a_crash_before_the_work_is_discarded_finds_it_done_next_time(
    taught_store: Path, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(taught_store)
    with cut_short(monkeypatch, "discard_work"):
        teach(store, toy_tasks[3])
    assert (store.current, store.checkpoint.is_file()) == (4, True)
    digest = store.verify()
    version, learner = teach(store, toy_tasks[3])
    assert version.number == 4
    assert learner.domains == [task.name for task in toy_tasks]
    assert not store.checkpoint.parent.exists()
    assert store.verify() == digest


def test_what_a_killed_writer_left_is_swept_and_never_counted(taught_store: Path, toy_tasks: tuple[Task, ...]) -> None:
    store = Store.open(taught_store)
    half = store.path / "versions" / ".0004.0123456789abcdef"
    half.mkdir()
    (half / "delta.safetensors").write_bytes(b"half")
    (store.path / ".current.tmp").write_bytes(b"4")
    store.verify()
    version, _ = teach(store, toy_tasks[3])
    assert version.number == 4
    assert not half.exists()
    store.verify()


@pytest.mark.parametrize("damage", ["whole", "cut", "flipped"])
def test_a_damaged_checkpoint_costs_time_never_the_result(
    taught_store: Path, tmp_path: Path, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    whole = Store.open(shutil.copytree(taught_store, tmp_path / "whole.store"))
    teach(whole, toy_tasks[3])
    store = Store.open(taught_store)
    with cut_short(monkeypatch, "publish"):
        teach(store, toy_tasks[3])
    data = bytearray(store.checkpoint.read_bytes())
    data[-5] ^= damage == "flipped"
    store.checkpoint.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    teach(store, toy_tasks[3])
    assert store.verify() == whole.digest()


# --- any sequence of changes -----------------------------------------------------------------------------------------


class AnyChanges(RuleBasedStateMachine):
    """A store against a dictionary: whatever is done to both, they agree."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = make_store(Path(self.folder.name) / "s", 0)
        self.known: dict[int, list[float]] = {0: []}
        self.current = 0

    @rule(value=st.integers(1, 9))
    def grow(self, value: int) -> None:
        learned = [*self.known[self.current], value]
        number = publish(self.store, f"domain{value}", value)
        assert self.known.get(number, learned) == learned, "a version was overwritten"
        self.known[number], self.current = learned, number

    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        self.current = data.draw(st.sampled_from(sorted(self.known)))
        self.store.rollback(self.current)

    @rule()
    def clean_up(self) -> None:
        for number in self.store.prune():
            del self.known[number]

    @rule()
    def open_again(self) -> None:
        self.store = Store.open(self.store.path)

    @invariant()
    def agrees(self) -> None:
        assert (self.store.current, self.store.numbers()) == (self.current, sorted(self.known))
        expected = torch.zeros(8, 4)
        for value in self.known[self.current]:
            expected[value % 8] = value
        assert torch.equal(self.store.tensors()["w"], expected)
        assert self.store.domains() == [f"domain{value}" for value in self.known[self.current]]
        self.store.verify()

    def teardown(self) -> None:
        self.folder.cleanup()


TestAnyChanges = AnyChanges.TestCase
TestAnyChanges.settings = settings(max_examples=15, stateful_step_count=12)
