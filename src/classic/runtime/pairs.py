"""Pairs of aspect and sentence as arrays of token ids, the same as `classic.backbones.encoder` makes tensors of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classic.types import Example

Inputs = dict[str, "np.ndarray[Any, np.dtype[np.int64]]"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One example as tokens: ids, segments, and whether it was too long to be read whole."""

    ids: list[int]
    segments: list[int]
    truncated: bool


class PairReader:
    """[CLS] aspect [SEP] sentence [SEP], segment 0 for the aspect, and for its span where the aspect occurs twice.

    Args:
        file: A tokenizer.json.
        max_length: Longest input in tokens; the longer part loses tokens first.
        segments: Whether the encoder knows two segments.
        pad_id: The padding token.
    """

    def __init__(self, file: Path, max_length: int, segments: bool, pad_id: int) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        self._segments, self._pad_id = segments, pad_id

    def read(self, examples: Sequence[Example]) -> list[Pair]:
        """The examples as tokens."""
        encodings = self._tokenizer.encode_batch([(example.aspect, example.sentence) for example in examples])
        return [
            Pair(encoding.ids, _segments(example, encoding) if self._segments else [], bool(encoding.overflowing))
            for example, encoding in zip(examples, encodings, strict=True)
        ]

    def pad(self, pairs: Sequence[Pair]) -> Inputs:
        """A batch, padded to its longest."""
        shape = len(pairs), max(len(pair.ids) for pair in pairs)
        ids, mask, kinds = np.full(shape, self._pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, pair in enumerate(pairs):
            length = len(pair.ids)
            ids[row, :length] = pair.ids
            mask[row, :length] = 1
            if self._segments:
                kinds[row, :length] = pair.segments
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}


def _segments(example: Example, encoding: Any) -> list[int]:
    # Asked of the sequence ids rather than the type ids: RoBERTa's tokenizer gives type 0 to both parts.
    segments = [1 if part == 1 else 0 for part in encoding.sequence_ids]
    if encoding.type_ids and max(encoding.type_ids) == 1:
        segments = list(encoding.type_ids)
    if example.span is not None and example.sentence.count(example.aspect) > 1:
        start, end = example.span
        for token, (part, (left, right)) in enumerate(zip(encoding.sequence_ids, encoding.offsets, strict=True)):
            if part == 1 and left < end and right > start:
                segments[token] = 0
    return segments
