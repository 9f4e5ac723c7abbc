"""Packed stores: whole on the other side, or refused without a trace."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from classic.errors import ClassicError, InputError, StoreError
from classic.files import json_bytes, sha256
from classic.learning.teach import teach
from classic.store.archive import pack, unpack
from classic.store.manifest import CONTENT
from classic.store.store import Store
from classic.types import Task

Entries = list[tuple[str, bytes]]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, taught_path: Path) -> Path:
    file = tmp_path_factory.mktemp("packed") / "toy.packed"
    pack(Store.open(taught_path), file)
    return file


@pytest.fixture(scope="module")
def entries(packed: Path) -> Entries:
    with zipfile.ZipFile(packed) as archive:
        return [(entry.filename, archive.read(entry)) for entry in archive.infolist()]


def write(file: Path, entries: Entries, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file


# --- there and back --------------------------------------------------------------------------------------------------


def test_an_unpacked_store_is_the_same_store_and_learns_on_to_the_same_bytes(
    packed: Path, taught_store: Path, tmp_path: Path, toy_tasks: tuple[Task, ...]
) -> None:
    original = Store.open(taught_store)
    other = unpack(packed, tmp_path / "other", expect=original.digest().upper())
    assert other.verify() == original.digest()
    assert (other.path, other.domains()) == (tmp_path / "other", ["screen", "soup", "lens"])
    teach(original, toy_tasks[3])
    teach(other, toy_tasks[3])
    assert other.verify() == original.verify()


def test_equal_stores_give_equal_bytes_whenever_they_are_packed(
    packed: Path, taught_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 4e9)
    size = pack(Store.open(taught_store), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == packed.read_bytes()
    assert size == packed.stat().st_size
    unpack(tmp_path / "again", tmp_path / "other")
    pack(Store.open(tmp_path / "other"), tmp_path / "third")
    assert (tmp_path / "third").read_bytes() == packed.read_bytes()


def test_only_the_version_in_use_and_what_it_is_made_of_travel(taught_store: Path, tmp_path: Path) -> None:
    store = Store.open(taught_store)
    store.write_scores(1, {"a": {"pairs": []}})
    store.checkpoint.parent.mkdir()
    store.checkpoint.write_bytes(b"moments")
    (taught_store / "notes.txt").write_text("private")
    store.rollback(2)
    pack(store, tmp_path / "two.packed")
    with zipfile.ZipFile(tmp_path / "two.packed") as archive:
        names = set(archive.namelist())
    files = {f"versions/{n:04d}/{name}" for n in range(3) for name in (*CONTENT, "manifest.json", "run.json")}
    assert names == files | {"store.json", "current"}
    assert unpack(tmp_path / "two.packed", tmp_path / "other").domains() == ["screen", "soup"]


def test_a_damaged_store_is_not_packed(taught_store: Path, tmp_path: Path) -> None:
    (taught_store / "versions" / "0002" / "card.md").write_text("x")
    with pytest.raises(StoreError, match=r"0002/card\.md"):
        pack(Store.open(taught_store), tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_nothing_that_exists_is_replaced(packed: Path, taught_path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="exists"):
        pack(Store.open(taught_path), tmp_path / "file")
    with pytest.raises(InputError, match="exists"):
        unpack(packed, tmp_path / "folder")
    assert (tmp_path / "file").read_text() == "precious"


def test_places_that_do_not_exist_are_named(packed: Path, taught_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        pack(Store.open(taught_path), tmp_path / "no" / "file")
    with pytest.raises(InputError, match="there is no"):
        unpack(packed, tmp_path / "no" / "store")
    with pytest.raises(InputError, match="there is no"):
        unpack(tmp_path / "no.packed", tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


# --- hostile files ---------------------------------------------------------------------------------------------------


def refused(file: Path, tmp_path: Path, message: str | None = None, expect: str | None = None) -> None:
    """It is a StoreError, and nothing is left of it anywhere near."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match=message):
        unpack(file, tmp_path / "store", expect)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "../../store.json",
        "/tmp/evil",
        "versions/../../evil",
        "versions/0001/../../../evil",
        "versions/0001/evil.py",
        "versions/0001/delta.safetensors/x",
        "versions/01/record.json",
        "versions/٠٠٠١/record.json",
        "C:\\evil",
        "..\\evil",
        "Store.json",
        "work/checkpoint.safetensors",
        "lock",
        "versions/0001/",
        "store.json\n",
    ],
)
def test_a_name_that_is_not_on_the_list_is_refused(tmp_path: Path, entries: Entries, name: str) -> None:
    refused(write(tmp_path / "evil.zip", [*entries, (name, b"evil")]), tmp_path)
    refused(write(tmp_path / "evil.zip", [(name, b"evil"), *entries]), tmp_path)


