"""The export that is kept beside a store's version in use, so that its first answer needs no torch.

STORE/exports/0003/    as `classic export` writes it, made when version 3 was published and found to answer as it does

It is not part of the version: without it, or if it is of another version, the store itself answers, only later.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from classic.errors import StoreError
from classic.runtime.folder import Card, is_exported, read_card
from classic.store.store import Store

FOLDER = "exports"


def kept_folder(store: Store, number: int) -> Path:
    """Where the export of a version is kept."""
    return store.path / FOLDER / f"{number:04d}"


def find_kept(store: Store, number: int) -> tuple[Path, Card] | None:
    """The folder and card of a version's export, if it is there, whole, made of this very version, and can be run."""
    folder = kept_folder(store, number)
    if not is_exported(folder) or any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "tokenizers")):
        return None
    try:
        card = read_card(folder)
    except StoreError:
        return None
    return (folder, card) if card.digest == store.digest(number) and card.domain is None else None
