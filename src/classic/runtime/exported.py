"""The predictor of an exported folder."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from classic.errors import InputError, StoreError
from classic.runtime.answering import Answering, as_prediction, unknown_domain
from classic.runtime.batches import like_length
from classic.runtime.folder import FINDER, MODEL, TOKENIZER, Card, finder_tokenizer, read_card
from classic.runtime.pairs import Inputs, Pair, PairReader
from classic.runtime.sentences import Mark
from classic.runtime.words import WordReader, mark_all
from classic.types import Example, Prediction

Array = np.ndarray[Any, np.dtype[np.float32]]


class ExportedPredictor(Answering):
    """Predicts from a folder that `classic export` wrote. Importing and using it needs no torch.

    Example:
        predictor = ExportedPredictor("reviews.onnx")
        predictor.predict("The screen is gorgeous but the battery died at noon.", ["screen", "battery"])

    Args:
        folder: The exported folder; its files are checked against their sha256 first.
        threads: CPU threads; all cores if none are given.
        card: What `read_card` gave, by somebody who has checked the files just now.
    """

    def __init__(self, folder: Path | str, threads: int | None = None, card: Card | None = None) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"{threads} threads", fix="give at least 1")
        folder = Path(folder)
        self.card = card or read_card(folder)
        self.version = self.card.version
        card = self.card
        self._reader = PairReader(folder / TOKENIZER, card.max_length, card.segments, card.pad_id, marks=card.marks)
        self._session = open_session(folder / MODEL, threads)
        self._folder, self._threads = folder, threads
        self._finder: Any = None
        self._words: WordReader | None = None
        self._opening = threading.Lock()

    @property
    def domains(self) -> list[str]:
        return list(self.card.domains)

    def check_domain(self, domain: str | None) -> None:
        if domain is not None and domain not in self.card.domains:
            raise unknown_domain(domain, self.card.domains)
        wanted = self.card.domain
        if wanted is None and domain is not None:
            raise InputError(
                "an exported model answers with the newest model, whatever the domain",
                fix="leave the domain out, or ask the store",
            )
        if wanted is not None and domain != wanted:
            raise InputError(
                f"this folder was exported for the domain {wanted!r}", fix=f"give it as the domain: {wanted}"
            )

    @property
    def finds(self) -> bool:
        return bool(self.card.finder)

    def mark(self, sentences: list[str], min_confidence: float) -> list[list[Mark]]:
        if not self.finds:
            return super().mark(sentences, min_confidence)
        return mark_all(self._word_reader(), self.word_logits, sentences, min_confidence)

    def word_logits(self, inputs: Inputs) -> Array:
        """Logits (B, L, 3) of the finder, for a batch that `_word_reader` made."""
        with self._opening:
            if self._finder is None:  # only now: most folders are asked about given aspects
                self._finder = open_session(self._folder / FINDER, self._threads)
        (logits,) = self._finder.run(None, inputs)
        return logits  # type: ignore[no-any-return]

    def _word_reader(self) -> WordReader:
        from tokenizers import Tokenizer

        if self._words is None:
            tokenizer = Tokenizer.from_file(str(self._folder / finder_tokenizer(self.card)))
            finder = self.card.finder
            # Exports of earlier releases do not tell the finder's padding: it was the model's.
            self._words = WordReader(tokenizer, int(finder["max_length"]), int(finder.get("pad_id", self.card.pad_id)))
        return self._words

    def answer(self, examples: list[Example], domain: str | None, batch_size: int) -> list[Prediction]:
        pairs = self._reader.read(examples)
        found: dict[int, Prediction] = {}
        for rows, logits, distances in self._compute(pairs, batch_size):
            for row, said, gaps in zip(rows, logits.tolist(), distances.tolist(), strict=True):
                found[row] = as_prediction(
                    examples[row],
                    _softmax(said, self.card.temperature),
                    self.card.domains[gaps.index(min(gaps))],
                    all(gap > reach for gap, reach in zip(gaps, self.card.reach, strict=True)),
                    pairs[row].truncated,
                    self.version,
                )
        return [found[row] for row in range(len(examples))]

    def logits(self, examples: list[Example], batch_size: int = 32) -> Array:
        """Logits (n, C) in the order of the examples, before calibration."""
        found = np.zeros((len(examples), len(self.card.labels)), np.float32)
        for rows, logits, _ in self._compute(self._reader.read(examples), batch_size):
            found[rows] = logits
        return found

    def _compute(self, pairs: list[Pair], batch_size: int) -> Iterator[tuple[list[int], Array, Array]]:
        """Batches of like length: their rows, logits (B, C) and distances (B, T)."""
        for rows in like_length([len(pair.ids) for pair in pairs], batch_size):
            logits, distances = self._session.run(None, self._reader.pad([pairs[row] for row in rows]))
            yield rows, logits, distances


def _softmax(logits: list[float], temperature: float) -> list[float]:
    """In plain Python, which is faster than numpy for three numbers: one sentence is asked at a time in a service."""
    top = max(logits)
    grown = [math.exp((value - top) / temperature) for value in logits]
    total = sum(grown)
    return [value / total for value in grown]


def open_session(file: Path, threads: int | None) -> Any:
    """A graph, ready to be run on the CPU."""
    try:
        import onnxruntime
    except ImportError:
        raise InputError(
            "an exported model needs onnxruntime", fix="pip install 'classic-asc[runtime]', or ask the store itself"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads sleep instead of spinning: a predictor shares its machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            str(file),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],  # its kernel is slower than the two it replaces
        )
    except Exception as error:  # onnxruntime raises classes of its own that it does not export
        raise StoreError(
            f"{file} cannot be run by onnxruntime {onnxruntime.__version__} ({type(error).__name__})",
            fix="export the store again with this version",
        ) from None
