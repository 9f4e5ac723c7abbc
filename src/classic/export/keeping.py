"""Keeps an export beside the version in use: made when a version is published, where the extra `export` is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from pathlib import Path

from classic.data.demo import DEMO_DOMAINS, load_demo
from classic.errors import ClassicError
from classic.export import export_store
from classic.prediction.kept import FOLDER, find_kept, kept_folder
from classic.store.store import Store

_ASKED = 12  # texts of each demo domain that it must answer as the store does


def keep_export(store: Store) -> Path | None:
    """Makes the export of the version in use, unless it is there, and removes those of other versions.

    Returns:
        Its folder; None where the extra is missing, or where this store has no export that answers as it does.
    """
    if any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime")):
        return None
    number = store.current
    folder = kept_folder(store, number)
    try:
        if find_kept(store, number) is None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(exist_ok=True)
            export_store(store, folder, sets={name: load_demo(name).test[:_ASKED] for name in DEMO_DOMAINS})
    except (ClassicError, OSError):  # learning has succeeded; this is only for speed
        with contextlib.suppress(OSError):
            folder.parent.rmdir()  # if nothing is in it
        return None
    for other in (store.path / FOLDER).iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return folder
