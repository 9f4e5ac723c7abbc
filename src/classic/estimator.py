"""A classifier in the manner of scikit-learn, which is not needed for it: a thin shell around a store and its predictor."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from classic.config import check_preset
from classic.data.memory import to_examples
from classic.errors import InputError
from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.prediction.predictor import Predictor
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import POLARITIES, Example, Prediction

Array = np.ndarray[Any, np.dtype[Any]]
_PARAMETERS = ("path", "preset", "settings", "seed")


class AspectClassifier:
    """Learns domain after domain: ``fit`` the first, ``partial_fit`` each further one.

    X is what `classic.data.to_examples` takes without labels: pairs (sentence, aspect), dicts, a DataFrame. y has one label
    per row, or is left out where the rows of X are labelled.

    >>> X = [("good zoom", "zoom"), ("bad zoom", "zoom"), ("great lens", "lens"), ("awful lens", "lens")]
    >>> y = ["positive", "negative", "positive", "negative"]
    >>> model = AspectClassifier(settings=tiny).fit(X, y, domain="camera")
    >>> model.partial_fit([("good soup", "soup"), ("bad soup", "soup")], y[:2], domain="food").domains_
    ['camera', 'food']
    >>> model.predict_proba(X).shape
    (4, 3)

    Args:
        path: Folder of the store; a temporary one, gone with the object, if none is given.
        preset: Recipe: ``default``, ``paper`` or ``authors``.
        settings: Changes of the recipe, e.g. ``{"train.epochs": 2}``.
        seed: Root of all randomness.

    Attributes:
        classes_: The columns of `predict_proba`.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        preset: str = "default",
        settings: dict[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.path, self.preset, self.settings, self.seed = path, preset, settings, seed
        self.classes_ = np.array([str(polarity) for polarity in POLARITIES])
        self._store: Store | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._predictor: Predictor | None = None

    @property
    def domains_(self) -> list[str]:
        """The learned domains, in order."""
        return self._store.domains() if self._store else []

    def fit(self, X: object, y: object = None, domain: str = "domain") -> AspectClassifier:  # noqa: N803
        """Begins anew with one domain. A store with learned domains is never overwritten."""
        if self.path is not None and Store.exists(self.path) and Store.open(self.path).domains():
            raise InputError(f"{self.path} has learned already", fix="use partial_fit, or give another path")
        self._store = None
        return self.partial_fit(X, y, domain)

    def partial_fit(self, X: object, y: object = None, domain: str = "domain") -> AspectClassifier:  # noqa: N803
        """Learns one more domain; the rows are split 80/10/10 by sentence, as `classic learn` does."""
        if self._store is None:
            self._store = self._open()
        version, learner = teach(self._store, _labelled(X, y), domain)
        self._predictor = Predictor(learner, version.number)
        return self

    def predict(self, X: object) -> Array:  # noqa: N803
        """The polarity of each row, as a word."""
        return np.array([str(answer.polarity) for answer in self._answers(X)])

    def predict_proba(self, X: object) -> Array:  # noqa: N803
        """The probabilities (n, 3), in the order of `classes_`."""
        return np.array([tuple(answer.probabilities) for answer in self._answers(X)]).reshape(-1, len(POLARITIES))

    def score(self, X: object, y: object = None) -> float:  # noqa: N803
        """Accuracy."""
        examples = _labelled(X, y)
        right = [a.polarity == e.polarity for a, e in zip(self._answers(examples), examples, strict=True)]
        return sum(right) / len(right)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, so that scikit-learn can clone it."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **changes: Any) -> AspectClassifier:
        """Changes settings before `fit`."""
        for name, value in changes.items():
            if name not in _PARAMETERS:
                raise InputError(f"unknown setting {name!r}", fix=f"known: {', '.join(_PARAMETERS)}")
            setattr(self, name, value)
        return self

    def _open(self) -> Store:
        if self.path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="classic-")
        path = Path(self._folder.name) / "store" if self._folder and self.path is None else Path(str(self.path))
        config = SystemConfig.preset(check_preset(self.preset), changes=self.settings or {})
        return open_or_create(path, config, self.seed)

    def _answers(self, X: object) -> list[Prediction]:  # noqa: N803
        if self._predictor is None:
            if self.path is None or not Store.exists(self.path):
                raise InputError("nothing is learned yet", fix="call fit first")
            self._predictor = Predictor.open(self.path)
        return self._predictor.predict(X)


def _labelled(X: object, y: object) -> list[Example]:  # noqa: N803
    if y is None:
        return to_examples(X)
    rows = to_examples(X, labelled=False)
    labels = list(y) if isinstance(y, Iterable) and not isinstance(y, str) else []
    if len(labels) != len(rows):
        raise InputError(f"{len(rows)} rows but {len(labels)} labels", fix="give one label per row")
    spans = ({"span": row.span} if row.span else {} for row in rows)
    return to_examples(
        {"sentence": row.sentence, "aspect": row.aspect, "polarity": label} | span
        for row, label, span in zip(rows, labels, spans, strict=True)
    )
