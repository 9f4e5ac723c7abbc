"""The average of a network's weights along everything it has learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from classic.modules.keeping import Keeping

_LONG = 100.0  # h: a lesson of more steps than these counts for more than half
_HEAD_START = 10.0  # k: with so few steps behind it, a lesson's average is hardly more than its newest value
_LEAST = 0.02  # c: it forgets the beginning of a long lesson


class RunningAverage(nn.Module, Keeping):
    """Every lesson begins where the answers are, and what answers goes a share of the way to where it leads.

        lesson_n = lesson_{n-1} + r_n (weights_n - lesson_{n-1}),    r_n = max(k / (n + k), c)
        answers  = before + a (lesson_N - before),      a = max(N / (N + h), 1/2), and 1 in the first lesson

    The first line is after Polyak and Juditsky (1992), the second after Wortsman et al. (2022): between a network and one
    that was tuned further lies one that knows what both know. A small domain pulls the weights its own way; half of
    the way is enough to learn it, and what earlier ones taught wears off slowly (docs/research, section 19).

    Attributes:
        average: (P,) during a task: the weights that answered before it; empty between tasks.
        live: (P,) during a task: its own steps, averaged; empty between tasks.
        steps: n, of this task or the last one.
    """

    live: Tensor
    average: Tensor
    steps: Tensor

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.parameters_averaged = tuple(parameters)  # a plain tuple: they belong to the backbone and the head
        self._first = True
        self.register_buffer("live", torch.zeros(0))
        self.register_buffer("average", torch.zeros(0))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def start_task(self) -> None:
        """Training goes on from the weights that answer."""
        self._first = not int(self.steps)
        self.steps = torch.zeros_like(self.steps)
        self.average = self._read()
        self.live = self.average.clone()

    def step(self) -> None:
        """After every update of the weights."""
        self.steps = self.steps + 1
        rate = max(_HEAD_START / (int(self.steps) + _HEAD_START), _LEAST)
        # In place: a whole encoder is too large to be copied in every step.
        for parameter, part in self._parts(self.live):
            part.lerp_(parameter.detach(), rate)

    def finish_task(self) -> None:
        """The parameters become what answers."""
        count = float(self.steps)
        share = 1.0 if self._first else max(count / (count + _LONG), 0.5)
        self._write(torch.lerp(self.average, self.live, share))
        self.average, self.live = self.average.new_zeros(0), self.average.new_zeros(0)  # two buffers, not one twice

    def _read(self) -> Tensor:
        return torch.cat([parameter.detach().reshape(-1) for parameter in self.parameters_averaged])

    def _write(self, values: Tensor) -> None:
        with torch.no_grad():
            for parameter, part in self._parts(values):
                parameter.copy_(part)

    def _parts(self, values: Tensor) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Each parameter, and its part of all values in its shape."""
        sizes = [parameter.numel() for parameter in self.parameters_averaged]
        for parameter, part in zip(self.parameters_averaged, values.split(sizes), strict=True):
            yield parameter, part.view_as(parameter)
