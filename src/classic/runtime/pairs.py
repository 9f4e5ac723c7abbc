"""Pairs of aspect and sentence as arrays of token ids, the same as `classic.backbones.encoder` makes tensors of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from classic.types import Example, places_of

Inputs = dict[str, "np.ndarray[Any, np.dtype[np.int64]]"]

SENTENCE, MARKED = 1, 2  # segments: of the sentence and, for who pools them, of the aspect's own words in it


@dataclass(frozen=True, slots=True)
class Pair:
    """One example as tokens: ids, segments, and whether it was too long to be read whole."""

    ids: list[int]
    segments: list[int]
    truncated: bool


class PairReader:
    """[CLS] aspect [SEP] sentence [SEP], and the segment of every token: see `segments_of`.

    Args:
        file: A tokenizer.json.
        max_length: Longest input in tokens; the longer part loses tokens first.
        segments: Whether the encoder knows two segments.
        pad_id: The padding token.
        marks: Whether the aspect's words in the sentence are marked.
    """

    def __init__(self, file: Path, max_length: int, segments: bool, pad_id: int, *, marks: bool = False) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        self._segments, self._pad_id, self._marks = segments, pad_id, marks

    def read(self, examples: Sequence[Example]) -> list[Pair]:
        """The examples as tokens."""
        encodings = self._tokenizer.encode_batch([(example.aspect, example.sentence) for example in examples])
        return [
            Pair(encoding.ids, self._segments_of(example, encoding), bool(encoding.overflowing))
            for example, encoding in zip(examples, encodings, strict=True)
        ]

    def _segments_of(self, example: Example, encoding: Any) -> list[int]:
        return segments_of(example, encoding, marks=self._marks) if self._segments or self._marks else []

    def pad(self, pairs: Sequence[Pair]) -> Inputs:
        """A batch, padded to its longest."""
        shape = len(pairs), max(len(pair.ids) for pair in pairs)
        ids, mask, kinds = np.full(shape, self._pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, pair in enumerate(pairs):
            length = len(pair.ids)
            ids[row, :length] = pair.ids
            mask[row, :length] = 1
            if pair.segments:
                kinds[row, :length] = pair.segments
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}


def segments_of(example: Example, encoding: Any, *, marks: bool = False) -> list[int]:
    """The segment of every token: 0 for the aspect and 1 for the sentence (Paper: Sec. 3).

    When a sentence holds its aspect more than once and the span is known, the tokens of the span get segment 0, too:
    otherwise two occurrences with two polarities would be the same input.

    Args:
        example: Aspect and sentence.
        encoding: Their `tokenizers.Encoding` as a pair.
        marks: Whether the aspect's own words in the sentence get segment 2 instead, wherever they stand; the encoder takes
            it for the sentence's (not in the paper).
    """
    # Asked of the sequence ids rather than the type ids: RoBERTa's tokenizer gives type 0 to both parts.
    segments = [SENTENCE if part == 1 else 0 for part in encoding.sequence_ids]
    if encoding.type_ids and max(encoding.type_ids) == 1:
        segments = list(encoding.type_ids)
    if marks:
        spans, segment = _spans(example), MARKED
    elif example.span is not None and example.sentence.count(example.aspect) > 1:
        spans, segment = [example.span], 0
    else:
        return segments
    for token, (part, (left, right)) in enumerate(zip(encoding.sequence_ids, encoding.offsets, strict=True)):
        if part == 1 and any(left < end and right > start for start, end in spans):
            segments[token] = segment
    return segments


def _spans(example: Example) -> list[tuple[int, int]]:
    """Where the aspect stands: where the example says or, if it does not, wherever its words are; else parts of words."""
    return places_of(example.sentence, example.aspect) if example.span is None else [example.span]
