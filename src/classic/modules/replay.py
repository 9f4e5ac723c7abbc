"""A small memory of examples, and heads for examples of several tasks at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from classic.modules.heads import Head
from classic.types import POLARITIES, Example, Polarity


class Reservoir(nn.Module):
    """A uniform sample of everything that was ever put in, with the logits of that moment.

    Vitter (1985), algorithm R: the n-th item takes a free place or, when there is none, a place drawn from 1..n, if the
    memory has that place. Every item so far is then in the memory with the same probability, capacity / n.

    Keeps text: the examples themselves are in `facts`, their logits are a buffer.

    Args:
        capacity: Number of places.

    Attributes:
        logits: (n, C) as they were when the example was put in.
        examples, tasks: The example in each place and its task.
        seen: How many items were ever put in.
    """

    logits: Tensor

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.examples: list[Example] = []
        self.tasks: list[int] = []
        self.seen = 0
        self.register_buffer("logits", torch.zeros((0, len(POLARITIES))))

    def __len__(self) -> int:
        return len(self.examples)

    def add(self, examples: Sequence[Example], task: int, logits: Tensor, generator: torch.Generator) -> None:
        """Puts in examples of a task with their logits (n, C)."""
        rows = list(self.logits)
        for example, row in zip(examples, logits.detach(), strict=True):
            place = self.seen
            self.seen += 1
            if place < self.capacity:
                self.examples.append(example)
                self.tasks.append(task)
                rows.append(row)
                continue
            place = int(torch.randint(self.seen, (), generator=generator))
            if place < self.capacity:
                self.examples[place], self.tasks[place], rows[place] = example, task, row
        self.logits = torch.stack(rows) if rows else self.logits

    def draw(self, count: int, generator: torch.Generator) -> list[int]:
        """Distinct places, all of them if there are not more than wanted."""
        places: list[int] = torch.randperm(len(self), generator=generator)[:count].tolist()
        return places

    def facts(self) -> dict[str, Any]:
        """Everything but the logits, as plain JSON values."""
        return {"examples": [example_facts(e) for e in self.examples], "tasks": list(self.tasks), "seen": self.seen}

    def restore(self, facts: dict[str, Any]) -> None:
        """Takes on saved facts; the logits are loaded with the other tensors."""
        self.examples = [read_example(values) for values in facts["examples"]]
        self.tasks, self.seen = [int(task) for task in facts["tasks"]], int(facts["seen"])


def example_facts(example: Example) -> list[Any]:
    """An example as plain JSON values."""
    polarity = None if example.polarity is None else str(example.polarity)
    return [example.sentence, example.aspect, polarity, None if example.span is None else list(example.span)]


def read_example(values: Sequence[Any]) -> Example:
    """The inverse of `example_facts`."""
    sentence, aspect, polarity, span = values
    return Example(
        str(sentence),
        str(aspect),
        None if polarity is None else Polarity(polarity),
        None if span is None else (int(span[0]), int(span[1])),
    )


def routed_logits(head: Head, features: Tensor, tasks: Sequence[int]) -> Tensor:
    """Logits (B, C), each example's features (B, D) through the head of its own task."""
    if len(set(tasks)) == 1:
        logits: Tensor = head(features, tasks[0])
        return logits
    at = torch.tensor(list(tasks), device=features.device)
    places = [(at == task).nonzero().squeeze(1) for task in sorted(set(tasks))]
    parts = [head(features[place], task) for place, task in zip(places, sorted(set(tasks)), strict=True)]
    return torch.cat(parts)[torch.cat(places).argsort()]
