"""A store: a folder that grows by one immutable version for every domain it learns.

    store.json              what the store learns with: system, seed, encoder
    versions/0000/          the untaught model
    versions/0003/          delta.safetensors, record.json, card.md, manifest.json, run.json; finder.safetensors if it finds
    current                 number and manifest's sha256 of the version in use; the only thing that ever changes
    scores/0003.json        scores of a version on data sets it was evaluated on, numbers only
    work/                   checkpoint of a domain in training; gone when it is published
    exports/0003/           the version in use for quick answers (`classic.prediction.kept`); may be deleted

A version holds only what its domain changed (`classic.store.delta`). Its manifest has the sha256 of its files and of its
parent's manifest, version 0 has the sha256 of store.json, and the pointer that of the manifest it points at: the
pointer vouches for the whole chain, and damage is noticed before it is used. Nothing of a domain's text is kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from classic.errors import BusyError, StaleError, StoreError
from classic.files import json_bytes, sha256, sync_folder, write_bytes, write_json, write_synced, writing
from classic.store.manifest import (
    contents_of,
    promises_of,
    seal,
)
from classic.store.versions import FORMAT, Version, Versions

_UNFINISHED = {"versions", "lock", "work", "current", ".current.tmp", ".store.json.tmp"}  # in a store being made


class Store(Versions):
    """A store on disk, to read and to change. `publish`, `rollback` and `prune` take the lock."""

    _holder: int | None = None  # the thread that has the lock

    # --- making -----------------------------------------------------------------------------------------------------

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

    # --- changing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One writer at a time; the system takes the lock back when its holder dies. Who holds it may take it again."""
        if self._holder == threading.get_ident():
            yield
            return
        with writing(self.path):
            opened = (self.path / "lock").open("a+")
        with opened as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BusyError(
                    f"{self.path} is busy: another process is changing it", fix="wait for it to end"
                ) from None
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    def publish(
        self,
        tensors: dict[str, Any],
        record: dict[str, Any],
        run: dict[str, Any],
        card: str,
        finder: dict[str, Any] | None = None,
    ) -> Version:
        """Adds a version grown from the current one and moves the pointer. The caller holds the lock.

        Either the old version stays in use or the new one is whole and on disk; a crash leaves nothing between.
        """
        from classic.store.delta import difference

        parent = self.current
        stored = difference(tensors, self.tensors(parent))
        contents = contents_of(stored, record | {"parent": parent}, card, finder)
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
            for export in (self.path / "exports").glob("*"):
                if export.name not in {f"{number:04d}" for number in kept}:  # it has the forgotten weights in it
                    shutil.rmtree(export)
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

    def _point(self, number: int) -> None:
        write_bytes(self.path / "current", self.pointer(number))

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
