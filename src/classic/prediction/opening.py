"""The predictor of a path: a store's, which needs torch, or an exported folder's, which does not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classic.errors import InputError
from classic.runtime.folder import is_exported

if TYPE_CHECKING:
    from classic.runtime.answering import Answering


def open_predictor(
    path: Path | str, version: int | None = None, device: str = "cpu", threads: int | None = None
) -> Answering:
    """Opens a store or an exported folder.

    Args:
        path: The folder.
        version: An older version of a store.
        device: Where a store's model computes.
        threads: CPU threads of an exported model.
    """
    if is_exported(path):
        if version is not None:
            raise InputError("an exported folder holds one version", fix="leave the version out, or name the store")
        from classic.runtime.exported import ExportedPredictor

        return ExportedPredictor(path, threads)
    from classic.prediction.predictor import Predictor

    return Predictor.open(path, version, device)
