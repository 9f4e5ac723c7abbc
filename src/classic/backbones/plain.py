"""A fine-tuned encoder and its head as a folder that plain transformers loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from classic.errors import IncompatibleError
from classic.types import POLARITIES

_SMALL = 2.0**-10  # tanh(x / 1024) is x / 1024 to seven digits for every x a LayerNorm gives


def save_plain(encoder: Any, pooling: str, head: nn.Linear, source: Path, max_length: int, folder: Path) -> None:
    """Writes a folder for `AutoModelForSequenceClassification` and `AutoTokenizer`.

    Args:
        encoder: A BERT of transformers.
        pooling: What the head reads: ``pooler`` or ``cls``.
        head: Features to three logits.
        source: The folder of the encoder, with its tokenizer.
        max_length: Longest input in tokens.
        folder: Where to write.

    Raises:
        IncompatibleError: Transformers has no class that computes this model.
    """
    if encoder.config.model_type != "bert":
        raise IncompatibleError(
            f"a classifier over a {encoder.config.model_type} encoder has a head in transformers that ours is not",
            fix="export it with --format onnx",
        )
    if pooling in ("mean", "aspect"):
        raise IncompatibleError(
            "BERT's classifier in transformers reads [CLS], and this system reads the mean of tokens",
            fix="export it with --format onnx, or teach a store with --set backbone.pooling=cls",
        )
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    names = {polarity.column: str(polarity) for polarity in POLARITIES}
    config = BertConfig.from_dict(encoder.config.to_dict())
    config.num_labels = len(names)
    config.id2label, config.label2id = names, {name: column for column, name in names.items()}
    model = BertForSequenceClassification(config)
    layers = {name: value for name, value in encoder.state_dict().items() if not name.startswith("pooler.")}
    pooler: Any = model.bert.pooler
    classifier = model.classifier
    with torch.no_grad():
        model.bert.load_state_dict(layers, strict=False)
        classifier.weight.copy_(head.weight)
        classifier.bias.copy_(head.bias)
        if pooling == "pooler":
            pooler.load_state_dict(encoder.pooler.state_dict())
        else:  # the pooler is a linear layer and a tanh, which is the identity on small numbers
            pooler.dense.weight.copy_(torch.eye(len(pooler.dense.weight)) * _SMALL)
            pooler.dense.bias.zero_()
            classifier.weight.div_(_SMALL)
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(str(source), local_files_only=True)
    tokenizer.model_max_length = max_length
    tokenizer.save_pretrained(folder)


def load_plain(folder: Path) -> Callable[[dict[str, Tensor]], Tensor]:
    """The logits of a saved folder for a batch's inputs, as plain transformers computes them."""
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(str(folder), local_files_only=True).eval()

    @torch.inference_mode()
    def logits(inputs: dict[str, Tensor]) -> Tensor:
        found: Tensor = model(**inputs).logits
        return found

    return logits
