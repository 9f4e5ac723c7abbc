"""One file that carries a store to another data owner. The model travels, the data does not.

A packed store is an uncompressed zip with exactly the files of the version in use and of the versions it is made of. It
is read by a fixed list of names, never by what the archive claims, into a folder that appears only when all of it is
checked.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import re
import shutil
import struct
import uuid
import zipfile
from pathlib import Path

from classic.errors import InputError, StoreError
from classic.files import sync_folder
from classic.store.manifest import CONTENT, FINDER
from classic.store.store import Store

_FILES = (*CONTENT, FINDER, "manifest.json", "run.json")
_DAMAGED = (zipfile.BadZipFile, OSError, EOFError, KeyError, ValueError, TypeError, RuntimeError, struct.error)
_MOST_ENTRIES = 5_000  # a thousand domains
_MOST_TEXT = 1 << 20  # bytes of a file that is neither tensors nor a record; methods that keep texts have them in these
_MOST_RECORD = 256 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)  # equal stores give equal bytes, whenever they are packed


def pack(store: Store, file: Path, *, with_texts: bool = False) -> int:
    """Writes the current version and its chain into one file; returns its size in bytes.

    A store whose method keeps training texts is refused unless they are meant to travel, too.
    """
    if not with_texts and any(version.record.get("keeps_texts") for version in store.chain()):
        raise InputError(
            f"the method of {store.path} keeps training texts: they would travel with the model",
            fix="say --with-texts if that is meant",
        )
    store.verify()
    if file.exists():
        raise InputError(f"{file} exists", fix="choose another name or delete it")
    current = store.current  # read once: another process may move the pointer meanwhile
    names = ["store.json"]
    for number in [0, *(version.number for version in store.chain(current))]:
        folder = f"versions/{number:04d}"
        names += [f"{folder}/{name}" for name in _FILES if (store.path / folder / name).is_file()]
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr(zipfile.ZipInfo("current", _EPOCH), store.pointer(current))
            for name in names:
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), (store.path / name).read_bytes())
        temporary.replace(file)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}", fix="choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)
    return file.stat().st_size


def unpack(file: Path, path: Path, expect: str | None = None) -> Store:
    """Makes a store of a packed file.

    Args:
        file: What `pack` wrote.
        path: The folder to make.
        expect: The digest the sender named; anything else is refused.
    """
    if path.exists():
        raise InputError(f"{path} exists", fix="choose another folder")
    if not file.is_file() or not path.parent.is_dir():
        missing = path.parent if file.is_file() else file
        raise InputError(f"there is no {missing}", fix="check the path")
    _sweep(path)
    staging = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    staging.mkdir()
    held = os.open(staging, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)  # the system takes it back when we die: then the next one may sweep it
    try:
        with zipfile.ZipFile(file) as archive:
            _extract(archive, file, staging)
        store = Store.open(staging)
        digest = store.verify()
        store.check_records()
        if store.numbers() != [0, *(version.number for version in store.chain())]:
            raise StoreError(f"{file} holds more versions than the one in use is made of", fix="do not use this file")
        if expect is not None and digest != expect.lower():
            raise StoreError(
                f"{file} has digest {digest[:16]}…, not the expected one", fix="ask the sender for the file again"
            )
        staging.rename(path)
        sync_folder(path.parent)
    except _DAMAGED as error:
        raise StoreError(
            f"{file} is not a packed store or is damaged ({error})", fix="ask the sender for the file again"
        ) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        os.close(held)
    return Store.open(path)


def _sweep(path: Path) -> None:
    """Removes what an `unpack` to the same place left when it was killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if not re.fullmatch(r"[0-9a-f]{32}", left.name.rpartition(".")[2]) or not left.is_dir() or left.is_symlink():
            continue
        handle = os.open(left, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except OSError:  # another one at work
            continue
        finally:
            os.close(handle)


def _extract(archive: zipfile.ZipFile, file: Path, staging: Path) -> None:
    allowed = re.compile(rf"store\.json|current|versions/[0-9]{{4,9}}/({'|'.join(map(re.escape, _FILES))})")
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    strange = [name for name in names if not allowed.fullmatch(name)]
    if strange or len(set(names)) != len(names):
        raise StoreError(f"{file} holds files that are not part of a store: {strange[:3]}", fix="do not use this file")
    if len(names) > _MOST_ENTRIES:
        raise StoreError(f"{file} holds {len(names):,} files, more than any store of ours", fix="do not use this file")
    for entry in entries:
        own = {"delta.safetensors": entry.file_size, FINDER: entry.file_size, "record.json": _MOST_RECORD}
        most = own.get(Path(entry.filename).name, _MOST_TEXT)
        if entry.file_size > most:
            raise StoreError(f"{file} holds {entry.filename} of more than {most:,} bytes", fix="do not use this file")
    claimed = sum(entry.file_size for entry in entries)
    if claimed > file.stat().st_size or any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise StoreError(f"{file} is compressed or claims to hold more than it does", fix="do not use this file")
    json.loads(archive.read("store.json"))
    for entry in entries:
        target = staging / entry.filename
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)
