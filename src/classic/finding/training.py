"""How the finder learns a domain.

What a word is taught, and how much it counts:

- A marked word is the beginning or the inside of an aspect, weight 1.
- Any other word of a sentence whose aspects are all marked (`Marked.complete`) is outside, weight 1.
- Any other word of a sentence that rows name aspects of may be an aspect nobody asked about. Where the version before
  (the teacher) believes in an aspect, the word is taught what the teacher says, so that nothing known is unlearned;
  elsewhere it is outside with less weight (`FinderConfig.outside`). The first version has no teacher.

Against forgetting, training starts from the version before, and that version's word on sentences of the starter corpus is
rehearsed beside the lesson (`FinderConfig.rehearsed`): the corpus comes with the package and has sentences about all kinds
of things, so nobody's text has to be kept. What is kept may lie between the version before and where training ended
(`FinderConfig.keep` and ``large_keep``), but not over the starter, whose corpus is no lesson.
Everything is drawn from the seed and the number of the lesson: a lesson that was killed gives the same bytes again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor, nn

from classic.batching import shuffled_rows
from classic.data.marked import Marked
from classic.data.starter import starter_texts
from classic.errors import TrainingError
from classic.finding.finder import LABELS, Finder
from classic.runtime.words import BEGIN, INSIDE, OUTSIDE, Words
from classic.seeding import Seeds

_WARMUP = 0.1
_WEIGHT_DECAY = 0.01
_CLIP = 1.0
_BELIEVED = 0.5  # of the teacher, that a word belongs to an aspect
_ASKED_TOGETHER = 32


@dataclass(frozen=True, slots=True)
class Lesson:
    """One sentence as it is taught: words, targets (words, 3) and weights (words,)."""

    words: Words
    targets: Tensor
    weights: Tensor


def labels_of(words: Words, marked: Marked) -> list[int]:
    """The label of each word; a word belongs to an aspect if they share a character."""
    labels = [OUTSIDE] * len(words.places)
    for start, end in marked.spans:
        inside = [word for word, (left, right) in enumerate(words.places) if left < end and right > start]
        for place, word in enumerate(inside):
            labels[word] = INSIDE if place else BEGIN
    return labels


def learn(
    finder: Finder,
    sentences: Sequence[Marked],
    seeds: Seeds,
    lesson: int,
    *,
    teacher: bool,
    keep: bool = True,
    precision: torch.dtype = torch.float32,
    on_step: Callable[[int, int], None] | None = None,
) -> None:
    """Teaches a finder one domain, in place.

    Args:
        finder: As the version before has it.
        sentences: What it learns from.
        seeds: Randomness.
        lesson: Number of the domain, from 0.
        teacher: Whether it has learned before, so that its own word counts where nothing is marked.
        keep: Whether a share of the version before stays. Over the starter it should not: that share would be of no
            lesson, and costs the first one points.
        precision: Of the products in training.
        on_step: Told after every step how many are made, and of how many.

    Raises:
        TrainingError: The loss is not finite.
    """
    lessons = _lessons(finder, sentences, teacher)
    if not lessons:
        return
    if teacher:
        lessons += _rehearsal(finder, round(finder.config.rehearsed * len(lessons)), seeds.number("rehearse", lesson))
    config, learned = finder.config, finder.learned()
    device = finder.head.weight.device
    optimiser = torch.optim.AdamW(learned, lr=config.learning_rate, weight_decay=_WEIGHT_DECAY)
    before = [parameter.detach().clone() for parameter in learned]
    lengths = [len(each.words.ids) for each in lessons]
    large = len(lessons) >= config.large_from
    epochs, stays = (config.large_epochs, config.large_keep) if large else (config.epochs, config.keep)
    steps = epochs * -(-len(lessons) // config.batch_size)
    done = 0
    finder.train()
    for epoch in range(epochs):
        seeds.seed_dropout("finder", lesson, epoch)
        for rows in shuffled_rows(lengths, config.batch_size, seeds.generator("find", lesson, epoch)):
            loss = _loss(finder, [lessons[row] for row in rows], device, precision)
            if not torch.isfinite(loss):
                raise TrainingError("the loss of the finder is not finite", fix="leave it out with --no-finder")
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(learned, _CLIP)
            done += 1
            for group in optimiser.param_groups:
                group["lr"] = config.learning_rate * _rate(done, steps)
            optimiser.step()
            if on_step:
                on_step(done, steps)
    if teacher and keep and stays:
        with torch.no_grad():
            for parameter, old in zip(learned, before, strict=True):
                parameter.lerp_(old, stays)
    finder.load(finder.tensors())  # rounded as it will be kept: it answers the same before and after
    finder.eval()


def _rate(step: int, steps: int) -> float:
    """Share of the full rate at a step counted from 1: up for a tenth of the way, then down to nothing."""
    return min(step / max(1.0, _WARMUP * steps), (steps - step + 1) / max(1.0, (1 - _WARMUP) * steps), 1.0)


def _loss(finder: Finder, lessons: Sequence[Lesson], device: torch.device, precision: torch.dtype) -> Tensor:
    """Weighted mean cross-entropy of the words of a batch."""
    logits = _logits(finder, [each.words for each in lessons], device, precision)
    targets = torch.cat([each.targets for each in lessons]).to(device)
    weights = torch.cat([each.weights for each in lessons]).to(device)
    losses = nn.functional.cross_entropy(logits, targets, reduction="none")
    return (losses * weights).sum() / weights.sum().clamp(min=1.0)


def _logits(finder: Finder, words: Sequence[Words], device: torch.device, precision: torch.dtype) -> Tensor:
    """Logits (words of all sentences, 3)."""
    inputs = {name: torch.from_numpy(array).to(device) for name, array in finder.reader.pad(words).items()}
    with _autocast(device, precision):
        logits: Tensor = finder(**inputs)
    rows = torch.tensor([row for row, each in enumerate(words) for _ in each.firsts], device=device)
    columns = torch.tensor([first for each in words for first in each.firsts], device=device)
    return logits.float()[rows, columns]


def _autocast(device: torch.device, precision: torch.dtype) -> AbstractContextManager[object]:
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


def _lessons(finder: Finder, sentences: Sequence[Marked], teacher: bool) -> list[Lesson]:
    words = finder.reader.read([marked.sentence for marked in sentences])
    kept = [(each, marked) for each, marked in zip(words, sentences, strict=True) if each.firsts]
    open_rows = [row for row, (_, marked) in enumerate(kept) if not marked.complete]
    beliefs = (
        dict(zip(open_rows, _beliefs(finder, [kept[row][0] for row in open_rows]), strict=True)) if teacher else {}
    )
    return [_lesson(each, marked, beliefs.get(row), finder.config.outside) for row, (each, marked) in enumerate(kept)]


def _lesson(words: Words, marked: Marked, belief: Tensor | None, outside: float) -> Lesson:
    labels = torch.tensor(labels_of(words, marked))
    targets = nn.functional.one_hot(labels, LABELS).float()
    weights = torch.ones(len(labels))
    if not marked.complete:
        unmarked = labels == OUTSIDE
        weights[unmarked] = outside
        if belief is not None:
            believed = unmarked & (belief[:, OUTSIDE] < 1 - _BELIEVED)
            targets[believed] = belief[believed]
    return Lesson(words, targets, weights)


def _rehearsal(finder: Finder, count: int, seed: int) -> list[Lesson]:
    """Sentences of the starter corpus, with what the finder says about them now as the truth."""
    corpus = starter_texts()
    drawn = Random(seed).sample(corpus, min(count, len(corpus)))
    words = finder.reader.read(drawn)
    beliefs = _beliefs(finder, words)
    return [Lesson(each, belief, torch.ones(len(belief))) for each, belief in zip(words, beliefs, strict=True)]


def _beliefs(finder: Finder, words: Sequence[Words]) -> list[Tensor]:
    """What the finder says now about each word of some sentences: probabilities (words, 3)."""
    finder.eval()
    device = finder.head.weight.device
    found: list[Tensor] = [torch.zeros(0)] * len(words)
    order = sorted(range(len(words)), key=lambda row: len(words[row].ids))
    with torch.no_grad():
        for start in range(0, len(order), _ASKED_TOGETHER):
            rows = order[start : start + _ASKED_TOGETHER]
            logits = _logits(finder, [words[row] for row in rows], device, torch.float32)
            parts = logits.softmax(dim=1).cpu().split([len(words[row].firsts) for row in rows])
            for row, part in zip(rows, parts, strict=True):
                found[row] = part
    return found
