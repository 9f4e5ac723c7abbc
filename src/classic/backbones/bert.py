"""Fine-tuned BERT: every weight of the encoder trains, but the pooler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone
from classic.backbones.encoder import PairTokenizer, check_encoder, encoder_folder, load_encoder, pool_mean
from classic.config import PresetName
from classic.errors import IncompatibleError
from classic.types import Batch, Example


@dataclass(frozen=True)
class BertConfig:
    """Which encoder is fine-tuned, and what its features are.

    Attributes:
        encoder: ``minilm`` (embedded), a folder, or a Hugging Face id of the BERT family.
        pooling: The features: ``pooler`` output of [CLS] (the released code), ``cls`` itself (the paper's words), or
            the ``mean`` of the token states, which is what MiniLM was trained for.
        max_length: Longest input in tokens; 128 in the paper.
    """

    encoder: str = "minilm"
    pooling: Literal["pooler", "cls", "mean"] = "mean"
    max_length: int = 128

    @classmethod
    def preset(cls, name: PresetName) -> BertConfig:
        """The features of that preset, over the embedded encoder."""
        if name == "paper":  # Sec. 4.3
            return cls(pooling="cls")
        if name == "authors":  # released code: pooler output, the pooler left out of the optimiser
            return cls(pooling="pooler")
        return cls()


class Bert(Backbone):
    """An encoder of the BERT family, fine-tuned.

    Paper: Sec. 4.2, the "BERT" rows of ONE and NCL. All of it trains but the pooler, which the released code leaves out
    of the optimiser. It has no layer of its own that a method could gate, so methods that need one cannot use it.
    """

    first_words: Tensor

    def __init__(self, config: BertConfig, generator: torch.Generator) -> None:
        super().__init__()
        folder = encoder_folder(config.encoder)
        self.config = config
        self._sha256 = check_encoder(config.encoder, folder)
        self.encoder = load_encoder(folder)
        pooler = getattr(self.encoder, "pooler", None)
        if pooler is not None:
            pooler.requires_grad_(False)
        elif config.pooling == "pooler":
            raise IncompatibleError(
                f"encoder {config.encoder!r} has no pooler", fix="set backbone.pooling to 'cls' or 'mean'"
            )
        self.features = int(self.encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self._tokenizer = pair_tokenizer(folder, self.encoder, config.max_length)
        # What a text is about must not change when the word embeddings are trained; read from the encoder, never saved.
        words: Any = self.encoder.embeddings.word_embeddings  # type: ignore[union-attr]
        self.register_buffer("first_words", words.weight.detach().clone(), persistent=False)

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        return self._tokenizer.collate(examples, rows)

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return self._tokenizer.lengths(examples)

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        return self._tokenizer.truncated(examples)

    def tokens(self, batch: Batch) -> Tensor:
        states: Tensor = run_encoder(self.encoder, batch, self._tokenizer.segments).last_hidden_state
        return states

    def forward(self, batch: Batch) -> Tensor:
        if self.config.pooling == "pooler":
            pooled: Tensor = run_encoder(self.encoder, batch, self._tokenizer.segments).pooler_output
            return pooled
        states = self.tokens(batch)
        if self.config.pooling == "cls":
            return states[:, 0]
        return pool_mean(states, batch.inputs["attention_mask"])

    def surface(self, batch: Batch) -> Tensor:
        words = nn.functional.embedding(batch.inputs["input_ids"], self.first_words)
        return pool_mean(words, batch.inputs["attention_mask"])

    def fingerprint(self) -> dict[str, str]:
        """The encoder training began with; what became of it is saved with a model."""
        return {"encoder": self.config.encoder, "sha256": self._sha256, "tokenizer": self._tokenizer.sha256}


def pair_tokenizer(folder: Path, encoder: nn.Module, max_length: int) -> PairTokenizer:
    """The tokenizer that fits an encoder: its segments, its padding, and no more tokens than it has positions."""
    shape: Any = encoder.config
    # RoBERTa-like encoders count positions from pad_token_id + 1.
    offset = (shape.pad_token_id or 0) + 1 if shape.model_type in {"roberta", "xlm-roberta", "mpnet"} else 0
    longest = min(max_length, int(shape.max_position_embeddings) - offset)
    segments = shape.to_dict().get("type_vocab_size", 1) > 1
    return PairTokenizer(folder, longest, segments, shape.pad_token_id or 0)


def run_encoder(encoder: nn.Module, batch: Batch, segments: bool) -> Any:
    """The encoder's outputs for a batch of pairs."""
    inputs = dict(batch.inputs)
    if not segments:
        del inputs["token_type_ids"]
    return encoder(**inputs)
