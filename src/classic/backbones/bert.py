"""Fine-tuned BERT: every weight of the encoder trains, but the pooler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Need
from classic.backbones.encoder import pool_mean
from classic.backbones.pairs import PairBackbone, Pooling
from classic.errors import IncompatibleError
from classic.modules.plastic import Plastic
from classic.types import Batch


@dataclass(frozen=True)
class BertConfig:
    """Which encoder is fine-tuned, and what its features are.

    Attributes:
        encoder: ``minilm`` (embedded), a folder, or a Hugging Face id of the BERT family.
        pooling: As of Adapter-BERT: ``pooler``, ``cls``, ``mean`` or ``aspect``.
        max_length: Longest input in tokens; 128 in the paper.
    """

    encoder: str = "minilm"
    pooling: Pooling = "mean"
    max_length: int = 128


class Bert(PairBackbone):
    """An encoder of the BERT family, fine-tuned.

    Paper: Sec. 4.2, the "BERT" rows of ONE and NCL. All of it trains but the pooler, which the released code leaves out
    of the optimiser. A method may gate the hidden units of the feed-forward networks. Attention and embeddings train
    beside them, so a method that must contain all learning in gated layers cannot use it.
    """

    version: ClassVar[int] = 1
    provides: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC})
    first_words: Tensor

    def __init__(self, config: BertConfig, generator: torch.Generator) -> None:
        super().__init__(config.encoder, config.pooling, config.max_length)
        pooler = getattr(self.encoder, "pooler", None)
        if pooler is not None:
            pooler.requires_grad_(False)
        # What a text is about must not change when the word embeddings are trained; read from the encoder, never saved.
        words: Any = self.encoder.embeddings.word_embeddings  # type: ignore[union-attr]
        self.register_buffer("first_words", words.weight.detach().clone(), persistent=False)

    def surface(self, batch: Batch) -> Tensor:
        words = nn.functional.embedding(batch.inputs["input_ids"], self.first_words)
        return pool_mean(words, batch.inputs["attention_mask"])

    def plastic(self) -> dict[str, Plastic]:
        """The hidden layers of the feed-forward networks; made such when a method first asks for them."""
        stack: Any = getattr(self.encoder, "encoder", None)
        layers = list(getattr(stack, "layer", []))
        if not layers or any(getattr(layer, "intermediate", None) is None for layer in layers):
            raise IncompatibleError(
                f"{type(self.encoder).__name__} is not of the BERT family: no feed-forward networks found",
                fix="use a BERT, RoBERTa, ELECTRA, MPNet or XLM-R encoder",
            )
        for layer in layers:
            if not isinstance(layer.intermediate, Plastic):
                layer.intermediate = Plastic(layer.intermediate.dense, layer.intermediate.intermediate_act_fn)
        return {f"layer{index}.hidden": layer.intermediate for index, layer in enumerate(layers)}
