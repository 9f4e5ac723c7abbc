"""Task masks: which units of the network a task uses, learned with the task and kept as bits afterwards.

After Serrà et al. (2018), "HAT". All gated units of a network lie in one flat vector, layer after layer, so that the
embedding, its gradient rule, its sparsity and its storage are one tensor each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from classic.errors import IncompatibleError
from classic.modules.bits import pack_bits, unpack_bits
from classic.modules.plastic import Plastic
from classic.types import Step


@dataclass(frozen=True)
class GateConfig:
    """How masks are learned.

    Attributes:
        s_max: Scale at the end of annealing; 400 in the paper.
        anneal: Over every ``epoch`` (the paper), the same without ever reaching s_max (``epoch_short``, the released
            code), over the whole ``task``, or not at all (``none``: always s_max). Hard gates have no use for it.
        form: ``soft`` gates in training (the paper), or ``hard`` ones, 0 or 1, with the soft gradient passed through.
        hard_scale: The scale of the sigmoid whose gradient a hard gate borrows.
        init: ``normal`` embeddings of ``init_std`` (the released code); ``reuse``: open on every unit an earlier task
            uses and on ``fresh`` units per first layer that no task uses, so that a new task starts as the old model; or
            ``carry``: as the task before left them, and open on ``fresh`` units, so that what many tasks found useful is
            not closed by a small one.
        init_std: Spread of normal embeddings; 0.02 in the released code.
        init_size: Distance from 0 of other embeddings where a task starts.
        fresh_first: Share of a first layer's units that is opened for the first task, on which all others build.
        fresh: The same for every later task.
        travel: How far an embedding can go in a task, all its steps together; the rate follows from their number, so that
            masks move as far on a domain of a hundred examples as on one of thousands. None takes ``learning_rate``.
        learning_rate: Of the embeddings where no ``travel`` is given; None takes the rate of the weights, under which they
            hardly move.
        sparsity: Weight c of the sparsity term; 0.75 in the released code, unmentioned in the paper.
        pressure: In place of that term: how hard open units that no earlier task uses are pushed shut, as a share of the
            mean pull of the losses on the embeddings of their layer. A fixed weight c means nothing under Adam: while
            adapters do nothing yet, it is all there is, and shuts them all.
        clamp: Largest size of an embedding.
        compensate: Whether the gradient is compensated for the annealing.
    """

    s_max: float = 400.0
    anneal: Literal["epoch", "epoch_short", "task", "none"] = "task"
    form: Literal["soft", "hard"] = "hard"
    hard_scale: float = 4.0
    init: Literal["normal", "reuse", "carry"] = "carry"
    init_std: float = 0.02
    init_size: float = 0.15
    fresh_first: float = 0.25
    fresh: float = 0.04
    travel: float | None = 1.0
    learning_rate: float | None = None
    sparsity: float = 0.0
    pressure: float = 0.15
    clamp: float = 1.0
    compensate: bool = False


class UnitGate(nn.Module):
    """Multiplies a layer's output units by the mask it was last shown; lets everything pass if it was shown none."""

    def __init__(self, plastic: Plastic) -> None:
        super().__init__()
        self.channels_first = isinstance(plastic.layer, nn.Conv1d)
        self.mask: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.mask is None:
            return x
        return x * (self.mask.unsqueeze(-1) if self.channels_first else self.mask)


