"""What all backbones that run an encoder over pairs of aspect and sentence have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from classic.backbones.base import Backbone
from classic.backbones.encoder import (
    PairTokenizer,
    check_encoder,
    encoder_folder,
    load_encoder,
    pool_aspect,
    pool_mean,
)
from classic.errors import IncompatibleError
from classic.runtime.pairs import SENTENCE
from classic.types import Batch, Example

Pooling = Literal["pooler", "cls", "mean", "aspect"]


class PairBackbone(Backbone):
    """An encoder of the BERT family over [CLS] aspect [SEP] sentence [SEP], and one vector of what it says.

    Args:
        name: The encoder.
        pooling: ``pooler`` output of [CLS], ``cls`` itself, the ``mean`` of the token states, or that mean beside the mean
            of the ``aspect``'s own tokens in the sentence.
        max_length: Longest input in tokens.
    """

    version: ClassVar[int] = 1
    encoder: nn.Module

    def __init__(self, name: str, pooling: Pooling, max_length: int) -> None:
        super().__init__()
        folder = encoder_folder(name)
        self._name, self._pooling = name, pooling
        self._sha256 = check_encoder(name, folder)
        self._reserve()
        self.encoder = load_encoder(folder)
        shape: Any = self.encoder.config
        self.hidden = int(shape.hidden_size)
        self.features = 2 * self.hidden if pooling == "aspect" else self.hidden
        if pooling == "pooler" and getattr(self.encoder, "pooler", None) is None:
            raise IncompatibleError(f"encoder {name!r} has no pooler", fix="set backbone.pooling to 'cls' or 'mean'")
        self._tokenizer = pair_tokenizer(folder, self.encoder, max_length, marks=pooling == "aspect")

    def _reserve(self) -> None:
        """Registers what must have its name before the encoder has one."""

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        return self._tokenizer.collate(examples, rows)

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return self._tokenizer.lengths(examples)

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        return self._tokenizer.truncated(examples)

    def encode(self, batch: Batch) -> Any:
        """The encoder's outputs for a batch."""
        return run_encoder(self.encoder, batch, self._tokenizer.segments)

    def tokens(self, batch: Batch) -> Tensor:
        states: Tensor = self.encode(batch).last_hidden_state
        return states

    def forward(self, batch: Batch) -> Tensor:
        if self._pooling == "pooler":
            pooled: Tensor = self.encode(batch).pooler_output
            return pooled
        states, mask = self.tokens(batch), batch.inputs["attention_mask"]
        if self._pooling == "aspect":
            return pool_aspect(states, mask, batch.inputs["token_type_ids"])
        return states[:, 0] if self._pooling == "cls" else pool_mean(states, mask)

    def fingerprint(self) -> dict[str, str]:
        """The encoder as it was before any training."""
        return {"encoder": self._name, "sha256": self._sha256, "tokenizer": self._tokenizer.sha256}


def pair_tokenizer(folder: Path, encoder: nn.Module, max_length: int, *, marks: bool = False) -> PairTokenizer:
    """The tokenizer that fits an encoder: its segments, its padding, and no more tokens than it has positions."""
    shape: Any = encoder.config
    # RoBERTa-like encoders count positions from pad_token_id + 1.
    offset = (shape.pad_token_id or 0) + 1 if shape.model_type in {"roberta", "xlm-roberta", "mpnet"} else 0
    longest = min(max_length, int(shape.max_position_embeddings) - offset)
    segments = shape.to_dict().get("type_vocab_size", 1) > 1
    return PairTokenizer(folder, longest, segments, shape.pad_token_id or 0, marks=marks)


def run_encoder(encoder: nn.Module, batch: Batch, segments: bool) -> Any:
    """The encoder's outputs for a batch of pairs."""
    inputs = dict(batch.inputs)
    kinds = inputs.pop("token_type_ids")
    return encoder(**inputs, token_type_ids=kinds.clamp(max=SENTENCE)) if segments else encoder(**inputs)