def test_a_link_is_written_as_a_file_and_refused(tmp_path: Path, entries: Entries) -> None:
    (tmp_path / "target").write_text("precious")
    for linked in ("current", "versions/0001/delta.safetensors", "store.json"):
        file = tmp_path / "evil.zip"
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in entries:
                link = zipfile.ZipInfo(name)
                link.external_attr = (stat.S_IFLNK | 0o777) << 16
                archive.writestr(link if name == linked else name, str(tmp_path / "target") if name == linked else data)
        refused(file, tmp_path)
    assert (tmp_path / "target").read_text() == "precious"


def test_an_entry_that_is_there_twice_is_refused(tmp_path: Path, entries: Entries) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        file = write(tmp_path / "evil.zip", [*entries, entries[0]])
    refused(file, tmp_path, "not part of a store")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_bomb_is_refused_before_it_is_read(tmp_path: Path, entries: Entries, compression: int) -> None:
    bomb = [(name, bytes(10_000_000) if name.endswith("0001/delta.safetensors") else data) for name, data in entries]
    file = write(tmp_path / "bomb.zip", bomb, compression)
    assert file.stat().st_size < 1_000_000
    refused(file, tmp_path, "compressed")


def test_entries_that_share_their_bytes_are_refused(tmp_path: Path, entries: Entries) -> None:
    """A small file that claims to be large without any compression: all entries point at the same bytes."""
    file = tmp_path / "bomb.zip"
    names = [f"versions/{number:04d}/card.md" for number in range(1000, 1200)]
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
        archive.writestr("versions/0999/card.md", bytes(100_000))
        shared = archive.getinfo("versions/0999/card.md")
        for name in names:
            twin = zipfile.ZipInfo(name)
            for field in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(twin, field, getattr(shared, field))
            archive.filelist.append(twin)
            archive.NameToInfo[name] = twin
    refused(file, tmp_path, "claims to hold more")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(tmp_path: Path, packed: Path, share: float) -> None:
    data = packed.read_bytes()
    (tmp_path / "cut").write_bytes(data[: int(len(data) * share)])
    refused(tmp_path / "cut", tmp_path)


