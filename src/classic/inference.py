"""The predictor: a sentence and its aspects in, polarities out; nobody says which domain."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch

from classic.batching import sorted_batches
from classic.errors import InputError
from classic.learning import Learner, load_learner
from classic.store import Store
from classic.types import POLARITIES, Example, Prediction, Scenario, make_example

_WINDOW = 1024  # examples read ahead and sorted by length; bounds the memory of a stream


class Predictor:
    """Predicts with one version of a store.

    Example:
        predictor = Predictor.open("reviews.store")
        predictor.predict("The screen is gorgeous but the battery died at noon.", ["screen", "battery"])

    Args:
        learner: A model in memory.
        version: The number of the version it is.
        device: Where it is.
    """

    def __init__(self, learner: Learner, version: int, device: str = "cpu") -> None:
        if not learner.domains:
            raise InputError("this store has not learned any domain yet", fix="teach it one with `classic learn`")
        self.learner = learner
        self.version = version
        self.device = device

    @classmethod
    def open(cls, store: Path | str | Store, version: int | None = None, device: str = "cpu") -> Predictor:
        """Opens a store's current version, or another one."""
        opened = store if isinstance(store, Store) else Store.open(store)
        number = opened.current if version is None else version
        return cls(load_learner(opened, number, device), number, device)

    @property
    def domains(self) -> list[str]:
        """The domains it has learned, in order."""
        return list(self.learner.domains)

    def predict(
        self,
        sentence: str,
        aspects: Sequence[str | tuple[int, int]],
        *,
        domain: str | None = None,
    ) -> list[Prediction]:
        """One prediction per aspect.

        Args:
            sentence: The sentence.
            aspects: Aspect terms, or character spans (start, end) of them in the sentence.
            domain: The domain, in a store that learns task-incrementally; not needed otherwise.
        """
        examples = [make_example(sentence, aspect) for aspect in aspects]
        return list(self.stream(examples, domain=domain))

    def stream(
        self,
        examples: Iterable[Example],
        *,
        domain: str | None = None,
        batch_size: int = 32,
        window: int | None = None,
    ) -> Iterator[Prediction]:
        """Predictions in the order of the examples.

        Args:
            examples: What is asked; read a window ahead, so memory stays flat on any file.
            domain: As in `predict`.
            batch_size: Examples computed at once.
            window: How many examples are read before the first is answered; more of them are sorted better by length.
        """
        task = self._task(domain)
        waiting = iter(examples)
        while ahead := list(itertools.islice(waiting, window or _WINDOW)):
            yield from self._predict_window(ahead, task, batch_size)

    def _task(self, domain: str | None) -> int | None:
        til = self.learner.config.scenario is Scenario.TIL
        if domain is None:
            if til:
                raise InputError(
                    "this store learns task-incrementally: it must be told the domain", fix="give the option --domain"
                )
            return None
        if domain not in self.learner.domains:
            raise InputError(
                f"this store has not learned a domain {domain!r}", fix=f"it knows {', '.join(self.learner.domains)}"
            )
        return self.learner.domains.index(domain)

    def _predict_window(self, window: list[Example], task: int | None, batch_size: int) -> list[Prediction]:
        method, backbone = self.learner.method, self.learner.method.model.backbone
        truncated = backbone.truncated(window)
        found: list[Prediction | None] = [None] * len(window)
        method.eval()
        with torch.inference_mode():
            for batch in sorted_batches(backbone, window, batch_size):
                moved = batch.to(self.device)
                probabilities = (method.logits(moved, task) / self.learner.temperature).softmax(dim=1).cpu()
                nearest, unfamiliar = self.learner.map.locate(backbone.surface(moved).cpu())
                for place, row in enumerate(batch.rows.tolist()):
                    example, shares = window[row], probabilities[place].tolist()
                    found[row] = Prediction(
                        sentence=example.sentence,
                        aspect=example.aspect,
                        span=example.span,
                        polarity=POLARITIES[int(probabilities[place].argmax())],
                        probabilities=(shares[0], shares[1], shares[2]),
                        nearest_domain=self.learner.domains[int(nearest[place])],
                        unfamiliar=bool(unfamiliar[place]),
                        truncated=truncated[row],
                        version=self.version,
                    )
        return [prediction for prediction in found if prediction is not None]
