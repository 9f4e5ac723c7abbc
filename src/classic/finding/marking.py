"""Marks from a finder's network: sentences in, places out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from classic.finding.finder import Finder
from classic.runtime.pairs import Inputs
from classic.runtime.sentences import Mark
from classic.runtime.words import Array, mark_all


def computing(network: Callable[..., torch.Tensor], device: str) -> Callable[[Inputs], Array]:
    """A network that takes and gives arrays."""

    def compute(inputs: Inputs) -> Array:
        with torch.inference_mode():
            moved = {name: torch.from_numpy(array).to(device) for name, array in inputs.items()}
            logits: Array = network(**moved).float().cpu().numpy()
        return logits

    return compute


def mark(finder: Finder, sentences: Sequence[str], min_confidence: float = 0.0) -> list[list[Mark]]:
    """The aspects of some sentences, by the network that learned."""
    finder.eval()
    return mark_all(finder.reader, computing(finder, str(finder.head.weight.device)), sentences, min_confidence)
