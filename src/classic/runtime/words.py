"""Sentences as words: what the finder reads, and from its numbers to marks. No torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from classic.runtime.batches import like_length
from classic.runtime.pairs import Inputs
from classic.runtime.sentences import Mark

Array = np.ndarray[Any, np.dtype[np.float32]]

OUTSIDE, BEGIN, INSIDE = range(3)
"""Columns of the finder's logits: no aspect, an aspect's first word, a further word of it."""
_NEVER = -1e9
_TOGETHER = 32  # sentences, at most


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence as tokens.

    Attributes:
        ids: The tokens.
        firsts: Where among them each word begins.
        places: The characters of each word.
    """

    ids: list[int]
    firsts: list[int]
    places: list[tuple[int, int]]


class WordReader:
    """[CLS] sentence [SEP]; words are what the tokenizer cuts at white space and punctuation.

    Args:
        tokenizer: A `tokenizers.Tokenizer` of its own.
        max_length: Longest input in tokens; what is behind is not read.
        pad_id: The padding token.
    """

    def __init__(self, tokenizer: Any, max_length: int, pad_id: int) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        self._tokenizer, self.pad_id, self.max_length = tokenizer, pad_id, max_length

    def read(self, sentences: Sequence[str]) -> list[Words]:
        """The sentences as words."""
        encodings = self._tokenizer.encode_batch(list(sentences))
        return [_words(sentence, encoding) for sentence, encoding in zip(sentences, encodings, strict=True)]

    def pad(self, words: Sequence[Words]) -> Inputs:
        """A batch, padded to its longest."""
        shape = len(words), max(len(each.ids) for each in words)
        ids, mask = np.full(shape, self.pad_id, np.int64), np.zeros(shape, np.int64)
        for row, each in enumerate(words):
            ids[row, : len(each.ids)] = each.ids
            mask[row, : len(each.ids)] = 1
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros(shape, np.int64)}


def _words(sentence: str, encoding: Any) -> Words:
    firsts: list[int] = []
    places: list[tuple[int, int]] = []
    last = None
    for token, (word, (left, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
        piece = sentence[left:end]
        start = left + len(piece) - len(piece.lstrip())  # byte-level tokenizers take the space before a word along
        if word is None or start == end:
            continue
        if word != last:
            firsts.append(token)
            places.append((start, end))
            last = word
        else:
            places[-1] = (places[-1][0], end)
    return Words(encoding.ids, firsts, places)


def mark_all(
    reader: WordReader, compute: Callable[[Inputs], Array], sentences: Sequence[str], min_confidence: float
) -> list[list[Mark]]:
    """The aspects of some sentences, in their order.

    Args:
        reader: Makes the inputs.
        compute: A batch to logits (B, L, 3) of its tokens.
        sentences: Of any number.
        min_confidence: Less certain aspects are left out.
    """
    words = reader.read(sentences)
    found: list[list[Mark]] = [[] for _ in words]
    for rows in like_length([len(each.ids) for each in words], _TOGETHER):
        logits = compute(reader.pad([words[row] for row in rows]))
        for place, row in enumerate(rows):
            own = logits[place, words[row].firsts].tolist()
            found[row] = marks_of(own, words[row].places, min_confidence)
    return found


def marks_of(logits: Sequence[Sequence[float]], places: Sequence[tuple[int, int]], min_confidence: float) -> list[Mark]:
    """The aspects of a sentence: the likeliest labels in which no aspect goes on that did not begin (Viterbi).

    The confidence is the probability that exactly these words are an aspect: the first one begins it, the others go on,
    the next one does not.

    Args:
        logits: (words, 3), OUTSIDE, BEGIN and INSIDE.
        places: The characters of each word.
        min_confidence: Less certain ones are left out.
    """
    logs = [_log_softmax(row) for row in logits]
    labels = _likeliest(logs)
    found: list[Mark] = []
    for first, label in enumerate(labels):
        if label != BEGIN:
            continue
        after = next((word for word in range(first + 1, len(labels)) if labels[word] != INSIDE), len(labels))
        log = logs[first][BEGIN] + sum(logs[word][INSIDE] for word in range(first + 1, after))
        confidence = math.exp(log) * (1 - math.exp(logs[after][INSIDE]) if after < len(labels) else 1.0)
        if confidence >= min_confidence:
            found.append(Mark(places[first][0], places[after - 1][1], confidence))
    return found


def _likeliest(logs: list[list[float]]) -> list[int]:
    if not logs:
        return []
    scores, back = [logs[0][OUTSIDE], logs[0][BEGIN], _NEVER], list[tuple[int, int]]()
    for row in logs[1:]:
        best = max(range(3), key=lambda label: scores[label])
        inside = BEGIN if scores[BEGIN] >= scores[INSIDE] else INSIDE
        back.append((best, inside))
        scores = [scores[best] + row[OUTSIDE], scores[best] + row[BEGIN], scores[inside] + row[INSIDE]]
    labels = [max(range(3), key=lambda label: scores[label])]
    for best, inside in reversed(back):
        labels.append(inside if labels[-1] == INSIDE else best)
    return labels[::-1]


def _log_softmax(row: Sequence[float]) -> list[float]:
    top = max(row)
    total = top + math.log(sum(math.exp(value - top) for value in row))
    return [value - total for value in row]