def test_a_flipped_bit_anywhere_is_refused_or_harmless(tmp_path: Path, packed: Path, taught_path: Path) -> None:
    """Headers of a zip have bits of no account (dates, attributes) and run.json is not signed; all else counts."""
    data, digest = packed.read_bytes(), Store.open(taught_path).digest()
    for place in range(0, len(data), len(data) // 150):
        damaged = bytearray(data)
        damaged[place] ^= 1 << (place % 8)
        (tmp_path / "flipped").write_bytes(damaged)
        try:
            store = unpack(tmp_path / "flipped", tmp_path / "store")
        except StoreError:
            assert sorted(entry.name for entry in tmp_path.iterdir()) == ["flipped"]
        else:
            assert store.verify() == digest
            shutil.rmtree(tmp_path / "store")


def test_another_digest_than_the_expected_is_refused(tmp_path: Path, packed: Path) -> None:
    refused(packed, tmp_path, "not the expected", expect="0" * 64)
    refused(packed, tmp_path, "not the expected", expect="")


@pytest.mark.parametrize("left_out", ["store.json", "current", "versions/0000/manifest.json", "versions/0002/card.md"])
def test_a_missing_file_is_refused(tmp_path: Path, entries: Entries, left_out: str) -> None:
    refused(write(tmp_path / "evil.zip", [entry for entry in entries if entry[0] != left_out]), tmp_path)


def test_a_version_that_is_not_in_use_is_refused(tmp_path: Path, taught_path: Path, entries: Entries) -> None:
    pointed = [(name, Store.open(taught_path).pointer(2) if name == "current" else data) for name, data in entries]
    refused(write(tmp_path / "evil.zip", pointed), tmp_path, "more versions")


@pytest.mark.parametrize("name", [*CONTENT, "manifest.json"])
def test_a_changed_file_is_refused(tmp_path: Path, entries: Entries, name: str) -> None:
    path = f"versions/0001/{name}"
    changed = [(entry, data + b"\n" if entry == path else data) for entry, data in entries]
    refused(write(tmp_path / "evil.zip", changed), tmp_path, name.replace(".", r"\."))


def spoil_manifest(change: Callable[[dict[str, object]], object]) -> Callable[[bytes], bytes]:
    def spoil(data: bytes) -> bytes:
        manifest = json.loads(data)
        change(manifest)
        return json_bytes(manifest)

    return spoil


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("store.json", lambda _: b"[" * 100_000),
        ("store.json", lambda _: b"[]"),
        ("store.json", lambda _: b'{"format": 1}'),
        ("current", lambda _: b"../../etc/passwd\n"),
        ("current", lambda _: b"9" * 5000),
        ("versions/0003/manifest.json", lambda _: b"{}"),
        ("versions/0003/manifest.json", lambda _: b"[" * 100_000),
        ("versions/0003/manifest.json", spoil_manifest(lambda m: m.update(parent={"number": 3, "sha256": "x"}))),
        ("versions/0003/manifest.json", spoil_manifest(lambda m: m.update(parent={"number": "../..", "sha256": "x"}))),
        ("versions/0003/manifest.json", spoil_manifest(lambda m: m.update(parent={"number": -1, "sha256": "x"}))),
        ("versions/0003/manifest.json", spoil_manifest(lambda m: m.update(parent=None))),
        ("versions/0003/manifest.json", spoil_manifest(lambda m: m.update(files=[]))),
        ("versions/0003/manifest.json", spoil_manifest(lambda m: m.update(files={"record.json": {}}))),
        ("versions/0003/record.json", lambda _: b"[" * 100_000),
    ],
)
@pytest.mark.parametrize("pointed", [False, True], ids=["", "pointer made to fit"])
def test_json_of_another_form_is_refused(
    tmp_path: Path, entries: Entries, name: str, spoil: Callable[[bytes], bytes], pointed: bool
) -> None:
    changed = {entry: spoil(data) if entry == name else data for entry, data in entries}
    if pointed and name != "current":
        (tmp_path / "m").write_bytes(changed["versions/0003/manifest.json"])
        changed["current"] = f"3 {sha256(tmp_path / 'm')}\n".encode()
    refused(write(tmp_path / "evil.zip", list(changed.items())), tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18), b"\x80\x04\x95" + bytes(100), b"PK\x03\x04" * 50]
)
def test_what_is_no_packed_store_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    refused(tmp_path / "file", tmp_path)


def test_an_encrypted_file_is_refused(tmp_path: Path, entries: Entries) -> None:
    file = write(tmp_path / "evil.zip", entries)
    data = bytearray(file.read_bytes())
    place = 0
    while (place := data.find(b"PK\x01\x02", place)) >= 0:
        data[place + 8] |= 1  # the flag "encrypted" in the directory
        place += 4
    file.write_bytes(data)
    refused(file, tmp_path)


def test_a_folder_is_no_packed_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ClassicError):
        unpack(tmp_path / "folder", tmp_path / "store")
