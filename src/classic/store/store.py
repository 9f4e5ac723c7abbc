"""A store: a folder that grows by one immutable version for every domain it learns.

    store.json              what the store learns with: system, seed, encoder
    versions/0000/          the untaught model
    versions/0003/          delta.safetensors, record.json, card.md, manifest.json, run.json
    current                 number and manifest's sha256 of the version in use; the only thing that ever changes
    scores/0003.json        scores of a version on data sets it was evaluated on, numbers only
    work/                   checkpoint of a domain in training; gone when it is published

A version holds only what its domain changed (`classic.store.delta`). Its manifest has the sha256 of its files and of its
parent's manifest, version 0 has the sha256 of store.json, and the pointer that of the manifest it points at: the
pointer vouches for the whole chain, and damage is noticed before it is used. Nothing of a domain's text is kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classic.errors import BusyError, InputError, StaleError, StoreError
from classic.files import json_bytes, sha256, sync_folder, write_bytes, write_json, write_synced, writing
from classic.store.manifest import (
    CONTENT,
    RESTORE,
    check_file,
    check_record,
    check_sealed,
    contents_of,
    fits,
    is_version,
    promises_of,
    read_object,
    seal,
    unseal,
)

FORMAT = 1
_TENSOR_LIMIT = 5000  # a header with more entries than any model of ours has is an attack or damage
_UNFINISHED = {"versions", "lock", "work", "current", ".current.tmp", ".store.json.tmp"}  # in a store being made


@dataclass(frozen=True)
class Version:
    """One version: its number, the one it grew from, and its record.

    Attributes:
        number: 0 is the untaught model.
        parent: The version it grew from; None for 0.
        record: What was learned and how well; equal bytes for equal runs.
        run: When, how long, on what; differs from run to run.
    """

    number: int
    parent: int | None
    record: dict[str, Any]
    run: dict[str, Any]

    @property
    def domain(self) -> str:
        """The domain this version added."""
        return str(self.record["domain"])


class Store:
    """A store on disk. Reading never changes it; `publish`, `rollback` and `prune` take the lock."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.settings = settings

    # --- opening ----------------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: Path | str) -> Store:
        """Opens an existing store."""
        path = Path(path)
        file = path / "store.json"
        if not file.is_file():
            if (path / "classic.json").is_file():
                raise StoreError(
                    f"{path} is an exported folder, not a store",
                    fix="`classic predict` and `classic evaluate` take it; for the rest name the store it was made of",
                )
            raise StoreError(f"{path} is not a store: it has no store.json", fix="make one with `classic learn`")
        settings = read_object(file)
        if settings.get("format") != FORMAT:
            raise StoreError(
                f"{file} says store format {settings.get('format')!r}, this program reads {FORMAT}",
                fix="use the version of classic-asc that wrote it",
            )
        store = cls(path, settings)
        promised = store.version(0).record.get("settings")
        if promised is not None and promised != sha256(file):
            raise StoreError(f"{file} is damaged: version 0 was made with other settings", fix="restore a backup")
        return store

    @classmethod
    def exists(cls, path: Path | str) -> bool:
        """Whether a store is there, finished in the making or not."""
        return (Path(path) / "store.json").is_file()

    @classmethod
    def create(cls, path: Path | str, settings: dict[str, Any], base: dict[str, Any]) -> Store:
        """Makes a store with an untaught model.

        Args:
            path: A folder that does not exist, is empty, or holds a store whose making was cut short.
            settings: System configuration, seed and encoder fingerprint.
            base: Tensors of the untaught model.
        """
        path = Path(path)
        _refuse_foreign(path)
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        store = cls(path, {"format": FORMAT} | settings)
        with store.lock():
            _refuse_foreign(path)  # again: another process may have made it while we came here
            shutil.rmtree(path / "versions", ignore_errors=True)
            promised = hashlib.sha256(json_bytes(store.settings)).hexdigest()
            record: dict[str, Any] = {"domain": "", "parent": None, "domains": [], "settings": promised}
            store._write_version(0, None, contents_of(base, record, "# Untaught model\n"), {})
            store._point(0)
            write_json(path / "store.json", store.settings)  # last: its presence says that the store is whole
        return store

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def current(self) -> int:
        """Number of the version in use."""
        file, fix = self.path / "current", "run `classic store rollback STORE N`"
        try:
            read = re.fullmatch(r"(\d{1,9})(?: ([0-9a-f]{64}))?\n", file.read_bytes().decode("ascii"))
        except (OSError, ValueError):
            read = None
        if not read:
            raise StoreError(f"{self.path} has no readable pointer: {file} is missing or damaged", fix=fix)
        number, promised = int(read[1]), read[2]
        manifest = self._folder(number) / "manifest.json"
        if not manifest.is_file() or (promised and sha256(manifest) != promised):
            raise StoreError(f"{file} does not fit {manifest}: one of them is damaged or missing", fix=fix)
        return number

    def numbers(self) -> list[int]:
        """All versions there are, the ones left behind by a rollback included."""
        folder = self.path / "versions"
        if not folder.is_dir():
            raise StoreError(f"{folder} is missing", fix="restore a backup")
        return sorted(int(entry.name) for entry in folder.iterdir() if is_version(entry.name))

    def version(self, number: int | None = None) -> Version:
        """A version's description; of the current one if no number is given."""
        number = self.current if number is None else number
        folder = self._folder(number)
        if not folder.is_dir():
            known = ", ".join(str(n) for n in self.numbers())
            raise InputError(f"{self.path} has no version {number}", fix=f"versions there are: {known}")
        manifest = self._manifest(number)
        check_file(folder / "record.json", manifest)
        record = read_object(folder / "record.json")
        parent = manifest["parent"]["number"] if number else None
        if record.get("parent") != parent or not isinstance(record.get("domain"), str):
            raise StoreError(f"{folder / 'record.json'} does not fit its manifest", fix="do not use this store")
        return Version(number, parent, record, unseal(folder / "run.json") or {})

    def chain(self, number: int | None = None) -> list[Version]:
        """The versions a version is made of, oldest first, the untaught model left out."""
        versions: list[Version] = []
        step: int | None = self.current if number is None else number
        while step:
            version = self.version(step)
            versions.append(version)
            step = version.parent
        return versions[::-1]

    def domains(self, number: int | None = None) -> list[str]:
        """The domains a version has learned, in order."""
        return [version.domain for version in self.chain(number)]

    def check_records(self, number: int | None = None) -> None:
        """Refuses a version whose records lack what is read from them: whole as its sums are, a stranger made it."""
        for version in self.chain(number):
            check_record(version.record, self._folder(version.number) / "record.json")

    def card(self, number: int | None = None) -> str:
        """A version's model card, as Markdown."""
        number = self.version(number).number
        file = self._folder(number) / "card.md"
        check_file(file, self._manifest(number))
        return file.read_text(encoding="utf-8")

    def tensors(self, number: int | None = None) -> dict[str, Any]:
        """All tensors of a version, each file checked against its manifest first."""
        from safetensors import SafetensorError
        from safetensors.torch import load

        from classic.store.delta import apply

        number = self.current if number is None else number
        tensors: dict[str, Any] = {}
        for step in [0, *(version.number for version in self.chain(number))]:
            self.check_version(step)
            file = self._folder(step) / "delta.safetensors"
            try:  # whole, as its sha256 says, but who made it?
                stored = load(file.read_bytes())
                if len(stored) > _TENSOR_LIMIT:
                    raise ValueError(f"{len(stored)} tensors")
                tensors = apply(tensors, stored)
            except (SafetensorError, KeyError, ValueError, IndexError, RuntimeError, TypeError) as error:
                raise StoreError(f"{file} holds no model of ours ({error})", fix="do not use this store") from None
        return tensors

    # --- trust ------------------------------------------------------------------------------------------------------

    def check_version(self, number: int) -> dict[str, Any]:
        """Checks one version's files against its manifest, and its parent's manifest against its word; returns it."""
        manifest = self._manifest(number)
        for name in CONTENT:
            check_file(self._folder(number) / name, manifest)
        parent = manifest["parent"]
        if parent is not None:
            file = self._folder(parent["number"]) / "manifest.json"
            if not file.is_file() or sha256(file) != parent["sha256"]:
                raise StoreError(
                    f"version {number} of {self.path} grew from another version {parent['number']} than the one here: "
                    f"{file} is damaged, missing or another one's",
                    fix="restore both from one backup",
                )
        return manifest

    def _manifest(self, number: int) -> dict[str, Any]:
        """A version's manifest, if it is exactly as we write them."""
        file = self._folder(number) / "manifest.json"
        manifest = read_object(file)
        if file.read_bytes() != json_bytes(manifest) or not fits(manifest, number):
            raise StoreError(f"{file} is damaged or of another version", fix=RESTORE)
        return manifest

    def verify(self) -> str:
        """Checks every version, and that nothing else lies among them; returns the digest of what is in use."""
        Store.open(self.path)  # settings and version 0 fit each other
        self.current  # noqa: B018 - a store without a pointer is not whole
        for entry in (self.path / "versions").iterdir():
            if not is_version(entry.name) and not entry.name.startswith("."):  # a killed process leaves dotted ones
                raise StoreError(f"{entry} does not belong there", fix="delete it")
        for number in self.numbers():
            self.check_version(number)
            check_sealed(self._folder(number) / "run.json")
            check_sealed(self.path / "scores" / f"{number:04d}.json")
            extra = {entry.name for entry in self._folder(number).iterdir()} - {*CONTENT, "manifest.json", "run.json"}
            if extra:
                raise StoreError(
                    f"{self._folder(number)} holds files that do not belong there: {sorted(extra)}", fix="delete them"
                )
        return self.digest()

    def digest(self, number: int | None = None) -> str:
        """One sha256 for all that a version is: settings and the whole chain. Equal runs have equal digests."""
        number = self.current if number is None else number
        total = hashlib.sha256((self.path / "store.json").read_bytes())
        total.update((self._folder(number) / "manifest.json").read_bytes())
        return total.hexdigest()

    # --- changing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One writer at a time; the system takes the lock back when its holder dies."""
        with writing(self.path):
            opened = (self.path / "lock").open("a+")
        with opened as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BusyError(
                    f"{self.path} is busy: another process is changing it", fix="wait for it to end"
                ) from None
            yield

    def publish(self, tensors: dict[str, Any], record: dict[str, Any], run: dict[str, Any], card: str) -> Version:
        """Adds a version grown from the current one and moves the pointer. The caller holds the lock.

        Either the old version stays in use or the new one is whole and on disk; a crash leaves nothing between.
        """
        from classic.store.delta import difference

        parent = self.current
        stored = difference(tensors, self.tensors(parent))
        contents = contents_of(stored, record | {"parent": parent}, card)
        number = self._find(parent, contents)
        if number is None:
            number = max(self.numbers()) + 1
            self._write_version(number, parent, contents, run)
        self._point(number)
        return self.version(number)

    def _find(self, parent: int, contents: dict[str, bytes]) -> int | None:
        """A version with these very contents: the pointer's move was cut short, or the same was taught before."""
        promised = promises_of(contents)
        for number in self.numbers()[1:]:
            try:
                manifest = self.check_version(number)
            except StoreError:  # a damaged one, left behind by a rollback
                continue
            if manifest["parent"]["number"] == parent and manifest["files"] == promised:
                return number
        return None

    def sweep(self) -> None:
        """Removes what a killed process left half-written. The caller holds the lock."""
        for entry in (self.path / "versions").glob(".[0-9]*"):
            shutil.rmtree(entry)

    def rollback(self, number: int) -> None:
        """Puts an earlier version back in use. The versions after it stay until `prune`."""
        with self.lock():
            self.version(number)
            self.tensors(number)  # never point at a damaged version
            self._point(number)

    def branch(self, path: Path) -> Store:
        """Makes a working copy in a folder that does not exist: what is learned there is not in use here.

        Versions are shared, not copied: their files are never changed. What a kill leaves of a half-made branch has no
        store.json.
        """
        with writing(path):
            path.mkdir(parents=True)
        with self.lock(), writing(path, scrap=path):
            _share_versions(self.path / "versions", path / "versions")
            write_bytes(path / "current", self.pointer(self.current))
            write_bytes(path / "store.json", (self.path / "store.json").read_bytes())
        return Store.open(path)

    def adopt(self, branch: Store, number: int, digest: str) -> Version:
        """Takes over a version that a branch learned and puts it in use; may be repeated after a crash.

        Raises:
            StaleError: If this store has moved on since the branch was made.
        """
        with self.lock():
            if not self._folder(number).is_dir() and branch.digest(number) == digest:
                parent = branch.check_version(number)["parent"]
                if self.pointer(self.current) == f"{parent['number']} {parent['sha256']}\n".encode():
                    branch._folder(number).rename(self._folder(number))
                    sync_folder(self.path / "versions")
            whole = self._folder(number).is_dir() and self.digest(number) == digest
            if not whole or self.current not in (number, self.check_version(number)["parent"]["number"]):
                raise StaleError(
                    f"{self.path} has moved on since version {number} was learned from it", fix="teach the domain again"
                )
            self._point(number)
        return self.version(number)

    def prune(self) -> list[int]:
        """Deletes the versions the current one is not made of; the domains they learned are gone for good."""
        with self.lock():
            kept = {0, *(version.number for version in self.chain())}
            gone = [number for number in self.numbers() if number not in kept]
            for number in gone[::-1]:  # children before parents: a kill leaves no version without its parent
                (self.path / "scores" / f"{number:04d}.json").unlink(missing_ok=True)
                self._folder(number).rename(self.path / "versions" / f".{number:04d}.{uuid.uuid4().hex}")
            sync_folder(self.path / "versions")
            self.sweep()
            self.discard_work()
            return gone

    def write_scores(self, number: int, scores: dict[str, Any]) -> None:
        """Keeps a version's scores by data set; numbers only."""
        folder = self.path / "scores"
        with writing(folder):
            folder.mkdir(exist_ok=True)
        value = {"manifest": sha256(self._folder(number) / "manifest.json"), "scores": scores}
        write_bytes(folder / f"{number:04d}.json", seal(value))

    def read_scores(self, number: int) -> dict[str, Any]:
        """A version's scores by data set; empty if it was never evaluated, or they are damaged or another version's."""
        found = unseal(self.path / "scores" / f"{number:04d}.json") or {}
        manifest = self._folder(number) / "manifest.json"
        own = manifest.is_file() and found.get("manifest") == sha256(manifest)
        return dict(found["scores"]) if own else {}

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def checkpoint(self) -> Path:
        """The state of a domain in training."""
        return self.path / "work" / "checkpoint.safetensors"

    def discard_work(self) -> None:
        """Deletes the checkpoint: optimiser moments carry traces of the data."""
        if (self.path / "work").is_dir():
            shutil.rmtree(self.path / "work")
            sync_folder(self.path)

    def _folder(self, number: int) -> Path:
        return self.path / "versions" / f"{number:04d}"

    def _point(self, number: int) -> None:
        write_bytes(self.path / "current", self.pointer(number))

    def pointer(self, number: int) -> bytes:
        """What the file `current` says when a version is in use."""
        return f"{number} {sha256(self._folder(number) / 'manifest.json')}\n".encode()

    def _write_version(self, number: int, parent: int | None, contents: dict[str, bytes], run: dict[str, Any]) -> None:
        grown_from = None
        if parent is not None:
            grown_from = {"number": parent, "sha256": sha256(self._folder(parent) / "manifest.json")}
        manifest = {"version": number, "parent": grown_from, "files": promises_of(contents)}
        folder = self.path / "versions" / f".{number:04d}.{uuid.uuid4().hex}"
        files = {**contents, "manifest.json": json_bytes(manifest), "run.json": seal(run)}
        with writing(self._folder(number), sum(map(len, files.values())), folder):
            folder.mkdir(parents=True)
            for name, data in files.items():
                write_synced(folder / name, data)
            sync_folder(folder)
            folder.rename(self._folder(number))
            sync_folder(self.path / "versions")


def _refuse_foreign(path: Path) -> None:
    """Lets pass what is not there, is empty, or is a store whose making was cut short; never one that learned."""
    if not path.exists():
        return
    if not path.is_dir():
        raise StoreError(f"{path} is a file, not a folder", fix="choose another name")
    strange = sorted(entry.name for entry in path.iterdir() if entry.name not in _UNFINISHED)
    folder = path / "versions"
    if folder.exists():
        strange += sorted(e.name for e in folder.iterdir() if e.name != "0000" and not e.name.startswith(".0000."))
    if strange:
        raise StoreError(f"{path} exists and is no store: it holds {strange[0]!r}", fix="choose another folder")


def _share_versions(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target, copy_function=_share, ignore=_half_written)
    except (
        shutil.Error
    ) as error:  # many at once, each with its text only: the first that can be written again tells why
        for place, copy, _ in error.args[0]:
            _share(place, copy)
        raise


def _share(source: str, target: str) -> None:
    """Gives an immutable file a second name; copies it where the file system has no such thing."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _half_written(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(".")]