class TaskGates(nn.Module):
    """The masks of all tasks over all Plastic layers of a network.

    Attributes:
        embedding: e, (U,); of the task in training; between tasks what is carried to the next, if anything.
        bits: (T, ceil(U / 8)) uint8; the binary masks of the tasks learned so far.
    """

    bits: Tensor

    def __init__(self, plastics: dict[str, Plastic], config: GateConfig) -> None:
        super().__init__()
        if not plastics:
            raise IncompatibleError(
                "this backbone has no layer that task masks could gate", fix="choose a backbone that provides PLASTIC"
            )
        self.config = config
        self.plastics = tuple(plastics.values())
        self.names = tuple(plastics)
        self.sizes = [plastic.units for plastic in self.plastics]
        self.units = sum(self.sizes)
        self.gates = []
        for plastic in self.plastics:
            gate = UnitGate(plastic)
            plastic.gate = gate
            self.gates.append(gate)
        self.embedding = nn.Parameter(torch.zeros(self.units))
        self.register_buffer("bits", torch.zeros((0, -(-self.units // 8)), dtype=torch.uint8))
        self.moves: dict[str, int] = {}
        self._start = torch.zeros(self.units, dtype=torch.bool)
        self._keep: list[tuple[Tensor, Tensor | None]] | None = None
        self._free = torch.ones(self.units)
        self._before: list[tuple[Tensor, Tensor | None]] = []
        self._scale = config.s_max

    # --- masks of learned tasks -------------------------------------------------------------------------------------

    @property
    def learned(self) -> int:
        """How many tasks have a mask."""
        return len(self.bits)

    def mask(self, task: int) -> Tensor:
        """The binary mask of a learned task, (U,) bool."""
        return unpack_bits(self.bits[task], self.units).to(self.embedding.device)

    def used(self) -> Tensor:
        """The units some task uses, (U,) bool.

        Paper: Eq. (3), Sec. 3.2.2: m_ac = MaxPool({m_i}); of binary masks that is their union.
        """
        used = torch.zeros(self.units, dtype=torch.bool, device=self.embedding.device)
        for task in range(self.learned):
            used |= self.mask(task)
        return used

    def show(self, mask: Tensor) -> None:
        """Sets all gates of the network to a mask (U,)."""
        for gate, part in zip(self.gates, mask.split(self.sizes), strict=True):
            gate.mask = part

    # --- the task in training ---------------------------------------------------------------------------------------

    def start_task(self, generator: torch.Generator) -> None:
        """Initialises the embedding and works out which weights are protected."""
        used = self.used()
        with torch.no_grad():
            if self.config.init == "normal":
                fresh = torch.empty(self.units).normal_(0.0, self.config.init_std, generator=generator)
                self.embedding.copy_(fresh)
            else:
                self.embedding.copy_(self._open_used_and_fresh(used, generator))
        self._start = self.rounded()
        self._free = (~used).to(self.embedding.dtype)
        self._keep = None
        if self.learned:
            self._keep = [
                (~self._pairs(plastic, used), None if plastic.layer.bias is None else ~own)
                for plastic, own in zip(self.plastics, used.split(self.sizes), strict=True)
            ]
        self._before = [
            (
                plastic.layer.weight.detach().clone(),
                None if plastic.layer.bias is None else plastic.layer.bias.detach().clone(),
            )
            for plastic in self.plastics
        ]

    def _open_used_and_fresh(self, used: Tensor, generator: torch.Generator) -> Tensor:
        """Open on used units, or on those the last task used, and on some fresh ones; see ``GateConfig.init``.

        Layers fed by gated layers are wholly open at first.

        New knowledge enters through fresh units of a first layer. A unit further up that is used already may take input
        from them without disturbing any earlier task, so only first layers can run out.
        """
        share = self.config.fresh if self.learned else self.config.fresh_first
        carried = self.config.init == "carry" and self.learned > 0
        opened = self.rounded() if carried else used.clone()
        parts = opened.split(self.sizes)  # views: writing into a part writes into `opened`
        for plastic, part, own in zip(self.plastics, parts, used.split(self.sizes), strict=True):
            if plastic.upstream:
                if not carried:
                    part.fill_(True)
                continue
            free = (~part & ~own).nonzero().squeeze(1)
            count = min(len(free), max(1, round(share * plastic.units)))
            chosen = free[torch.randperm(len(free), generator=generator)[:count].to(free.device)]
            part[chosen] = True
        fresh = torch.where(opened, self.config.init_size, -self.config.init_size)
        if not carried:
            return fresh
        return torch.where(opened == self.rounded(), self.embedding.detach(), fresh)

    def _pairs(self, plastic: Plastic, mask: Tensor) -> Tensor:
        """Which weights of a layer connect masked units on both sides, in a shape that broadcasts to the weight."""
        parts: dict[int, Tensor] = dict(zip(map(id, self.plastics), mask.split(self.sizes), strict=True))
        out = parts[id(plastic)]
        trailing = (1,) * (plastic.layer.weight.dim() - 2)
        if not plastic.upstream:
            return out.view(-1, 1, *trailing)
        into = torch.cat([parts[id(up)] for up in plastic.upstream])
        return (out.unsqueeze(1) & into.unsqueeze(0)).view(len(out), len(into), *trailing)

    def scale(self, step: Step) -> float:
        """The annealed scale s.

        Paper: Eq. (5), Sec. 3.2.2: s = 1/s_max + (s_max - 1/s_max) (b - 1) / (B - 1).
        """
        s_max = self.config.s_max
        if self.config.anneal == "none":
            return s_max
        progress = {
            "epoch": step.epoch_progress,
            "epoch_short": step.batch / step.batches,  # (b - 1) / B
            "task": step.task_progress,
        }[self.config.anneal]
        return 1 / s_max + (s_max - 1 / s_max) * progress

    def open(self, step: Step) -> None:
        """Shows the network the mask of the task in training, with gradient.

        Paper: Eq. (2), Sec. 3.2.1: m = sigmoid(s e).
        """
        self.show(self._soft(step))

    def _soft(self, step: Step) -> Tensor:
        self._scale = self.scale(step)
        if self.config.form == "soft":
            return torch.sigmoid(self._scale * self.embedding)
        soft = torch.sigmoid(self.config.hard_scale * self.embedding)
        # The difference first: it is exactly 0, while 1 + soft is rounded and would leave a gate of 0.99999994.
        return (self.embedding > 0).to(soft.dtype) + (soft - soft.detach())

    def rounded(self) -> Tensor:
        """The mask the task in training would keep if it ended now, (U,) bool."""
        return self.embedding.detach() > 0

    def sparsity(self) -> Tensor:
        """How much of the free units the task takes: R = sum m (1 - M) / sum (1 - M), at the current scale."""
        shown = torch.cat([gate.mask for gate in self.gates if gate.mask is not None])
        return (shown * self._free).sum() / self._free.sum().clamp(min=1.0)

    # --- gradients --------------------------------------------------------------------------------------------------

    def protect(self) -> None:
        """Zeroes the gradient of every weight an earlier task uses.

        Paper: Eq. (4), Sec. 3.2.2: g' = g (1 - m_ac); a weight between two gated layers belongs to an earlier task when
        both its units do. With no decay and a fresh optimiser the update is then exactly zero, too.
        """
        if self._keep is None:
            return
        for plastic, (keep_weight, keep_bias) in zip(self.plastics, self._keep, strict=True):
            if plastic.layer.weight.grad is not None:
                plastic.layer.weight.grad.mul_(keep_weight)
            if keep_bias is not None and plastic.layer.bias is not None and plastic.layer.bias.grad is not None:
                plastic.layer.bias.grad.mul_(keep_bias)

    def press(self) -> None:
        """Pushes open units that no earlier task uses shut: de += pressure * rms of de over the layer."""
        grad = self.embedding.grad
        if grad is None or not self.config.pressure:
            return
        pushed = (self._free > 0) & self.rounded()
        for part, units in zip(grad.split(self.sizes), pushed.split(self.sizes), strict=True):
            part.add_(units * self.config.pressure * part.square().mean().sqrt())  # a view: writes into the gradient

    def compensate(self) -> None:
        """Undoes the damping of the embedding's gradient by the annealing (HAT, Sec. 2.5).

        de *= s_max / s * (cosh(clip(s e)) + 1) / (cosh(e) + 1), the clip at 50 against overflow.
        """
        grad = self.embedding.grad
        if grad is None or not self.config.compensate or self.config.form == "hard":
            return
        e, s = self.embedding.detach(), self._scale
        numerator = torch.cosh((s * e).clamp(-50, 50)) + 1
        grad.mul_(self.config.s_max / s * numerator / (torch.cosh(e) + 1))

    def clamp(self) -> None:
        """Keeps embeddings within reach, after every step."""
        with torch.no_grad():
            self.embedding.clamp_(-self.config.clamp, self.config.clamp)

    # --- the end of a task ------------------------------------------------------------------------------------------

    def finish_task(self) -> None:
        """Rounds the mask, keeps it as bits, and gives back every weight the task does not use.

        A weight the rounded mask closes has no say in the task's features, so putting it back to what it was costs
        nothing and leaves later tasks, and the stored difference between two versions, only what was really learned.
        """
        mask = self.rounded()
        self.moves = self._moves(mask)
        parts = mask.split(self.sizes)
        with torch.no_grad():
            for plastic, own, (weight, bias) in zip(self.plastics, parts, self._before, strict=True):
                plastic.layer.weight.copy_(torch.where(self._pairs(plastic, mask), plastic.layer.weight, weight))
                if bias is not None and plastic.layer.bias is not None:
                    plastic.layer.bias.copy_(torch.where(own, plastic.layer.bias, bias))
        self.bits = torch.cat([self.bits, pack_bits(mask).unsqueeze(0).to(self.bits.device)])
        self._before, self._keep = [], None
        if self.config.init != "carry":
            with torch.no_grad():
                self.embedding.zero_()

    def _moves(self, mask: Tensor) -> dict[str, int]:
        """What learning did to the mask the task started with, and what it shares with earlier tasks, in units."""
        start, used = self._start.to(mask.device), self.used()
        counts = {
            "open": mask,
            "opened": mask & ~start,
            "closed": start & ~mask,
            "reused": mask & used,
            "fresh": mask & ~used,
        }
        return {name: int(units.sum()) for name, units in counts.items()} | {"units": self.units}

    def usage(self) -> float:
        """Share of the first layers' units that the task in training would use if it ended now."""
        parts = zip(self.plastics, self.rounded().split(self.sizes), strict=True)
        return float(torch.cat([part for plastic, part in parts if not plastic.upstream]).float().mean())

    def capacity(self) -> dict[str, float]:
        """Shares of the first layers' units, the ones that can run out, that the newest task uses, and that are free."""
        newest = self._scarce(self.learned - 1)
        earlier = torch.zeros_like(newest)
        for task in range(self.learned - 1):
            earlier |= self._scarce(task)
        total = len(newest)
        return {
            "used": int(newest.sum()) / total,
            "new": int((newest & ~earlier).sum()) / total,
            "shared": int((newest & earlier).sum()) / total,
            "free": int((~newest & ~earlier).sum()) / total,
        }

    def overlap(self) -> list[float]:
        """Share of the newest task's first-layer units that each learned task uses, too; 1 for itself."""
        newest = self._scarce(self.learned - 1)
        size = max(1, int(newest.sum()))
        return [int((self._scarce(task) & newest).sum()) / size for task in range(self.learned)]

    def _scarce(self, task: int) -> Tensor:
        """A learned task's mask on the layers that no gated layer feeds."""
        parts = self.mask(task).cpu().split(self.sizes)
        return torch.cat([part for plastic, part in zip(self.plastics, parts, strict=True) if not plastic.upstream])
