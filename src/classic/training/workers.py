"""Several processes that learn one task together, one per GPU, started by `accelerate launch`.

Every process takes its share of each batch and the gradients are averaged before a method edits them, so masks,
projections and protection work as in one process. Contrastive losses see the share of their own process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn


class Workers:
    """The processes of a launch; usually there is one, and nothing here costs anything.

    Attributes:
        rank: This process, from 0.
        count: How many there are.
    """

    def __init__(self, accelerator: Any = None) -> None:
        self._accelerator = accelerator
        self.rank: int = accelerator.process_index if accelerator else 0
        self.count: int = accelerator.num_processes if accelerator else 1

    @classmethod
    def find(cls, device: str = "cpu") -> Workers:
        """The processes of the launch this one belongs to."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        from accelerate import Accelerator

        return cls(Accelerator(cpu=device == "cpu"))

    @property
    def main(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def device(self, device: str) -> str:
        """The device of this process."""
        return str(self._accelerator.device) if self._accelerator and device.startswith("cuda") else device

    def share(self, rows: Sequence[int]) -> list[int]:
        """This process's part of a batch; a batch smaller than the number of processes goes to all of them."""
        return list(rows) if len(rows) < self.count else list(rows[self.rank :: self.count])

    def average_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replaces every gradient by its mean over the processes."""
        if self._accelerator is None:
            return
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad = self._accelerator.reduce(parameter.grad, reduction="mean")

    def average(self, tensors: Sequence[Tensor]) -> None:
        """Overwrites tensors by their mean over the processes."""
        if self._accelerator is not None:
            for tensor in tensors:
                tensor.copy_(self._accelerator.reduce(tensor, reduction="mean"))

    def wait(self) -> None:
        """Until all processes are here."""
        if self._accelerator is not None:
            self._accelerator.wait_for_everyone()
