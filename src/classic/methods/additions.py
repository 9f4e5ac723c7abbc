"""What any method may use besides its own idea. None of it is in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from classic.errors import InputError
from classic.losses import cross_entropy
from classic.losses.adjusted import adjusted_cross_entropy
from classic.losses.classification import MissingClasses
from classic.modules.domain_map import DomainMap
from classic.modules.domain_reader import DomainReader, KnownDomain
from classic.types import POLARITIES, Task


@dataclass(frozen=True)
class Additions:
    """What a system adds to its method; every default is "nothing".

    Attributes:
        shares: Whether a domain's label shares are ``learned`` with everything else, or ``set_aside``: see
            `classic.losses.adjusted`.
        domains: Whether an answer is ``blind`` to the domain, or the domain is ``inferred`` from the text where it is not
            told: see `classic.modules.domain_reader`.
        belief: How far such an answer believes the label shares of the likely domains, where they were set aside: 0 asks
            only which classes they have, which is fair to rare ones, 1 takes the shares as they are, which errs least
            often.
        faded: How far such an answer raises classes that the last domains lacked; 0 leaves them as they are.
        average: Whether answers come from weights that are averaged along the sequence: see `classic.modules.averaging`.
            A method with task masks then protects no unit: all go on learning. Only in DIL.
    """

    shares: Literal["learned", "set_aside"] = "learned"
    domains: Literal["blind", "inferred"] = "blind"
    belief: float = 0.0
    faded: float = 0.0
    average: bool = False

    def __post_init__(self) -> None:
        for name in ("belief", "faded"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"additions.{name} is {getattr(self, name)}", fix="give a finite number, 0 or more")


class Answers(nn.Module):
    """How a method learns a domain's labels, and how its logits become answers.

    Attributes:
        shares: (T, C) label shares of the learned domains; only where domains are inferred.
    """

    shares: Tensor

    def __init__(self, additions: Additions) -> None:
        super().__init__()
        self.additions = additions
        self.reads = additions.domains == "inferred"
        # Where the shares were learned, the logits have them already.
        self._belief = additions.belief if additions.shares == "set_aside" else 0.0
        self._current = torch.zeros(0)
        self._map: tuple[DomainMap, ...] = ()  # in a tuple, out of the sight of nn.Module: it is kept elsewhere
        self._reader: tuple[int, DomainReader] | None = None
        if self.reads:
            self.register_buffer("shares", torch.zeros(0, len(POLARITIES)))

    def start_task(self, task: Task, device: torch.device) -> None:
        """Counts the task's labels."""
        self._current = label_shares(task).to(device)

    def finish_task(self) -> None:
        """Keeps the task's label shares."""
        if self.reads:
            self.shares = torch.cat([self.shares, self._current.unsqueeze(0)])

    def cross_entropy(
        self,
        logits: Tensor,
        labels: Tensor,
        present: Tensor,
        missing: MissingClasses = "plain",
        shares: Tensor | None = None,
    ) -> Tensor:
        """The classification loss; ``shares`` are those of the task in training unless others (B, C) are given."""
        if self.additions.shares == "set_aside":
            return adjusted_cross_entropy(logits, labels, self._current if shares is None else shares)
        return cross_entropy(logits, labels, present, missing)

    def show_map(self, domains: DomainMap) -> None:
        """From now on this map is asked; it goes on growing with every task."""
        self._map, self._reader = (domains,), None

    def reader(self, task: int | None, *, in_task: bool) -> nn.Module | None:
        """What turns logits and surfaces into answers; None where the logits are the answer."""
        if not self.reads:
            return None
        if in_task:
            return KnownDomain(self._current, self._belief)
        if task is not None:
            return KnownDomain(self.shares[task], self._belief)
        learned = len(self.shares)
        if not self._map or len(self._map[0].means) != learned:  # nobody keeps a map
            return None
        if self._reader is None or self._reader[0] != learned:
            read = DomainReader(self._map[0], self.shares, self._belief, self.additions.faded)
            self._reader = learned, read
        return self._reader[1]


def label_shares(task: Task) -> Tensor:
    """(C,) the share of each polarity among the training examples."""
    counts = torch.tensor([sum(e.polarity is polarity for e in task.train) for polarity in POLARITIES])
    return counts / counts.sum()
