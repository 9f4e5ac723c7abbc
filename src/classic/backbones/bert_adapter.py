"""Adapter-BERT: a frozen encoder with two adapters in every layer; only adapters and LayerNorms learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Need
from classic.backbones.encoder import halves, pool_mean
from classic.backbones.pairs import PairBackbone, Pooling, run_encoder
from classic.backbones.states import FrozenStates, pad_states
from classic.errors import IncompatibleError, InputError
from classic.modules.adapter import Adapter
from classic.modules.plastic import Plastic
from classic.types import Batch, Example


@dataclass(frozen=True)
class BertAdapterConfig:
    """Adapter-BERT's shape.

    Attributes:
        encoder: ``minilm`` (embedded), a folder, or a Hugging Face id of the BERT family.
        width: Hidden width of an adapter; 2000 in the paper.
        pooling: The features: ``pooler`` output of [CLS] (the released code), ``cls`` itself (the paper's words), the
            ``mean`` of the token states, which is what MiniLM was trained for, or that mean beside the mean of the
            ``aspect``'s own tokens in the sentence, which sees the aspect best.
        max_length: Longest input in tokens; 128 in the paper.
        layers: How many of the uppermost layers get adapters, at most; none given means all (the paper). What lies below
            never changes, so it is computed once per text.
        cache_mb: Most memory for the states of the layers below, in MB.
        cache_folder: Where those states of whole data sets are kept from run to run, if at all: one file per set.
    """

    encoder: str = "minilm"
    width: int = 768
    pooling: Pooling = "mean"
    max_length: int = 128
    layers: int | None = None
    cache_mb: int = 768
    cache_folder: str | None = None

    def __post_init__(self) -> None:
        if self.layers is not None and self.layers < 1:
            raise InputError(f"backbone.layers is {self.layers}", fix="give at least 1, or none at all")


@dataclass(frozen=True)
class _Below:
    """What lies below the first adapter, and what lies above: each in a tuple, so that nobody registers it twice."""

    lower: tuple[Any]
    upper: tuple[Any]
    given: tuple[Any]
    states: FrozenStates


class BertAdapter(PairBackbone):
    """A frozen encoder of the BERT family with adapters.

    Paper: Sec. 3 "BERT Adapter". An adapter stands behind the dense layer and dropout of a block's output, before the
    residual and the LayerNorm (Houlsby et al. 2019). Dropout is the last thing before the residual in every model of the
    family, so `Sequential(dropout, adapter)` in its place is all it takes.
    """

    version: ClassVar[int] = 1
    provides: ClassVar[frozenset[Need]] = frozenset({Need.PLASTIC, Need.CONTAINED, Need.ADAPTERS})

    def __init__(self, config: BertAdapterConfig, generator: torch.Generator) -> None:
        super().__init__(config.encoder, config.pooling, config.max_length)
        self.encoder.requires_grad_(False)
        self._norms: list[nn.LayerNorm] = []
        sites = adapter_sites(self.encoder)
        depth = len(sites) // 2
        adapted = depth if config.layers is None else min(config.layers, depth)
        for owner in sites[2 * (depth - adapted) :]:
            adapter = Adapter(self.hidden, config.width, generator)
            self.adapters.append(adapter)
            owner.dropout = nn.Sequential(owner.dropout, adapter)
            owner.LayerNorm.requires_grad_(True)
            self._norms.append(owner.LayerNorm)
        self._below: _Below | None = None
        if adapted < depth:
            made_by = (self._sha256, self._tokenizer.sha256, self._tokenizer.max_length, f"below {depth - adapted}")
            # In a tuple, out of the sight of nn.Module: all their weights are the encoder's.
            self._below = _Below(  # type: ignore[call-arg]
                *((half,) for half in halves(self.encoder, depth - adapted)),  # type: ignore[arg-type]
                FrozenStates(
                    self._encode_below,
                    self.lengths,
                    made_by,
                    torch.float32,
                    config.cache_mb * 1_000_000,
                    config.cache_folder,
                ),
            )

    def _reserve(self) -> None:
        self.adapters = nn.ModuleList()  # the encoder will hold the adapters, too: the name registered first wins

    def train(self, mode: bool = True) -> BertAdapter:
        """Sets the mode of all that learns; layers below the first adapter stay in evaluation mode."""
        super().train(mode)
        if self._below:
            self._below.lower[0].embeddings.eval()
            self._below.lower[0].encoder.layer.eval()  # type: ignore[union-attr]
        return self

    def _encode_below(self, examples: Sequence[Example]) -> Tensor:
        assert self._below
        batch = self._tokenizer.collate(examples).to(next(self.encoder.parameters()).device)
        states: Tensor = run_encoder(self._below.lower[0], batch, self._tokenizer.segments).last_hidden_state
        return states

    def prepare(self, examples: Sequence[Example], *, dataset: bool = False) -> None:
        if self._below:
            self._below.states.prepare(examples, dataset=dataset)

    def collate(self, examples: Sequence[Example], rows: Sequence[int] | None = None) -> Batch:
        batch = super().collate(examples, rows)
        if self._below:
            batch.inputs["states"] = pad_states(self._below.states.look_up(examples))[0]
        return batch

    def encode(self, batch: Batch) -> Any:
        if self._below is None:
            return super().encode(batch)
        inputs = dict(batch.inputs)
        self._below.given[0].states = inputs.pop("states")
        return run_encoder(self._below.upper[0], Batch(inputs, batch.labels, batch.rows), self._tokenizer.segments)

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
