"""Frozen word vectors under a small trainable network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from classic.backbones.base import Backbone, Need
from classic.backbones.encoder import pool_mean
from classic.backbones.states import make_batch, pad_states
from classic.backbones.vectors import EMBEDDED, load_vectors
from classic.modules.plastic import Plastic
from classic.modules.trunks import build_trunk
from classic.types import Batch, Example


@dataclass(frozen=True)
class W2vConfig:
    """Which word vectors are read, by which network.

    Attributes:
        vectors: ``glove-6b-50d`` (embedded), or a file in word2vec's, fastText's or GloVe's format. The paper's are 300
            wide and were trained on Amazon reviews.
        limit: How many words to read from the beginning of such a file; all of them if none is given.
        trunk: ``gated`` (the paper's network for W2V ONE and NCL), ``kim``, ``kim_fc`` (fully connected layers behind
            it, for HAT and OWM), ``gru``, or ``mean`` (nothing trained, for methods that bring networks of their own).
        hidden: Widths of the fully connected layers of ``kim_fc``; none given means two as wide as a word vector.
        hidden_bias: Whether those have a bias; OWM's have none.
        max_length: Longest input in words; 128 in the released code, which cuts the front, where the aspect is.
    """

    vectors: str = EMBEDDED
    limit: int | None = None
    trunk: Literal["kim", "kim_fc", "gated", "gru", "mean"] = "kim"
    hidden: tuple[int, ...] = ()
    hidden_bias: bool = True
    max_length: int = 128


class W2v(Backbone):
    """Frozen word vectors under a trainable trunk.

    Paper: Sec. 4.2, the "W2V" rows. The words of the aspect, then those of the sentence, are one sequence; only the
    ``gated`` trunk reads the two apart. Words are looked up in the whole table: no vocabulary is made of anybody's data.
    """

    version: ClassVar[int] = 1
    provides: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED, Need.FROZEN_TOKENS})

    def __init__(self, config: W2vConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        self._vectors = load_vectors(config.vectors, config.limit)
        self.trunk = build_trunk(config.trunk, self._vectors.width, generator, config.hidden, config.hidden_bias)
        self.features, self.token_width = self.trunk.features, self._vectors.width
        self.aspect_apart = config.trunk == "gated"

    def _parts(self, example: Example) -> tuple[list[int], list[int]]:
        """Rows of the aspect's and the sentence's words; where both are too long, the aspect goes first."""
        aspect = self._vectors.rows(example.aspect)[: self.config.max_length]
        return aspect, self._vectors.rows(example.sentence)[: self.config.max_length - len(aspect)]

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        parts = [self._parts(example) for example in examples]
        apart = self.config.trunk == "gated"
        states, mask = pad_states([self._vectors.states(s if apart else a + s) for a, s in parts])
        inputs = {"states": states, "mask": mask}
        if apart:
            inputs["aspect_states"], inputs["aspect_mask"] = pad_states([self._vectors.states(a) for a, _ in parts])
        return make_batch(inputs, examples, rows)

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return [max(1, len(aspect) + len(sentence)) for aspect, sentence in map(self._parts, examples)]

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        read = [len(self._vectors.rows(e.aspect)) + len(self._vectors.rows(e.sentence)) for e in examples]
        return [words > self.config.max_length for words in read]

    def tokens(self, batch: Batch) -> Tensor:
        return batch.inputs["states"]

    def forward(self, batch: Batch) -> Tensor:
        inputs = batch.inputs
        extra = (inputs["aspect_states"], inputs["aspect_mask"]) if self.config.trunk == "gated" else ()
        features: Tensor = self.trunk(inputs["states"], inputs["mask"], *extra)
        return features

    def plastic(self) -> dict[str, Plastic]:
        return self.trunk.plastic()

    def surface(self, batch: Batch) -> Tensor:
        return pool_mean(batch.inputs["states"], batch.inputs["mask"])

    def fingerprint(self) -> dict[str, str]:
        return {"encoder": self.config.vectors, "sha256": self._vectors.sha256}
