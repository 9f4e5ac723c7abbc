"""The predictor: a sentence and its aspects in, polarities out; nobody says which domain."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from numbers import Integral
from pathlib import Path

import torch
from torch import Tensor

from classic.batching import sorted_batches
from classic.errors import InputError, StoreError
from classic.finding.marking import computing
from classic.learning.learner import Learner, load_learner
from classic.prediction.folding import Folded, FoldedFinder, can_fold, fold, fold_finder
from classic.runtime.answering import Answering, as_prediction, unknown_domain
from classic.runtime.batches import TOKENS, like_length
from classic.runtime.sentences import Mark
from classic.runtime.words import mark_all
from classic.store.store import Store
from classic.types import Batch, Example, Prediction, Scenario


class Predictor(Answering):
    """Predicts with one version of a store.

    Where the method allows it, the masks are folded into the weights first and dead units left out: the same answers,
    sooner (`classic.prediction.folding`).

    Example:
        predictor = Predictor.open("reviews.store")
        predictor.predict("The screen is gorgeous but the battery died at noon.", ["screen", "battery"])

    Args:
        learner: A model in memory.
        version: The number of the version it is.
        device: Where it is.
        folded: Whether to fold.
    """

    def __init__(self, learner: Learner, version: int, device: str = "cpu", *, folded: bool = True) -> None:
        if not learner.domains:
            raise InputError("this store has not learned any domain yet", fix="teach it one with `classic learn`")
        learner.method.eval()
        self.learner = learner
        self.version = version
        self.device = device
        self._whitener = learner.map.whitener()
        self._folds = folded and can_fold(learner.method)
        self._networks: dict[int | None, Folded] = {}
        self._finder: FoldedFinder | None = None
        self._folding = threading.Lock()  # while a task is folded, the model acts as that task

    @classmethod
    def open(cls, store: Path | str | Store, version: int | None = None, device: str = "cpu") -> Predictor:
        """Opens a store's current version, or another one."""
        opened = store if isinstance(store, Store) else Store.open(store)
        number = opened.current if version is None else _number(version)
        return cls(load_learner(opened, number, device), number, device)

    @property
    def domains(self) -> list[str]:
        return list(self.learner.domains)

    def check_domain(self, domain: str | None) -> None:
        if domain is None and self.learner.config.scenario is Scenario.TIL:
            raise InputError(
                "this store learns task-incrementally: it must be told the domain", fix="give the option --domain"
            )
        if domain is not None and domain not in self.learner.domains:
            raise unknown_domain(domain, self.learner.domains)

    @property
    def finds(self) -> bool:
        return self.learner.finder is not None and self.learner.finder.tensors is not None

    def mark(self, sentences: list[str], min_confidence: float) -> list[list[Mark]]:
        if not self.finds:
            return super().mark(sentences, min_confidence)
        finder = self._finding()
        return mark_all(finder.reader, computing(finder, self.device), sentences, min_confidence)

    def _finding(self) -> FoldedFinder:
        assert self.learner.finder
        with self._folding:
            if self._finder is None:
                try:
                    self._finder = fold_finder(self.learner.finder.build(self.device))
                except ValueError as error:
                    raise StoreError(f"the finder is not one of this store ({error})", fix="do not use it") from None
            return self._finder

    def answer(self, examples: list[Example], domain: str | None, batch_size: int) -> list[Prediction]:
        task = None if domain is None else self.learner.domains.index(domain)
        truncated = self.learner.method.model.backbone.truncated(examples)
        found: dict[int, Prediction] = {}
        for batch, logits, surfaces in self._compute(examples, task, batch_size):
            probabilities = (logits / self.learner.temperature).softmax(dim=1).cpu()
            nearest, unfamiliar = self.learner.map.locate(surfaces.cpu(), self._whitener)
            for place, row in enumerate(batch.rows.tolist()):
                found[row] = as_prediction(
                    examples[row],
                    probabilities[place].tolist(),
                    self.learner.domains[int(nearest[place])],
                    bool(unfamiliar[place]),
                    truncated[row],
                    self.version,
                )
        return [found[row] for row in range(len(examples))]

    def logits(self, examples: list[Example], domain: str | None = None, batch_size: int = 32) -> Tensor:
        """Logits (n, C) in the order of the examples, before calibration."""
        task = None if domain is None else self.learner.domains.index(domain)
        found = torch.zeros(len(examples), len(self.learner.method.present))
        for batch, logits, _ in self._compute(examples, task, batch_size):
            found[batch.rows] = logits.cpu()
        return found

    def _network(self, task: int | None) -> Folded:
        with self._folding:
            if task not in self._networks:
                self._networks[task] = fold(self.learner, task)
            return self._networks[task]

    @torch.inference_mode()
    def _compute(
        self, examples: list[Example], task: int | None, batch_size: int
    ) -> Iterator[tuple[Batch, Tensor, Tensor]]:
        """Batches of like length with their logits (B, C) and surfaces (B, d)."""
        method, backbone = self.learner.method, self.learner.method.model.backbone
        if self._folds:
            network = self._network(task)
            tokens = TOKENS if self.device == "cpu" else sys.maxsize
            for rows in like_length(network.tokenizer.lengths(examples), batch_size, tokens):
                batch = network.tokenizer.collate([examples[row] for row in rows], rows)
                logits, surfaces = network(**batch.to(self.device).inputs)
                yield batch, logits, surfaces
            return
        for batch in sorted_batches(backbone, examples, batch_size):
            moved = batch.to(self.device)
            yield batch, method.answer(moved, task), backbone.surface(moved)


def _number(version: object) -> int:
    """The number of a version, which notebooks and settings may hold as text."""
    if isinstance(version, Integral) and not isinstance(version, bool):
        return int(version)
    if isinstance(version, str) and version.isascii() and version.isdigit():
        return int(version)
    raise InputError(f"version {version!r} is no whole number", fix="give its number, as `classic store list` tells it")
