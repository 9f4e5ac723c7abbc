"""SRK: a network that learns features freely beside one that retains knowledge, fused by a gate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.batching import sorted_batches
from classic.losses.classification import MissingClasses
from classic.methods.recurrent import RecurrentMethod
from classic.model import Model
from classic.modules.heads import Head
from classic.modules.recurrent import ClippedGru, GruReader, draw_uniform
from classic.seeding import Seeds
from classic.types import Batch, Step, Task

_ACTIVITY_BATCH = 64


@dataclass(frozen=True)
class SrkConfig:
    """How much of the retaining network a new task may change.

    Attributes:
        leak: kappa, the slope of the retaining network's activation outside its linear part; 0.01 in SRK's paper.
        floor: Share of the units that stay free for ever; 0.2 in SRK's paper.
        decay: How fast the share falls to it, per task: s_t = (1 - floor) exp(-decay (t - 1)) + floor.
        missing: See `classic.losses.cross_entropy`.
    """

    leak: float = 0.01
    floor: float = 0.2
    decay: float = 0.1
    missing: MissingClasses = "plain"


class Srk(RecurrentMethod):
    """Sentiment classification by leveraging shared knowledge.

    Source: Lv, Wang, Liu, Chen, Zhang (2019), "Sentiment Classification by Leveraging the Shared Knowledge from a
    Sequence of Domains".

        f = last of fln(x),  k = last of krn(x),  g = sigmoid(W_f f + W_k k),  h = (1 - g) f + g k
        L = CE(head(h)) + CE(head_f(f)) + CE(head_k(k))
        from task 2 on, in krn:  dW[:, j] *= u_x,j,  dU[:, j] *= u_h,j,  db_j *= u_h,j in every gate, d being the update
        u_j = 1 - S_j, and 0 for all but the share s_t of least active units;  S = activity, scaled to [0, 1]

    The activity S_x = sum |x_j|, S_h = sum |h_j| is that of krn's inputs and states over the training texts of all
    earlier tasks, measured once when a task ends. Keeps the networks, the three heads, S_x and S_h.
    """

    version: ClassVar[int] = 2
    source: ClassVar[str] = (
        "Lv et al. (2019), DASFAA, "
        "Sentiment Classification by Leveraging the Shared Knowledge from a Sequence of Domains"
    )
    equation: ClassVar[str] = "h = (1 - g) f + g k;  dW[:, j] *= (1 - S_j) [j among the s_t least active]"

    input_activity: Tensor
    state_activity: Tensor

    def __init__(self, model: Model, config: SrkConfig) -> None:
        super().__init__(model)
        self.config = config
        self.fln = GruReader(self.width)
        self.krn = ClippedGru(self.width, config.leak)
        self.gate_fln = nn.Linear(self.width, self.width, bias=False)
        self.gate_krn = nn.Linear(self.width, self.width, bias=False)
        self._clear_own()
        head = model.head
        self.fln_head, self.krn_head = (
            Head(self.width, head.scenario, head.dropout.p, torch.Generator().manual_seed(number)) for number in (1, 2)
        )
        self.register_buffer("input_activity", torch.zeros(self.width))
        self.register_buffer("state_activity", torch.zeros(self.width))
        self._free_inputs, self._free_states = torch.ones(self.width), torch.ones(self.width)
        self._before: list[Tensor] = []

    def own(self) -> tuple[nn.Module, ...]:
        return self.fln, self.krn, self.gate_fln, self.gate_krn

    def weights(self) -> tuple[nn.Parameter, ...]:
        return super().weights() + tuple(
            parameter for head in (self.fln_head, self.krn_head) for parameter in head.current.parameters()
        )

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        for name, head in (("fln head", self.fln_head), ("krn head", self.krn_head)):
            head.start_task(task.classes, seeds.generator(name, self.learned))
            if not self.learned:
                with torch.no_grad():
                    drawn = torch.empty(head.current.weight.shape).normal_(0.0, 0.02, generator=seeds.generator(name))
                    head.current.weight.copy_(drawn)
        if not self.learned:
            for number, module in enumerate(self.own()):
                draw_uniform(module, self.width, seeds.generator("srk", number))
            return
        self._free_inputs = self.free(self.input_activity)
        self._free_states = self.free(self.state_activity)

    def share(self) -> float:
        """s_t: the share of units the task in training may change; 1 for the first."""
        floor = self.config.floor
        return (1 - floor) * math.exp(-self.config.decay * self.learned) + floor

    def free(self, activity: Tensor) -> Tensor:
        """u: how freely the weights of each unit may change, from the unit's own activity (d,)."""
        low, high = activity.min(), activity.max()
        scaled = (activity - low) / (high - low).clamp(min=torch.finfo(activity.dtype).tiny)
        count = int(self.share() * len(scaled))
        calmest = scaled.argsort(stable=True)[:count]
        free = torch.zeros_like(scaled)
        free[calmest] = 1 - scaled[calmest]
        return free

    def _states(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """h, f and k, each (B, d)."""
        tokens, real = self.read(batch)
        _, f = self.fln(tokens, real)
        _, k = self.krn(tokens, real)
        gate = torch.sigmoid(self.gate_fln(f) + self.gate_krn(k))
        return (1 - gate) * f + gate * k, f, k

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        terms = {}
        heads = {"ce": self.model.head, "ce_fln": self.fln_head, "ce_krn": self.krn_head}
        for (name, head), state in zip(heads.items(), self._states(batch), strict=True):
            terms[name] = self.classify(head(state), batch.labels, self.config.missing)
        return terms

    def _protected(self) -> list[tuple[Tensor, Tensor]]:
        """The retaining network's weights, and how freely each may change."""
        rows = self._free_states.repeat(3)  # of the three gates
        return [
            (self.krn.from_input.weight, self._free_inputs),
            (self.krn.from_input.bias, rows),
            (self.krn.from_state.weight, self._free_states),
            (self.krn.from_state.bias, rows),
        ]

    def edit_gradients(self, step: Step) -> None:
        if self.learned:
            self._before = [parameter.detach().clone() for parameter, _ in self._protected()]

    def after_update(self, step: Step) -> None:
        # The update is scaled, not the gradient: Adam divides every gradient by its own size, and a scale with it.
        if self.learned:
            with torch.no_grad():
                for (parameter, free), before in zip(self._protected(), self._before, strict=True):
                    parameter.copy_(before + (parameter - before) * free)

    def finish_task(self, task: Task) -> None:
        self.eval()
        with torch.no_grad():
            for batch in sorted_batches(self.model.backbone, task.train, _ACTIVITY_BATCH):
                tokens, real = self.read(batch.to(self.present.device))
                states, _ = self.krn(tokens, real)
                self.input_activity += (tokens.abs() * real.unsqueeze(-1)).sum(dim=(0, 1))
                self.state_activity += states.abs().sum(dim=(0, 1))
        self._before = []
        super().finish_task(task)

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        logits: Tensor = self.model.head(self._states(batch)[0], task)
        return logits

    def restore(self, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        for head in (self.fln_head, self.krn_head):
            head.restore_heads([tuple(columns) for columns in facts["heads"]])
        super().restore(facts, tensors)

    def report(self) -> dict[str, Any]:
        return {"free_share": self.share()}
