"""What is done about what earlier tasks have learned: nothing, units are protected, or weights are averaged.

The training loop calls these beside the method's own steps, so a method need not know which of them it has.
"""

from __future__ import annotations

from classic.modules.gates import TaskGates


class Keeping:
    """Does nothing; what the others have in common."""

    def start_task(self) -> None:
        """A task begins; the last thing before training."""

    def edit_gradients(self) -> None:
        """After backward, before clipping."""

    def step(self) -> None:
        """After every update of the weights."""

    def finish_task(self) -> None:
        """Training is over; the first thing before the method keeps what it keeps."""


class Protection(Keeping):
    """No weight that an earlier task's mask uses is changed, so every earlier model stays to the last bit.

    Paper: Eq. (4), Sec. 3.2.2; see `TaskGates.protect`.
    """

    def __init__(self, gates: TaskGates) -> None:
        self._gates = gates

    def edit_gradients(self) -> None:
        self._gates.protect()
