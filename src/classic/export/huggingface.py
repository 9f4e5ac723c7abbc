"""The folder for plain transformers: only for systems that are a BERT and a head, nothing else (decision 16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from classic.backbones.bert import Bert
from classic.backbones.encoder import encoder_folder
from classic.backbones.plain import load_plain, save_plain
from classic.errors import IncompatibleError
from classic.learning.learner import Learner
from classic.modules.plastic import Plastic
from classic.prediction.folding import Folded
from classic.types import Example

_BATCH = 32


def require_plain(folded: Folded, learner: Learner) -> None:
    """Refuses a system that no class of transformers computes: adapters, or a reader of domains behind the head.

    Neither can be merged into a BERT: an adapter has a ReLU after the layer it stands behind, and a reader weighs the
    answers by the words of the text.

    Raises:
        IncompatibleError: The system is more than a BERT and a head.
    """
    more = []
    if not isinstance(learner.method.model.backbone, Bert):
        more.append(f"the adapters of a model on backbone {learner.config.backbone!r}")
    elif any(isinstance(module, Plastic) for module in learner.method.model.backbone.modules()):
        more.append("the masks over its hidden units")
    if folded.reader is not None:
        more.append("a reader of domains behind the head (+reader)")
    if more:
        raise IncompatibleError(
            f"--format hf is not there for this store: no class of transformers computes {' and '.join(more)}",
            fix="use --format onnx or int8, which onnxruntime runs without torch and without this package",
        )


def write_folder(folded: Folded, learner: Learner, folder: Path) -> None:
    """Writes config.json, model.safetensors and the tokenizer of a model that is plain."""
    backbone, settings = learner.method.model.backbone, learner.config.complete().backbone_config
    assert isinstance(backbone, Bert)
    source = encoder_folder(settings["encoder"])
    save_plain(backbone.encoder, settings["pooling"], folded.head, source, folded.tokenizer.max_length, folder)


def answers_of(folder: Path, folded: Folded) -> Callable[[Sequence[Example]], Any]:
    """The logits of a written folder."""
    logits = load_plain(folder)

    def answer(examples: Sequence[Example]) -> Any:
        found = [
            logits(folded.tokenizer.collate(examples[start : start + _BATCH]).inputs).numpy()
            for start in range(0, len(examples), _BATCH)
        ]
        return np.concatenate(found)

    return answer
