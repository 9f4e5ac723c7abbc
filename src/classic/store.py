"""A store: a folder that grows by one immutable version for every domain it learns.

    store.json              what the store learns with: system, seed, encoder
    versions/0000/          the untaught model
    versions/0003/          delta.safetensors, record.json, card.md, manifest.json, run.json
    current                 the number of the version in use; the only thing that ever changes
    scores/0003.json        scores of a version on data sets it was evaluated on, numbers only
    work/                   checkpoint of a domain in training; gone when it is published

A version holds only what its domain changed (`classic.delta`). Its manifest has the sha256 of its files and of its
parent's manifest, so the newest manifest vouches for the whole chain. Nothing of a domain's text is kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classic.errors import InputError, StoreError
from classic.files import json_bytes, sha256, sync_folder, write_bytes, write_json

FORMAT = 1
CONTENT = ("delta.safetensors", "record.json", "card.md")
_TENSOR_LIMIT = 5000  # a header with more entries than any model of ours has is an attack or damage


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
            raise StoreError(f"{path} is not a store: it has no store.json", fix="make one with `classic learn`")
        settings = _read_json(file)
        if settings.get("format") != FORMAT:
            raise StoreError(
                f"{path} has store format {settings.get('format')!r}, this program reads {FORMAT}",
                fix="use the version of classic-asc that wrote it",
            )
        return cls(path, settings)

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
        if path.exists() and any(entry.name not in {"versions", "lock", "work"} for entry in path.iterdir()):
            raise StoreError(f"{path} exists and is no store", fix="choose another folder")
        path.mkdir(parents=True, exist_ok=True)
        store = cls(path, {"format": FORMAT} | settings)
        with store.lock():
            shutil.rmtree(path / "versions", ignore_errors=True)
            record = {"domain": "", "parent": None, "domains": []}
            store._write_version(0, None, _contents(base, record, "# Untaught model\n"), {})
            store._point(0)
            write_json(path / "store.json", store.settings)  # last: its presence says that the store is whole
        return store

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def current(self) -> int:
        """Number of the version in use."""
        try:
            return int((self.path / "current").read_text())
        except (OSError, ValueError):
            raise StoreError(
                f"{self.path} has no readable pointer 'current'", fix="run `classic store rollback STORE N`"
            ) from None

    def numbers(self) -> list[int]:
        """All versions there are, the ones left behind by a rollback included."""
        folder = self.path / "versions"
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())

    def version(self, number: int | None = None) -> Version:
        """A version's description; of the current one if no number is given."""
        number = self.current if number is None else number
        folder = self._folder(number)
        if not folder.is_dir():
            known = ", ".join(str(n) for n in self.numbers())
            raise InputError(f"{self.path} has no version {number}", fix=f"versions there are: {known}")
        record = _read_json(folder / "record.json")
        run_file = folder / "run.json"
        return Version(number, record["parent"], record, _read_json(run_file) if run_file.is_file() else {})

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

    def card(self, number: int | None = None) -> str:
        """A version's model card, as Markdown."""
        return (self._folder(self.version(number).number) / "card.md").read_text(encoding="utf-8")

    def tensors(self, number: int | None = None) -> dict[str, Any]:
        """All tensors of a version, each file checked against its manifest first."""
        from safetensors.torch import load

        from classic.delta import apply

        number = self.current if number is None else number
        tensors: dict[str, Any] = {}
        for step in [0, *(version.number for version in self.chain(number))]:
            self.check_version(step)
            data = (self._folder(step) / "delta.safetensors").read_bytes()
            stored = load(data)
            if len(stored) > _TENSOR_LIMIT:
                raise StoreError(f"version {step} of {self.path} holds {len(stored)} tensors", fix="do not use this file")
            tensors = apply(tensors, stored)
        return tensors

    # --- trust ------------------------------------------------------------------------------------------------------

    def check_version(self, number: int) -> dict[str, Any]:
        """Checks one version's files against its manifest, and the manifest against its child's word; returns it."""
        folder = self._folder(number)
        manifest = _read_json(folder / "manifest.json")
        for name in CONTENT:
            file, promised = folder / name, manifest["files"].get(name, {})
            if not file.is_file():
                raise StoreError(f"{file} is missing", fix="roll back to an earlier version or restore a backup")
            found = sha256(file)
            if found != promised.get("sha256"):
                raise StoreError(
                    f"{file} is damaged: sha256 {found[:12]}… instead of {str(promised.get('sha256'))[:12]}…",
                    fix="roll back to an earlier version or restore a backup",
                )
        parent = manifest["parent"]
        if parent is not None:
            found = sha256(self._folder(parent["number"]) / "manifest.json")
            if found != parent["sha256"]:
                raise StoreError(
                    f"version {number} of {self.path} grew from another version {parent['number']} than the one here",
                    fix="restore both from one backup",
                )
        return manifest

    def verify(self) -> str:
        """Checks every version, and that nothing else lies among them; returns the digest of what is in use."""
        self.current  # noqa: B018 - a store without a pointer is not whole
        for number in self.numbers():
            self.check_version(number)
            extra = {entry.name for entry in self._folder(number).iterdir()} - {*CONTENT, "manifest.json", "run.json"}
            if extra:
                raise StoreError(f"{self._folder(number)} holds files that do not belong there: {sorted(extra)}")
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
        with (self.path / "lock").open("a+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(f"{self.path} is busy: another process is changing it", fix="wait for it to end") from None
            yield

    def publish(
        self, tensors: dict[str, Any], record: dict[str, Any], run: dict[str, Any], card: str
    ) -> Version:
        """Adds a version grown from the current one and moves the pointer. The caller holds the lock.

        Either the old version stays in use or the new one is whole and on disk; a crash leaves nothing between.
        """
        from classic.delta import difference

        parent = self.current
        stored = difference(tensors, self.tensors(parent))
        contents = _contents(stored, record | {"parent": parent}, card)
        number = self._find(parent, contents)
        if number is None:
            number = max(self.numbers()) + 1
            self._write_version(number, parent, contents, run)
        self._point(number)
        return self.version(number)

    def _find(self, parent: int, contents: dict[str, bytes]) -> int | None:
        """A version with these very contents: the pointer's move was cut short, or the same was taught before."""
        promised = _promises(contents)
        for number in self.numbers()[1:]:
            manifest = _read_json(self._folder(number) / "manifest.json")
            if manifest["parent"]["number"] == parent and manifest["files"] == promised:
                return number
        return None

    def sweep(self) -> None:
        """Removes what a killed process left half-written. The caller holds the lock."""
        for entry in (self.path / "versions").iterdir():
            if not entry.name.isdigit():
                shutil.rmtree(entry)

    def rollback(self, number: int) -> None:
        """Puts an earlier version back in use. The versions after it stay until `prune`."""
        with self.lock():
            self.version(number)
            self.tensors(number)  # never point at a damaged version
            self._point(number)

    def prune(self) -> list[int]:
        """Deletes the versions the current one is not made of; the domains they learned are gone for good."""
        with self.lock():
            kept = {0, *(version.number for version in self.chain())}
            gone = [number for number in self.numbers() if number not in kept]
            for number in gone:
                shutil.rmtree(self._folder(number))
                (self.path / "scores" / f"{number:04d}.json").unlink(missing_ok=True)
            sync_folder(self.path / "versions")
            return gone

    def write_scores(self, number: int, scores: dict[str, Any]) -> None:
        """Keeps a version's scores by data set; numbers only."""
        folder = self.path / "scores"
        folder.mkdir(exist_ok=True)
        write_json(folder / f"{number:04d}.json", scores)

    def read_scores(self, number: int) -> dict[str, Any]:
        """A version's scores by data set; empty if it was never evaluated."""
        file = self.path / "scores" / f"{number:04d}.json"
        return _read_json(file) if file.is_file() else {}

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
        write_bytes(self.path / "current", f"{number}\n".encode())

    def _write_version(self, number: int, parent: int | None, contents: dict[str, bytes], run: dict[str, Any]) -> None:
        grown_from = None
        if parent is not None:
            grown_from = {"number": parent, "sha256": sha256(self._folder(parent) / "manifest.json")}
        manifest = {"version": number, "parent": grown_from, "files": _promises(contents)}
        folder = self.path / "versions" / f".{number:04d}.{uuid.uuid4().hex}"
        folder.mkdir(parents=True)
        for name, data in {**contents, "manifest.json": json_bytes(manifest), "run.json": json_bytes(run)}.items():
            with (folder / name).open("wb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
        sync_folder(folder)
        folder.rename(self._folder(number))
        sync_folder(self.path / "versions")


def _contents(stored: dict[str, Any], record: dict[str, Any], card: str) -> dict[str, bytes]:
    from safetensors.torch import save

    return {
        "delta.safetensors": save(stored, metadata={"format": "pt"}),
        "record.json": json_bytes(record),
        "card.md": card.encode(),
    }


def _promises(contents: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    return {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in contents.items()
    }


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}", fix="restore it from a backup or roll back") from None
    if not isinstance(value, dict):
        raise StoreError(f"{path} does not hold a JSON object", fix="restore it from a backup or roll back")
    return value
