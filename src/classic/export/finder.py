"""The finder of an export: a graph beside the model's, written only if it marks the same places as the store's."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from classic.backbones.encoder import encoder_folder
from classic.errors import ClassicError
from classic.evaluation.aspects import count_aspects
from classic.export.graph import Range, write_finder
from classic.export.rounding import fewer, ranges_of
from classic.files import sha256, write_bytes
from classic.finding.kept import KeptFinder
from classic.finding.marking import computing
from classic.prediction.folding import FoldedFinder, fold_finder
from classic.runtime.exported import open_session
from classic.runtime.folder import FINDER, FINDER_TOKENIZER, TOKENIZER
from classic.runtime.words import mark_all

_GAP = 1e-3  # largest difference of two logits in 32 bits
_AGREEMENT = 0.98  # in 8 bits: F1 of its marks, taking the store's for the truth
_CONFIDENCE = 0.5
_BATCH = 32


def export_finder(kept: KeptFinder, folder: Path, sentences: Sequence[str], *, rounded: bool) -> dict[str, Any]:
    """Writes the finder's graph, and its tokenizer if it is not the model's; returns what the card says about it.

    Args:
        kept: The store's finder.
        folder: Where to; the model's tokenizer is there.
        sentences: What both are asked about; the steps of 8 bits are chosen on them, too.
        rounded: Whether to compute in 8 bits where that finds the same. Where it does not, it stays in 32.

    Raises:
        ClassicError: In 32 bits it does not say what the store's says.
    """
    finder = kept.build()
    tokenizer = encoder_folder(kept.own_encoder) / TOKENIZER
    if sha256(tokenizer) != sha256(folder / TOKENIZER):  # over another encoder than the model
        shutil.copyfile(tokenizer, folder / FINDER_TOKENIZER)
    network = fold_finder(finder)
    reading = {"max_length": min(kept.config.max_length, finder.reader.max_length), "pad_id": finder.reader.pad_id}
    if rounded:
        words = finder.reader.read(list(sentences))
        batches = [finder.reader.pad(words[start : start + _BATCH]) for start in range(0, len(words), _BATCH)]
        for ranges in fewer(ranges_of(network, batches)):
            told = _write(network, folder, sentences, ranges)
            if told["agreement"] >= _AGREEMENT:
                return told | reading
    told = _write(network, folder, sentences, None)
    if told["gap"] > _GAP:
        raise ClassicError(
            f"the exported finder does not say what the store's does: a logit differs by {told['gap']:.2g}",
            fix="export without the finder",
        )
    return told | reading


def _write(
    network: FoldedFinder, folder: Path, sentences: Sequence[str], ranges: dict[str, Range] | None
) -> dict[str, Any]:
    write_bytes(folder / FINDER, write_finder(network, ranges).SerializeToString())
    session = open_session(folder / FINDER, 1)
    gaps = [0.0]
    compute = computing(network, "cpu")

    def both(inputs: Any) -> Any:
        (said,) = session.run(None, inputs)
        real = inputs["attention_mask"].astype(bool)
        gaps.append(float(np.abs(said - compute(inputs))[real].max()))
        return said

    theirs = mark_all(network.reader, both, sentences, _CONFIDENCE)
    ours = mark_all(network.reader, compute, sentences, _CONFIDENCE)
    places = [[(mark.start, mark.end) for mark in marks] for marks in ours]
    counted = count_aspects(places, theirs)
    agreement = counted["f1"] if counted["true"] + counted["found"] else 1.0
    return {
        "sentences": len(sentences),
        "gap": max(gaps),
        "agreement": agreement,
        "rounded": len(ranges or {}),
    }
