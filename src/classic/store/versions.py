"""Reading a store: its versions, the pointer to the one in use, and whether all of it is what it says."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from classic.errors import InputError, StoreError
from classic.files import json_bytes, sha256
from classic.store.manifest import (
    FINDER,
    RESTORE,
    check_file,
    check_record,
    check_sealed,
    fits,
    is_version,
    read_object,
    unseal,
)

FORMAT = 1
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


class Versions:
    """The versions of a store on disk. Reading never changes anything."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.settings = settings

    # --- opening ----------------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Opens an existing store."""
        path = Path(path)
        file = path / "store.json"
        if not file.is_file():
            if (path / "classic.json").is_file():
                raise StoreError(
                    f"{path} is an exported folder, not a store",
                    fix="`classic predict`, `find`, `summarise` and `evaluate` take it; else name the store it was made of",
                )
            what = f"{path} is not a store: it has no store.json" if path.exists() else f"there is no store {path}"
            raise StoreError(what, fix="check the path, or make a store with `classic learn`")
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

    def finder(self, number: int | None = None) -> dict[str, Any] | None:
        """The finder of a version, its file checked first; None if it has none."""
        from safetensors import SafetensorError
        from safetensors.torch import load

        number = self.current if number is None else number
        manifest = self._manifest(number)
        if FINDER not in manifest["files"]:
            return None
        file = self._folder(number) / FINDER
        check_file(file, manifest)
        try:
            return load(file.read_bytes())
        except SafetensorError as error:
            raise StoreError(f"{file} holds no finder of ours ({error})", fix="do not use this store") from None

    # --- trust ------------------------------------------------------------------------------------------------------

    def check_version(self, number: int) -> dict[str, Any]:
        """Checks one version's files against its manifest, and its parent's manifest against its word; returns it."""
        manifest = self._manifest(number)
        for name in manifest["files"]:
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
        type(self).open(self.path)  # settings and version 0 fit each other
        self.current  # noqa: B018 - a store without a pointer is not whole
        for entry in (self.path / "versions").iterdir():
            if not is_version(entry.name) and not entry.name.startswith("."):  # a killed process leaves dotted ones
                raise StoreError(f"{entry} does not belong there", fix="delete it")
        for number in self.numbers():
            self.check_version(number)
            check_sealed(self._folder(number) / "run.json")
            check_sealed(self.path / "scores" / f"{number:04d}.json")
            extra = {entry.name for entry in self._folder(number).iterdir()} - {
                *self._manifest(number)["files"],
                "manifest.json",
                "run.json",
            }
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

    # --- places -----------------------------------------------------------------------------------------------------

    def read_scores(self, number: int) -> dict[str, Any]:
        """A version's scores by data set; empty if it was never evaluated, or they are damaged or another version's."""
        found = unseal(self.path / "scores" / f"{number:04d}.json") or {}
        manifest = self._folder(number) / "manifest.json"
        own = manifest.is_file() and found.get("manifest") == sha256(manifest)
        return dict(found["scores"]) if own else {}

    def _folder(self, number: int) -> Path:
        return self.path / "versions" / f"{number:04d}"

    def pointer(self, number: int) -> bytes:
        """What the file `current` says when a version is in use."""
        return f"{number} {sha256(self._folder(number) / 'manifest.json')}\n".encode()
