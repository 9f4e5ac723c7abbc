"""Adapter-BERT: a frozen encoder with two adapters in every layer; only adapters and LayerNorms learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Need
from classic.backbones.encoder import pool_mean
from classic.backbones.pairs import PairBackbone, Pooling
from classic.config import PresetName
from classic.errors import IncompatibleError
from classic.modules.adapter import Adapter
from classic.modules.plastic import Plastic
from classic.types import Batch


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
    pooling: Pooling = "mean"
    max_length: int = 128

    @classmethod
    def preset(cls, name: PresetName) -> BertAdapterConfig:
        """The shape of that preset, over the embedded encoder."""
        if name == "paper":  # Sec. 4.3
            return cls(width=2000, pooling="cls")
        if name == "authors":  # released code: pooler output
            return cls(width=2000, pooling="pooler")
        return cls()


class BertAdapter(PairBackbone):
    """A frozen encoder of the BERT family with adapters.

    Paper: Sec. 3 "BERT Adapter". An adapter stands behind the dense layer and dropout of a block's output, before the
    residual and the LayerNorm (Houlsby et al. 2019). Dropout is the last thing before the residual in every model of the
    family, so `Sequential(dropout, adapter)` in its place is all it takes.
    """

    provides: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.ADAPTERS})

    def __init__(self, config: BertAdapterConfig, generator: torch.Generator) -> None:
        super().__init__(config.encoder, config.pooling, config.max_length)
        self.encoder.requires_grad_(False)
        self._norms: list[nn.LayerNorm] = []
        for owner in adapter_sites(self.encoder):
            adapter = Adapter(self.features, config.width, generator)
            self.adapters.append(adapter)
            owner.dropout = nn.Sequential(owner.dropout, adapter)
            owner.LayerNorm.requires_grad_(True)
            self._norms.append(owner.LayerNorm)

    def _reserve(self) -> None:
        self.adapters = nn.ModuleList()  # the encoder will hold the adapters, too: the name registered first wins

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
