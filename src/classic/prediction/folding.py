"""Folding: a task's mask goes into the weights, dead units go away, and the plain network of one task is left.

A unit whose gate is shut says 0 whatever it is shown, so leaving it out changes nothing but the time. The folded network
goes from token ids to logits without gates, tasks or cached states: it is what prediction and export run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from classic.backbones.bert import Bert
from classic.backbones.encoder import FAMILY, PairTokenizer, encoder_folder, pool_aspect, pool_mean
from classic.backbones.pairs import PairBackbone, pair_tokenizer
from classic.finding.finder import Finder
from classic.learning.learner import Learner
from classic.methods.base import Method
from classic.modules.adapter import Adapter
from classic.modules.folded import FoldedBlock, FoldedLayer, RelativeBias, alive, as_linear
from classic.modules.gates import UnitGate
from classic.modules.heads import Head
from classic.modules.plastic import Plastic
from classic.runtime.pairs import SENTENCE
from classic.runtime.words import WordReader
from classic.types import POLARITIES, Scenario


class Folded(nn.Module):
    """The model of one task: token ids, attention mask and segments to logits and surface.

    Attributes:
        tokenizer: Makes its inputs.
    """

    def __init__(
        self,
        embeddings: nn.Module,
        layers: list[FoldedLayer],
        pool: str | nn.Module,
        head: nn.Linear,
        reader: nn.Module | None,
        words: Tensor,
        tokenizer: PairTokenizer,
        relative: RelativeBias | None = None,
    ) -> None:
        super().__init__()
        self.embeddings, self.layers, self.pool, self.head = embeddings, nn.ModuleList(layers), pool, head
        self.relative = relative
        self.reader, self.words = reader, words
        self.tokenizer = tokenizer

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, C) and surfaces (B, d) of a batch (B, L)."""
        segments = {"token_type_ids": token_type_ids.clamp(max=SENTENCE)} if self.tokenizer.segments else {}
        states: Tensor = self.embeddings(input_ids=input_ids, **segments)
        mask = seen_tokens(attention_mask, self.relative)
        for layer in self.layers:
            states = layer(states, mask)
        if self.pool == "mean":
            features = pool_mean(states, attention_mask)
        elif self.pool == "aspect":
            features = pool_aspect(states, attention_mask, token_type_ids)
        else:
            features = states[:, 0] if self.pool == "cls" else self.pool(states)  # type: ignore[operator]
        surface = pool_mean(nn.functional.embedding(input_ids, self.words), attention_mask)
        logits: Tensor = self.head(features)
        return (logits if self.reader is None else self.reader(logits, surface)), surface


def can_fold(method: Method) -> bool:
    """Whether a method answers with one plain network of the BERT family over pairs of aspect and sentence."""
    backbone = method.model.backbone
    if not isinstance(backbone, PairBackbone) or not method.foldable():
        return False
    shape: Any = backbone.encoder.config
    gated = [module for module in backbone.modules() if isinstance(module, Plastic)]
    return shape.model_type in FAMILY and all(_is_plain(plastic) for plastic in gated)


def fold(learner: Learner, task: int | None = None) -> Folded:
    """The model of a learned task, the newest if none is given. Whatever no task has for itself is shared, not copied.

    Args:
        learner: A model whose method `can_fold`.
        task: Index of the task.
    """
    method, backbone = learner.method, learner.method.model.backbone
    assert isinstance(backbone, PairBackbone)
    encoder: Any = backbone.encoder
    settings = learner.config.complete().backbone_config
    folder, marks = encoder_folder(settings["encoder"]), settings["pooling"] == "aspect"
    tokenizer = pair_tokenizer(folder, encoder, settings["max_length"], marks=marks)
    with method.acting_as(task):
        layers = [_fold_layer(layer, int(encoder.config.num_attention_heads)) for layer in encoder.encoder.layer]
        head = _whole_head(method.model.head, task)
    words = backbone.first_words if isinstance(backbone, Bert) else encoder.embeddings.word_embeddings.weight
    pool = encoder.pooler if settings["pooling"] == "pooler" else settings["pooling"]
    embeddings, relative = _embeddings(encoder), _relative(encoder)
    return Folded(embeddings, layers, pool, head, method.reader(task), words, tokenizer, relative).eval()


def seen_tokens(attention_mask: Tensor, relative: RelativeBias | None) -> Tensor:
    """What an attention takes: true at real tokens (B, 1, 1, L), or with MPNet's bias, (B, heads, L, L)."""
    mask = attention_mask.bool()[:, None, None, :]
    return mask if relative is None else relative(mask)  # type: ignore[no-any-return]


