"""LAMOL: one language model answers, and before a new task writes examples of the old ones to rehearse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from classic.backbones.base import Need
from classic.backbones.gpt2 import Gpt2
from classic.methods.base import Group, Method, Phase
from classic.model import Model
from classic.modules.heads import Head
from classic.seeding import Seeds
from classic.types import POLARITIES, Batch, Example, Polarity, Scenario, Step, Task


@dataclass(frozen=True)
class LamolConfig:
    """LAMOL's choices. Which values CLASSIC's authors used is unknown; sources are LAMOL's own paper and code.

    Attributes:
        pseudo_share: gamma; pseudo-examples per example of the new task; 0.05 in LAMOL's code, also 0.2 in its paper.
        lm_weight: lambda of the language-model loss; 0.25 in LAMOL's paper and code.
        answer_weight: Weight of the [ANS] token in that loss; 5 in its code.
        top_k: Tokens sampled from; 20 in its code.
        temperature: Of sampling; 1 in its code.
        max_length: Longest pseudo-example in tokens.
        starts: A generation token per ``task``, or one ``common`` to all; LAMOL has both. With the common one the model
            itself decides which old task it writes about.
        learning_rate: 6.25e-5 in its code, with AdamW and linear decay; None is the rate of the training configuration.
    """

    pseudo_share: float = 0.2
    lm_weight: float = 0.25
    answer_weight: float = 5.0
    top_k: int = 20
    temperature: float = 1.0
    max_length: int = 128
    starts: Literal["task", "common"] = "task"
    learning_rate: float | None = 6.25e-5


class NoHead(Head):
    """In the place of a head where the answers are words: no parameters, in any scenario."""

    def __init__(self, features: int) -> None:
        super().__init__(features, Scenario.TIL, 0.0, torch.Generator())  # TIL begins without a head

    def start_task(self, classes: tuple[Polarity, ...], generator: torch.Generator) -> None:
        """Adds nothing."""


class Lamol(Method):
    """Language modelling for lifelong language learning.

    Source: Sun, Ho and Lee (2020); the paper's LAMOL baseline (Sec. 4.2).

        L = L_QA + lambda L_LM
        L_QA: sentence question [ANS] answer <end>, on the answer and <end>
        L_LM: [GEN] sentence question [ANS] answer <end>, on everything after [GEN], [ANS] weighing 5

    Both are weighted means over the tokens of a batch. Keeps nothing between tasks but the network and its generation
    tokens. There is no head, so TIL and DIL are the same numbers.
    """

    version: ClassVar[int] = 1
    adopts: ClassVar[frozenset[str]] = frozenset({"average"})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.LANGUAGE_MODEL})
    source: ClassVar[str] = "Sun, Ho and Lee (2020), LAMOL"
    equation: ClassVar[str] = "L = L_QA + lambda L_LM, also on ceil(gamma n_t) generated examples of the old tasks"

    def __init__(self, model: Model, config: LamolConfig) -> None:
        super().__init__(model)
        self.config = config
        model.head = NoHead(model.backbone.features)
        self._pseudo: tuple[Example, ...] = ()
        self._row_starts = torch.zeros(0, dtype=torch.long)
        self._counts: dict[str, list[int]] = {"asked": [], "kept": []}

    @property
    def language_model(self) -> Gpt2:
        """The backbone."""
        backbone = self.model.backbone
        assert isinstance(backbone, Gpt2)
        return backbone

    # --- rehearsal --------------------------------------------------------------------------------------------------

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        # Written before the new task's token exists and from the weights the last task left: a resumed run writes the
        # same, its checkpoint being loaded afterwards.
        self._pseudo, sources = self._rehearse(len(task.train), seeds.generator("pseudo-examples", self.learned))
        starts = [self._start(self.learned)] * len(task.train) + [self._start(source) for source in sources]
        self._row_starts = torch.tensor(starts, device=self.present.device)
        self._make_room(self.learned + 1, seeds.generator("generation token", self.learned))

    def _start(self, task: int) -> int:
        return self.language_model.start(task if self.config.starts == "task" else 0)

    def _make_room(self, tasks: int, generator: torch.Generator) -> None:
        self.language_model.make_room(tasks if self.config.starts == "task" else 1, generator)

    def _rehearse(self, examples: int, generator: torch.Generator) -> tuple[tuple[Example, ...], list[int]]:
        """Pseudo-examples of the old tasks, and of which task each is; malformed ones are left out, not replaced."""
        asked = pseudo_counts(examples, self.config.pseudo_share, self.learned, generator)
        wanted = [task for task, count in enumerate(asked) for _ in range(count)]
        config, training = self.config, self.training
        self.eval()
        written = self.language_model.sample(
            [self._start(task) for task in wanted], config.max_length, config.top_k, config.temperature, generator
        )
        self.train(training)
        parsed = [(self.language_model.parse(text), task) for text, task in zip(written, wanted, strict=True)]
        kept = [(example, task) for example, task in parsed if example is not None]
        sources = [task for _, task in kept]
        self._counts = {"asked": asked, "kept": [sources.count(task) for task in range(self.learned)]}
        return tuple(example for example, _ in kept), sources

    def plan(self, task: Task) -> list[Phase]:
        return [Phase("train", (Group(self.weights(), self.config.learning_rate),), task.train + self._pseudo)]

    def finish_task(self, task: Task) -> None:
        self._pseudo, self._row_starts = (), torch.zeros(0, dtype=torch.long)
        super().finish_task(task)

    def report(self) -> dict[str, Any]:
        """How many pseudo-examples of each old task were asked for and were well-formed."""
        return {"pseudo_examples": self._counts}

    # --- learning and answering -------------------------------------------------------------------------------------

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        ids, length, prompt = batch.inputs["input_ids"], batch.inputs["length"], batch.inputs["prompt"]
        place = torch.arange(ids.shape[1], device=ids.device)
        real = place < length.unsqueeze(1)
        answer = real & (place >= prompt.unsqueeze(1))
        terms = {"qa": self._token_loss(ids[:, :-1], ids[:, 1:], answer[:, 1:])}
        if self.config.lm_weight:
            shifted = torch.cat([self._row_starts[batch.rows].unsqueeze(1), ids[:, :-1]], dim=1)
            terms["lm"] = self.config.lm_weight * self._token_loss(shifted, ids, real)
        return terms

    def _token_loss(self, inputs: Tensor, targets: Tensor, where: Tensor) -> Tensor:
        """Weighted mean of -log p(target) over the tokens ``where``; (B, L) each."""
        wanted = targets[where]
        logits = self.language_model.vocabulary(self.language_model.states(inputs)[where])
        weights = torch.where(wanted == self.language_model.ans, self.config.answer_weight, 1.0)
        return (weights * cross_entropy(logits, wanted, reduction="none")).sum() / weights.sum()

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        """Logarithm of p(answer | sentence question [ANS]) of each answer, (B, C); the task does not matter.

        Sums over an answer's tokens, not divided by their number: no answer begins with another, so the three are
        exclusive events and the softmax over them is the probability of each, given that one is said. Where each
        is a single token all are read off one pass; otherwise it is a pass per distinct beginning.
        """
        model, answers = self.language_model, self.language_model.answers
        ids, prompt = batch.inputs["input_ids"], batch.inputs["prompt"]
        rows, longest = torch.arange(len(ids), device=ids.device), int(prompt.max())
        asked = ids[:, :longest].clone()
        asked[torch.arange(longest, device=ids.device) >= prompt.unsqueeze(1)] = model.pad  # no answer in sight
        scores = ids.new_zeros((len(POLARITIES), len(ids)), dtype=torch.float32)
        for beginning in sorted({tuple(words[:end]) for words in answers.values() for end in range(len(words))}):
            text = torch.cat([asked, asked.new_full((len(ids), len(beginning)), model.pad)], dim=1)
            for offset, token in enumerate(beginning):
                text[rows, prompt + offset] = token
            last = model.states(text)[rows, prompt + len(beginning) - 1]
            log_probability = model.vocabulary(last).log_softmax(dim=-1)
            for polarity, words in answers.items():
                if len(words) > len(beginning) and tuple(words[: len(beginning)]) == beginning:
                    scores[polarity.column] += log_probability[:, words[len(beginning)]]
        return scores.T

    def weights(self) -> tuple[torch.nn.Parameter, ...]:
        return tuple(self.model.backbone.parameters())

    def restore(self, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self._make_room(int(facts["learned"]), torch.Generator())
        super().restore(facts, tensors)


def pseudo_counts(examples: int, share: float, old: int, generator: torch.Generator) -> list[int]:
    """How many pseudo-examples of each old task: ceil(share * examples) in all, no two tasks more than one apart.

    Rounding the total to a multiple of the old tasks would give none at all where it is smaller than their number
    (six for eighteen old tasks at the paper's smallest domain). What is left over goes to tasks drawn at random, others
    at every new task.
    """
    if not old:
        return []
    total = math.ceil(round(share * examples, 9))  # 0.07 * 100 is a little more than 7 in floating point
    each, left = divmod(total, old)
    lucky = set(torch.randperm(old, generator=generator)[:left].tolist())
    return [each + (task in lucky) for task in range(old)]
