"""CLASSIC: continual and contrastive learning of aspect sentiment classification.

The public names are found on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from classic._version import __version__
from classic.errors import NEEDED_TO_LEARN, MissingExtraError

_HOMES = {
    "AspectClassifier": "classic.estimator",
    "Example": "classic.types",
    "Found": "classic.types",
    "Polarity": "classic.types",
    "Prediction": "classic.types",
    "Predictor": "classic.prediction.predictor",
    "Store": "classic.store.store",
    "SystemConfig": "classic.systems.system",
    "Task": "classic.types",
    "evaluate": "classic.prediction.testing",
    "learn_sequence": "classic.learning.sequence",
    "load_task": "classic.data",
    "make_task": "classic.data",
    "open_or_create": "classic.learning.learner",
    "read_examples": "classic.data",
    "teach": "classic.learning.teach",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - the keys are strings


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(_HOMES[name]), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in NEEDED_TO_LEARN:
                raise
            raise MissingExtraError(
                f"classic.{name} needs {missing}, which is not installed", fix="pip install 'classic-asc[learn]'"
            ) from None
    raise AttributeError(f"module 'classic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