class FoldedFinder(nn.Module):
    """A finder without what only training needs: token ids, attention mask and segments to logits of every token.

    Attributes:
        reader: Makes its inputs.
    """

    def __init__(
        self,
        embeddings: nn.Module,
        layers: list[FoldedLayer],
        head: nn.Linear,
        segments: bool,
        reader: WordReader,
        relative: RelativeBias | None = None,
    ) -> None:
        super().__init__()
        self.embeddings, self.layers, self.head = embeddings, nn.ModuleList(layers), head
        self.segments, self.reader, self.relative = segments, reader, relative

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits (B, L, 3) of a batch (B, L)."""
        segments = {"token_type_ids": token_type_ids} if self.segments else {}
        states: Tensor = self.embeddings(input_ids=input_ids, **segments)
        mask = seen_tokens(attention_mask, self.relative)
        for layer in self.layers:
            states = layer(states, mask)
        logits: Tensor = self.head(states)
        return logits


def fold_finder(finder: Finder) -> FoldedFinder:
    """The network of a finder as plain layers."""
    encoder: Any = finder.encoder
    layers = [_fold_layer(layer, int(encoder.config.num_attention_heads)) for layer in encoder.encoder.layer]
    parts = finder.head, finder.segments, finder.reader, _relative(encoder)
    return FoldedFinder(_embeddings(encoder), layers, *parts).eval()


def _embeddings(encoder: nn.Module) -> nn.Module:
    parts = dict(encoder.named_children())
    if "embeddings_project" in parts:  # ELECTRA's may be narrower than its layers
        return _Projected(parts["embeddings"], parts["embeddings_project"])
    return parts["embeddings"]


def _relative(encoder: nn.Module) -> RelativeBias | None:
    """MPNet's bias as a table over distances; it computes one over all pairs of places for every batch."""
    stack: Any = encoder.encoder
    if not isinstance(getattr(stack, "relative_attention_bias", None), nn.Embedding):
        return None
    most = int(encoder.config.max_position_embeddings)  # type: ignore[union-attr, arg-type]
    buckets = stack.relative_position_bucket(torch.arange(1 - most, most), stack.relative_attention_bias.num_embeddings)
    return RelativeBias(stack.relative_attention_bias.weight[buckets].T)


class _Projected(nn.Module):
    def __init__(self, embeddings: nn.Module, project: nn.Module) -> None:
        super().__init__()
        self.embeddings, self.project = embeddings, project

    def forward(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        projected: Tensor = self.project(self.embeddings(input_ids=input_ids, token_type_ids=token_type_ids))
        return projected


def _fold_layer(layer: Any, heads: int) -> FoldedLayer:
    attention, fed, hidden = layer.attention, layer.output, layer.intermediate
    if "attn" in dict(attention.named_children()):  # MPNet
        own, ends = attention.attn, attention
        projections, attended = (own.q, own.k, own.v), own.o
    else:
        own, ends = attention.self, attention.output
        projections, attended = (own.query, own.key, own.value), ends.dense
    if isinstance(hidden, Plastic):  # `Bert` under a method with masks
        living = alive(hidden)
        first = as_linear(hidden.layer.weight[living], hidden.layer.bias[living])  # type: ignore[index]
        second, activation = as_linear(fed.dense.weight[:, living], fed.dense.bias), hidden.activation
    else:
        first, second, activation = hidden.dense, fed.dense, hidden.intermediate_act_fn
    return FoldedLayer(
        projections,
        heads,
        FoldedBlock(attended, _adapter(ends.dropout), ends.LayerNorm),
        first,
        activation,
        FoldedBlock(second, _adapter(fed.dropout), fed.LayerNorm),
    )


def _adapter(dropout: nn.Module) -> Adapter | None:
    """The adapter that stands behind a dropout, where there is one (`BertAdapter`)."""
    return next((module for module in dropout.modules() if isinstance(module, Adapter)), None)


def _is_plain(plastic: Plastic) -> bool:
    gated = isinstance(plastic.gate, nn.Identity | UnitGate)
    return gated and type(plastic.layer) is nn.Linear and isinstance(plastic.before, nn.Identity)


def _whole_head(head: Head, task: int | None) -> nn.Linear:
    """The task's head with three outputs; those of polarities it does not have are as good as minus infinity."""
    index = 0 if head.scenario is Scenario.DIL else (len(head.linears) - 1 if task is None else task)
    own: Any = head.linears[index]
    weight = own.weight.new_zeros(len(POLARITIES), head.features)
    bias = own.bias.new_full((len(POLARITIES),), torch.finfo(own.bias.dtype).min / 4)
    columns = list(head.columns[index])
    with torch.no_grad():
        weight[columns], bias[columns] = own.weight, own.bias
    return as_linear(weight, bias)
