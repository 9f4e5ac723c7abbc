"""The average of a network's weights along everything it has learned."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from classic.modules.keeping import Keeping

_HEAD_START = 10.0  # k: with so few steps behind it, an average is hardly more than its newest value
_LEAST = 0.01  # c: a new domain counts even after hundreds of others


class RunningAverage(nn.Module, Keeping):
    """What training walks through, averaged over its steps and over all tasks.

        average_n = average_{n-1} + r_n (weights_n - average_{n-1}),    r_n = max(k / (n + k), c)

    After Polyak and Juditsky (1992). Training goes on from where it stood (`live`); what answers is the average. A single
    domain pulls the weights its own way; what all of them agree on stays in the average, and what one of them undid
    wears off slowly.

    Attributes:
        live: (P,) where training stood when the last task ended; empty before the first.
        average: (P,) during a task; empty between tasks, when the parameters themselves are the average.
        steps: n.
    """

    live: Tensor
    average: Tensor
    steps: Tensor

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.parameters_averaged = tuple(parameters)  # a plain tuple: they belong to the backbone and the head
        self.register_buffer("live", torch.zeros(0))
        self.register_buffer("average", torch.zeros(0))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def start_task(self) -> None:
        """The parameters, which are the average, become what training goes on from."""
        self.average = self._read()
        if len(self.live):
            self._write(self.live)

    def step(self) -> None:
        """After every update of the weights."""
        self.steps = self.steps + 1
        rate = max(_HEAD_START / (int(self.steps) + _HEAD_START), _LEAST)
        self.average = torch.lerp(self.average, self._read(), rate)

    def finish_task(self) -> None:
        """The parameters become the average."""
        self.live = self._read()
        self._write(self.average)
        self.average = self.live.new_zeros(0)

    def _read(self) -> Tensor:
        return torch.cat([parameter.detach().reshape(-1) for parameter in self.parameters_averaged])

    def _write(self, values: Tensor) -> None:
        sizes = [parameter.numel() for parameter in self.parameters_averaged]
        with torch.no_grad():
            for parameter, part in zip(self.parameters_averaged, values.split(sizes), strict=True):
                parameter.copy_(part.view_as(parameter))
