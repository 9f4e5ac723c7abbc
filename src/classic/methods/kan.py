"""KAN: one recurrent network for all tasks, and a second one that learns which of its units a new task may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from classic.losses.classification import MissingClasses
from classic.methods.base import Group, Phase
from classic.methods.recurrent import RecurrentMethod
from classic.model import Model
from classic.modules.bits import pack_bits, unpack_bits
from classic.modules.recurrent import GruReader, draw_uniform
from classic.seeding import Seeds
from classic.types import Batch, Step, Task

ACCESSIBILITY, MAIN = "accessibility", "main"


@dataclass(frozen=True)
class KanConfig:
    """How accessibility masks are learned.

    Attributes:
        s_max: Scale at the end of annealing; 400 in the released code.
        anneal: Over every ``epoch``, or over the whole ``task``.
        init_std: Spread of the initial embeddings; 1 in the released code.
        learning_rate: Of the embeddings; None takes the rate of the weights, under which they hardly move.
        compensate: Whether the gradient is compensated for the annealing, as in HAT; the released code means to,
            and does not because a name does not match.
        clamp: Largest size of an embedding.
        missing: See `classic.losses.cross_entropy`.
    """

    s_max: float = 400.0
    anneal: Literal["epoch", "task"] = "epoch"
    init_std: float = 0.02
    learning_rate: float | None = 0.005
    compensate: bool = True
    clamp: float = 6.0
    missing: MissingClasses = "plain"


class Kan(RecurrentMethod):
    """Knowledge accessibility network.

    Source: Ke, Liu, Wang, Shu (2020), "Continual Learning with Knowledge Transfer for Sentiment Classification".

        a_t = sigmoid(s e_t), rounded to {0, 1} when the accessibility phase ends; a_1 = 1
        accessibility phase (t > 1):  h_1..h_L = main(x);  logits = head(ReLU(last of access(ReLU(h) a_t)))
        main phase:                   logits = head(ReLU(last of main(x) a_t));  dW_i *= a_t,i for every gate of unit i

    A unit is its rows of the weights, in all three gates. Here 1 means "may change", the opposite of HAT: a new task
    shares and improves what is of use to it and leaves the rest alone, so earlier models are not kept to the bit.
    Keeps both networks, the head and one mask per task, as bits.
    """

    version: ClassVar[int] = 1
    source: ClassVar[str] = (
        "Ke et al. (2020), ECML-PKDD, Continual Learning with Knowledge Transfer for Sentiment Classification"
    )
    equation: ClassVar[str] = "a_t = sigmoid(s e_t);  h = ReLU(GRU(x) a_t);  dW_i *= a_t,i"
    grows: ClassVar[bool] = True
    needs_task_id: ClassVar[bool] = True

    bits: Tensor

    def __init__(self, model: Model, config: KanConfig) -> None:
        super().__init__(model)
        self.config = config
        self.main = GruReader(self.width)
        self.access = GruReader(self.width)
        self._clear_own()
        self.embedding = nn.Parameter(torch.zeros(self.width))
        self.register_buffer("bits", torch.zeros((0, -(-self.width // 8)), dtype=torch.uint8))
        self._phase = MAIN
        self._scale = config.s_max

    def own(self) -> tuple[nn.Module, ...]:
        return self.main, self.access

    # --- the life of a task -----------------------------------------------------------------------------------------

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        self._phase = ACCESSIBILITY if self.learned else MAIN
        if not self.learned:
            draw_uniform(self.main, self.width, seeds.generator("main"))
            draw_uniform(self.access, self.width, seeds.generator("accessibility"))
        with torch.no_grad():
            if self.learned:
                drawn = torch.empty(self.width).normal_(
                    0.0, self.config.init_std, generator=seeds.generator("gates", self.learned)
                )
                self.embedding.copy_(drawn)
            else:
                self.embedding.fill_(self.config.clamp)  # the first task has the whole network to itself

    def plan(self, task: Task) -> list[Phase]:
        head = tuple(self.model.head.current.parameters())
        main = Phase(MAIN, (Group((*self.main.parameters(), *head)),), task.train)
        if not self.learned:
            return [main]
        masks = Group((self.embedding,), self.config.learning_rate)
        return [Phase(ACCESSIBILITY, (Group((*self.access.parameters(), *head)), masks), task.train), main]

    def start_phase(self, phase: Phase) -> None:
        self._phase = phase.name

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        if self._phase == ACCESSIBILITY:
            features = self._through_access(batch, self._soft(step))
        else:
            features = self._through_main(batch, self._rounded())
        logits = self.model.head(features)
        return {"ce": self.classify(logits, batch.labels, self.config.missing)}

    def edit_gradients(self, step: Step) -> None:
        if self._phase == ACCESSIBILITY:
            self._compensate()
            return
        rows = self._rounded().repeat(3)  # nn.GRU stacks the rows of its three gates
        for parameter in self.main.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(rows.view(-1, *[1] * (parameter.dim() - 1)))

    def after_update(self, step: Step) -> None:
        with torch.no_grad():
            self.embedding.clamp_(-self.config.clamp, self.config.clamp)

    def finish_task(self, task: Task) -> None:
        self.bits = torch.cat([self.bits, pack_bits(self._rounded() > 0).unsqueeze(0).to(self.bits.device)])
        with torch.no_grad():
            self.embedding.zero_()
        super().finish_task(task)

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        if task is None and self.in_task and self._phase == ACCESSIBILITY:
            features = self._through_access(batch, self._rounded())
        elif task is None and self.in_task:
            features = self._through_main(batch, self._rounded())
        else:
            features = self._through_main(batch, self.mask(self.learned - 1 if task is None else task))
        logits: Tensor = self.model.head(features, task)
        return logits

    def published_parameters(self, tasks: int) -> int:
        return (tasks - 1) * self.width  # an embedding per task; here one, and bits for the others

    def report(self) -> dict[str, Any]:
        return {"accessible": float(self.mask(self.learned - 1).mean())}

    # --- networks and masks -----------------------------------------------------------------------------------------

    def _through_main(self, batch: Batch, mask: Tensor) -> Tensor:
        _, last = self.main(*self.read(batch))
        return torch.relu(last * mask)

    def _through_access(self, batch: Batch, mask: Tensor) -> Tensor:
        tokens, real = self.read(batch)
        with torch.no_grad():  # the main network stands still while its units are looked over
            states, _ = self.main(tokens, real)
        _, last = self.access(torch.relu(states) * mask, real)
        return torch.relu(last)

    def mask(self, task: int) -> Tensor:
        """The mask of a learned task, (d,), zeros and ones."""
        return unpack_bits(self.bits[task], self.width).to(self.embedding)

    def _rounded(self) -> Tensor:
        return (self.embedding.detach() > 0).to(self.embedding.dtype)

    def _soft(self, step: Step) -> Tensor:
        s_max = self.config.s_max
        progress = step.epoch_progress if self.config.anneal == "epoch" else step.task_progress
        self._scale = 1 / s_max + (s_max - 1 / s_max) * progress
        return torch.sigmoid(self._scale * self.embedding)

    def _compensate(self) -> None:
        """Undoes the damping of the embedding's gradient by the annealing (HAT, Sec. 2.5)."""
        grad, s = self.embedding.grad, self._scale
        if grad is None or not self.config.compensate:
            return
        e = self.embedding.detach()
        grad.mul_(self.config.s_max / s * (torch.cosh((s * e).clamp(-50, 50)) + 1) / (torch.cosh(e) + 1))
