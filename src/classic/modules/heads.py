"""Classification heads: one for all tasks (DIL) or one per task (TIL)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from classic.types import POLARITIES, Polarity, Scenario


@dataclass(frozen=True)
class HeadConfig:
    """The head.

    Attributes:
        dropout: Between the features and the linear layer.
    """

    dropout: float = 0.1


class Head(nn.Module):
    """Dropout and a linear layer per head.

    In DIL every task shares head 0 with three logits. In TIL a task has a head of its own; its logits are always given
    as three columns, those of polarities the task does not have being minus infinity, so that everything downstream
    speaks of one label set.

    Args:
        features: Width of the features, D.
        scenario: DIL or TIL.
        dropout: Between the features and the linear layer.
        generator: Source of the shared head's initial weights.
    """

    def __init__(self, features: int, scenario: Scenario, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.features = features
        self.scenario = scenario
        self.dropout = nn.Dropout(dropout)
        self.linears = nn.ModuleList()
        self.columns: list[tuple[int, ...]] = []
        if scenario is Scenario.DIL:
            self._add(tuple(polarity.column for polarity in POLARITIES), generator)

    @property
    def current(self) -> nn.Linear:
        """The head in training."""
        linear = self.linears[-1]
        assert isinstance(linear, nn.Linear)
        return linear

    def start_task(self, classes: tuple[Polarity, ...], generator: torch.Generator) -> None:
        """Adds the task's head in TIL; in DIL the shared one is there already."""
        if self.scenario is Scenario.TIL:
            self._add(tuple(polarity.column for polarity in classes), generator)

    def _add(self, columns: tuple[int, ...], generator: torch.Generator | None = None) -> None:
        linear = nn.Linear(self.features, len(columns))
        with torch.no_grad():
            linear.weight.normal_(0.0, 0.02, generator=generator)
            linear.bias.zero_()
        if len(self.linears):
            linear.to(self.current.weight.device)
        self.linears.append(linear)
        self.columns.append(columns)

    def restore_heads(self, columns: list[tuple[int, ...]]) -> None:
        """Makes room for the heads of a saved model; their weights are loaded afterwards."""
        for entry in columns[len(self.linears) :]:
            self._add(tuple(entry))

    def forward(self, features: Tensor, task: int | None = None) -> Tensor:
        """Logits (B, C); ``task`` selects the head in TIL; in DIL it changes nothing."""
        index = 0 if self.scenario is Scenario.DIL else (len(self.linears) - 1 if task is None else task)
        logits: Tensor = self.linears[index](self.dropout(features))
        columns = self.columns[index]
        if len(columns) == len(POLARITIES):
            return logits
        full = logits.new_full((len(logits), len(POLARITIES)), torch.finfo(logits.dtype).min / 4)
        return full.index_copy(1, torch.tensor(columns, device=logits.device), logits)
