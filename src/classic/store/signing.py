"""Signatures of packed stores: who made this file, without a digest by another way.

Ed25519 over the sha256 of the file, in a file of its own beside it (`may.classic.sig`): the pack has the same bytes with
and without. Keys are raw files of 32 bytes; a public one can be sent by anybody who is believed once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from classic.errors import InputError, MissingExtraError, StoreError
from classic.files import sha256, write_bytes

KEY_BYTES = 32
_PURPOSE = b"classic packed store 1\n"  # a signature made for something else is none for a pack


def make_key(file: Path) -> bytes:
    """Writes a new private key, readable by its owner only, and its public key to `FILE.pub`; returns the latter."""
    ed25519 = _ed25519()
    public_file = file.with_name(f"{file.name}.pub")
    for each in (file, public_file):
        if each.exists():
            raise InputError(f"{each} exists", fix="choose another name: what an old key signed needs it")
    key = ed25519.Ed25519PrivateKey.generate()
    public: bytes = key.public_key().public_bytes_raw()
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(key.private_bytes_raw())
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}", fix="choose another place") from None
    write_bytes(public_file, public)
    return public


def signature_of(file: Path) -> Path:
    """Where the signature of a packed store lies."""
    return file.with_name(f"{file.name}.sig")


def read_private(file: Path) -> Any:
    """A private key; read before anything is packed, so that a wrong one costs nothing."""
    return _ed25519().Ed25519PrivateKey.from_private_bytes(_read(file, "private"))


def sign(file: Path, key: Any) -> Path:
    """Signs a packed store; returns where the signature lies."""
    write_bytes(signature_of(file), key.sign(_message(file)).hex().encode() + b"\n")
    return signature_of(file)


def check_signature(file: Path, key: Path) -> None:
    """Refuses a packed store that the owner of a public key has not signed. Nothing of the store is read before.

    Raises:
        StoreError: If there is no signature, or it is of another key or of another file.
    """
    public = _ed25519().Ed25519PublicKey.from_public_bytes(_read(key, "public"))
    from cryptography.exceptions import InvalidSignature

    written = signature_of(file)
    if not written.is_file():
        raise StoreError(f"there is no {written}: {file} is not signed", fix="ask the sender for the signature")
    try:
        public.verify(bytes.fromhex(written.read_text("ascii").strip()), _message(file))
    except (InvalidSignature, ValueError):  # also what is no signature at all
        raise StoreError(
            f"{file} is not what the owner of {key} signed", fix="do not use it; ask the sender for both files again"
        ) from None


def _message(file: Path) -> bytes:
    return _PURPOSE + sha256(file).encode()


def _read(file: Path, kind: str) -> bytes:
    if not file.is_file():
        raise InputError(f"there is no {file}", fix="`classic store keygen FILE` makes a key")
    data = file.read_bytes() if file.stat().st_size == KEY_BYTES else b""
    if len(data) != KEY_BYTES:
        raise InputError(f"{file} is not a {kind} key: those have {KEY_BYTES} bytes", fix="see `classic store keygen`")
    return data


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise MissingExtraError(
            "signatures need the package cryptography", fix="pip install 'classic-asc[sign]'"
        ) from None
    return ed25519
