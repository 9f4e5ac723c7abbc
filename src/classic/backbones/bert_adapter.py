"""Adapter-BERT: a frozen encoder with two adapters in every layer; only adapters and LayerNorms learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone, Need
from classic.backbones.encoder import PairTokenizer, check_encoder, encoder_folder, load_encoder, pool_mean
from classic.config import PresetName
from classic.errors import IncompatibleError
from classic.modules.adapter import Adapter
from classic.modules.plastic import Plastic
from classic.types import Batch, Example


@dataclass(frozen=True)
class BertAdapterConfig:
    """Adapter-BERT's shape.

    Attributes:
        encoder: ``minilm`` (embedded), a folder, or a Hugging Face id of the BERT family.
        width: Hidden width of an adapter; 2000 in the paper.
        pooling: The features: ``pooler`` output of [CLS] (the released code), ``cls`` itself (the paper's words), or the
            ``mean`` of the token states, which is what MiniLM was trained for.
        max_length: Longest input in tokens; 128 in the paper.
    """

    encoder: str = "minilm"
    width: int = 768
    pooling: Literal["pooler", "cls", "mean"] = "mean"
    max_length: int = 128

    @classmethod
    def preset(cls, name: PresetName) -> BertAdapterConfig:
        """The shape of that preset, over the embedded encoder."""
        if name == "paper":  # Sec. 4.3
            return cls(width=2000, pooling="cls")
        if name == "authors":  # released code: pooler output
            return cls(width=2000, pooling="pooler")
        return cls()


class BertAdapter(Backbone):
    """A frozen encoder of the BERT family with adapters.

    Paper: Sec. 3 "BERT Adapter". An adapter stands behind the dense layer and dropout of a block's output, before the
    residual and the LayerNorm (Houlsby et al. 2019). Dropout is the last thing before the residual in every model of the
    family, so `Sequential(dropout, adapter)` in its place is all it takes.
    """

    provides: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.ADAPTERS})

    def __init__(self, config: BertAdapterConfig, generator: torch.Generator) -> None:
        super().__init__()
        folder = encoder_folder(config.encoder)
        self.config = config
        self._sha256 = check_encoder(config.encoder, folder)
        self.adapters = nn.ModuleList()  # registered before the encoder, which will hold them, too: this name wins
        self.encoder = load_encoder(folder)
        self.encoder.requires_grad_(False)
        shape: Any = self.encoder.config
        self.features = int(shape.hidden_size)
        if config.pooling == "pooler" and getattr(self.encoder, "pooler", None) is None:
            raise IncompatibleError(
                f"encoder {config.encoder!r} has no pooler", fix="set backbone.pooling to 'cls' or 'mean'"
            )
        segments = shape.to_dict().get("type_vocab_size", 1) > 1
        longest = min(config.max_length, _longest(shape))
        self._tokenizer = PairTokenizer(folder, longest, segments, shape.pad_token_id or 0)
        self._norms: list[nn.LayerNorm] = []
        for owner in adapter_sites(self.encoder):
            adapter = Adapter(self.features, config.width, generator)
            self.adapters.append(adapter)
            owner.dropout = nn.Sequential(owner.dropout, adapter)
            owner.LayerNorm.requires_grad_(True)
            self._norms.append(owner.LayerNorm)

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        return self._tokenizer.collate(examples, rows)

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return self._tokenizer.lengths(examples)

    def truncated(self, examples: Sequence[Example]) -> list[bool]:
        return self._tokenizer.truncated(examples)

    def tokens(self, batch: Batch) -> Tensor:
        states: Tensor = self._run(batch).last_hidden_state
        return states

    def forward(self, batch: Batch) -> Tensor:
        if self.config.pooling == "pooler":
            pooled: Tensor = self._run(batch).pooler_output
            return pooled
        states = self.tokens(batch)
        if self.config.pooling == "cls":
            return states[:, 0]
        return pool_mean(states, batch.inputs["attention_mask"])

    def _run(self, batch: Batch) -> Any:
        inputs = dict(batch.inputs)
        if not self._tokenizer.segments:
            del inputs["token_type_ids"]
        return self.encoder(**inputs)

    def surface(self, batch: Batch) -> Tensor:
        embeddings: Any = self.encoder.embeddings  # type: ignore[union-attr]
        words = embeddings.word_embeddings(batch.inputs["input_ids"])
        return pool_mean(words, batch.inputs["attention_mask"])

    def plastic(self) -> dict[str, Plastic]:
        layers: dict[str, Plastic] = {}
        for index, adapter in enumerate(self.adapters):
            assert isinstance(adapter, Adapter)
            layers[f"adapter{index}.down"] = adapter.down
            layers[f"adapter{index}.up"] = adapter.up
        return layers

    def norms(self) -> list[nn.LayerNorm]:
        return self._norms

    def fingerprint(self) -> dict[str, str]:
        return {"encoder": self.config.encoder, "sha256": self._sha256, "tokenizer": self._tokenizer.sha256}


def adapter_sites(encoder: nn.Module) -> list[Any]:
    """The modules that end in dropout, residual and LayerNorm, two per transformer layer, in the order they run."""
    sites: list[Any] = []
    stack: Any = getattr(encoder, "encoder", None)
    for layer in getattr(stack, "layer", []):
        attention = layer.attention
        # MPNet ends its attention block in the attention module itself, the others in a sub-module of their own.
        sites.append(attention.output if "output" in dict(attention.named_children()) else attention)
        sites.append(layer.output)
    for site in sites:
        if not isinstance(getattr(site, "dropout", None), nn.Dropout) or not isinstance(
            getattr(site, "LayerNorm", None), nn.LayerNorm
        ):
            sites = []
            break
    if not sites:
        raise IncompatibleError(
            f"{type(encoder).__name__} is not of the BERT family: no place for adapters found",
            fix="use a BERT, RoBERTa, ELECTRA, MPNet or XLM-R encoder",
        )
    return sites


def _longest(shape: Any) -> int:
    # RoBERTa-like encoders count positions from pad_token_id + 1.
    offset = (shape.pad_token_id or 0) + 1 if shape.model_type in {"roberta", "xlm-roberta", "mpnet"} else 0
    return int(shape.max_position_embeddings) - offset
