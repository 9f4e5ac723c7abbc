"""A signature says who made a pack: of another key, of another file, or none at all, it is refused before it is opened."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from classic.cli import main
from classic.errors import ClassicError, InputError, MissingExtraError, StoreError
from classic.store.signing import check_signature, make_key, read_private, sign, signature_of


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path]:
    """A signed file, and the public key to check it by. What is signed does not matter here."""
    pytest.importorskip("cryptography")
    file, key = tmp_path / "may.classic", tmp_path / "us.key"
    file.write_bytes(b"a packed store" * 100)
    make_key(key)
    sign(file, read_private(key))
    return file, tmp_path / "us.key.pub"


def test_a_signed_file_is_taken(signed: tuple[Path, Path]) -> None:
    check_signature(*signed)


def test_a_private_key_is_for_its_owner_only(signed: tuple[Path, Path]) -> None:
    private = signed[1].with_name("us.key")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert len(private.read_bytes()) == len(signed[1].read_bytes()) == 32
    with pytest.raises(InputError, match="exists"):
        make_key(private)


@pytest.mark.parametrize("place", [0, 700, 1399])
def test_every_changed_byte_is_noticed(signed: tuple[Path, Path], place: int) -> None:
    data = bytearray(signed[0].read_bytes())
    data[place] ^= 1
    signed[0].write_bytes(data)
    with pytest.raises(StoreError, match="is not what the owner"):
        check_signature(*signed)


@pytest.mark.parametrize("written", [b"", b"00" * 64, b"no hex", b"\xff\xfe", b"00" * 10_000])
def test_what_is_no_signature_is_refused(signed: tuple[Path, Path], written: bytes) -> None:
    signature_of(signed[0]).write_bytes(written)
    with pytest.raises(StoreError, match="is not what the owner"):
        check_signature(*signed)


def test_a_signature_of_another_key_or_for_another_purpose_is_refused(
    signed: tuple[Path, Path], tmp_path: Path
) -> None:
    from classic.files import sha256

    make_key(tmp_path / "other")
    sign(signed[0], read_private(tmp_path / "other"))
    with pytest.raises(StoreError, match="is not what the owner"):
        check_signature(*signed)
    bare = read_private(signed[1].with_name("us.key")).sign(sha256(signed[0]).encode())
    signature_of(signed[0]).write_text(bare.hex())
    with pytest.raises(StoreError, match="is not what the owner"):
        check_signature(*signed)


def test_an_unsigned_file_and_a_wrong_key_are_told_so(signed: tuple[Path, Path], tmp_path: Path) -> None:
    signature_of(signed[0]).unlink()
    with pytest.raises(StoreError, match="is not signed"):
        check_signature(*signed)
    (tmp_path / "long").write_bytes(b"x" * 33)
    for key, said in ((tmp_path / "long", "not a public key"), (tmp_path / "none", "there is no")):
        with pytest.raises(InputError, match=said):
            check_signature(signed[0], key)
    with pytest.raises(InputError, match="not a private key"):
        read_private(tmp_path / "long")


def test_the_commands_sign_and_check(taught_store: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")

    def run(*words: str | Path) -> None:
        main.app(["store", *map(str, words)], standalone_mode=False)

    file, key = tmp_path / "may.classic", tmp_path / "us.key"
    run("keygen", key)
    run("pack", taught_store, file, "--sign", key)
    run("unpack", file, tmp_path / "theirs", "--verify-key", f"{key}.pub")
    assert (tmp_path / "theirs" / "store.json").is_file()
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(StoreError, match="is not what the owner"):
        run("unpack", file, tmp_path / "again", "--verify-key", f"{key}.pub")
    assert not (tmp_path / "again").exists()
    with pytest.raises(ClassicError):
        run("pack", taught_store, tmp_path / "june.classic", "--sign", tmp_path / "none")
    assert not (tmp_path / "june.classic").exists()  # a wrong key costs nothing


def test_without_the_package_the_line_that_brings_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtraError) as told:
        make_key(tmp_path / "key")
    assert "classic-asc[sign]" in told.value.fix and not (tmp_path / "key").exists()
