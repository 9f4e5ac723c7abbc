"""Folding: a task's mask goes into the weights, dead units go away, and the plain network of one task is left.

A unit whose gate is shut says 0 whatever it is shown, so leaving it out changes nothing but the time. The folded network
goes from token ids to logits without gates, tasks or cached states: it is what prediction and export run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from classic.backbones.bert import Bert
from classic.backbones.encoder import PairTokenizer, encoder_folder, pool_mean
from classic.backbones.pairs import PairBackbone, pair_tokenizer
from classic.learning.learner import Learner
from classic.methods.base import Method
from classic.modules.adapter import Adapter
from classic.modules.folded import FoldedBlock, FoldedLayer, as_linear
from classic.modules.gates import UnitGate
from classic.modules.heads import Head
from classic.modules.plastic import Plastic
from classic.types import POLARITIES, Scenario

_FAMILY = {"bert", "roberta", "xlm-roberta", "electra"}  # MPNet adds a bias of its own to every attention


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
    ) -> None:
        super().__init__()
        self.embeddings, self.layers, self.pool, self.head = embeddings, nn.ModuleList(layers), pool, head
        self.reader, self.words = reader, words
        self.tokenizer = tokenizer

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, C) and surfaces (B, d) of a batch (B, L)."""
        segments = {"token_type_ids": token_type_ids} if self.tokenizer.segments else {}
        states: Tensor = self.embeddings(input_ids=input_ids, **segments)
        mask = attention_mask.bool()[:, None, None, :]
        for layer in self.layers:
            states = layer(states, mask)
        if self.pool == "mean":
            features = pool_mean(states, attention_mask)
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
    return shape.model_type in _FAMILY and all(_is_plain(plastic) for plastic in backbone.plastic().values())


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
    tokenizer = pair_tokenizer(encoder_folder(settings["encoder"]), encoder, settings["max_length"])
    with method.acting_as(task):
        layers = [_fold_layer(layer, int(encoder.config.num_attention_heads)) for layer in encoder.encoder.layer]
        head = _whole_head(method.model.head, task)
    parts = dict(encoder.named_children())
    embeddings: nn.Module = parts["embeddings"]
    if "embeddings_project" in parts:  # ELECTRA's may be narrower than its layers
        embeddings = _Projected(embeddings, parts["embeddings_project"])
    words = backbone.first_words if isinstance(backbone, Bert) else encoder.embeddings.word_embeddings.weight
    pool = encoder.pooler if settings["pooling"] == "pooler" else settings["pooling"]
    return Folded(embeddings, layers, pool, head, method.reader(task), words, tokenizer).eval()


class _Projected(nn.Module):
    def __init__(self, embeddings: nn.Module, project: nn.Module) -> None:
        super().__init__()
        self.embeddings, self.project = embeddings, project

    def forward(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        projected: Tensor = self.project(self.embeddings(input_ids=input_ids, token_type_ids=token_type_ids))
        return projected


def _fold_layer(layer: Any, heads: int) -> FoldedLayer:
    own, attended, fed = layer.attention.self, layer.attention.output, layer.output
    return FoldedLayer(
        (own.query, own.key, own.value),
        heads,
        FoldedBlock(attended.dense, _adapter(attended.dropout), attended.LayerNorm),
        layer.intermediate.dense,
        layer.intermediate.intermediate_act_fn,
        FoldedBlock(fed.dense, _adapter(fed.dropout), fed.LayerNorm),
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
