"""What earlier models say about the examples of a new task."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone
from classic.batching import sorted_batches
from classic.methods.base import Method
from classic.types import POLARITIES, Example, Task

_BATCH = 64


class Teachers(nn.Module):
    """Earlier models, asked once about every training example of a new task, before training.

    What they say is shared by CED and CKS: a step costs the same at the nineteenth task as at the second. They are the old
    models themselves: where units are protected, every earlier task's model is there to the last bit; where weights are
    averaged only the newest version is, and it is the one teacher.

    Args:
        most: How many are consulted at most: those whose tasks' texts are most like the new one's. None means all.
        backbone: Tells how wide the surface of a text is.
        newest_only: Whether only the newest model is kept as it was.
        by_class: Whether `seen` will be asked.

    Attributes:
        places: (T, d) the mean surface of every task's texts; only where not all are consulted.
        classes: (T, C) the classes every task has; only ``by_class``.
        consulted: The tasks whose models are asked.
        features: (n, T, D) what they make of the training examples.
        logits: (n, T, C) what they answer.
    """

    places: Tensor
    classes: Tensor

    def __init__(self, most: int | None, backbone: Backbone, *, newest_only: bool, by_class: bool) -> None:
        super().__init__()
        self.most = None if newest_only else most
        self.newest_only = newest_only
        self.forget()
        self.by_class = by_class
        if by_class:
            self.register_buffer("classes", torch.zeros((0, len(POLARITIES)), dtype=torch.uint8))
        if self.most is not None:
            width = backbone.surface(backbone.collate([Example("a", "a")])).shape[1]
            self.register_buffer("places", torch.zeros(0, width))

    def forget(self) -> None:
        """The task is over."""
        self.consulted: list[int] = []
        self.features, self.logits = torch.zeros(0), torch.zeros(0)

    def ask(self, method: Method, task: Task) -> None:
        """Chooses the teachers of a task and asks them."""
        self.consulted = self._nearest(method, task)
        self.features, self.logits = self.say(method, task.train, self.consulted)

    def seen(self) -> Tensor:
        """(T, C) bool; the classes each consulted model was taught by the tasks up to its own."""
        so_far = self.classes.cummax(dim=0).values.bool()
        return so_far[self.consulted]

    def keep(self, method: Method, task: Task) -> None:
        """The task just learned can be found by later ones."""
        if self.by_class:
            self.classes = torch.cat([self.classes, method.present.to(torch.uint8).unsqueeze(0)])
        if self.most is not None:
            self.places = torch.cat([self.places, _place(method, task).unsqueeze(0)])

    def _nearest(self, method: Method, task: Task) -> list[int]:
        if self.newest_only:
            return [method.learned - 1]
        if self.most is None:
            return list(range(method.learned))
        distance = (self.places - _place(method, task)).norm(dim=1)
        return sorted(distance.argsort()[: self.most].tolist())

    def say(self, method: Method, examples: tuple[Example, ...], asked: Sequence[int | None]) -> tuple[Tensor, Tensor]:
        """Features (n, T, D) and logits (n, T, C) of the asked tasks' models; None is the model in training."""
        device, backbone = method.present.device, method.model.backbone
        features = torch.zeros(len(examples), len(asked), backbone.features, device=device)
        logits = torch.zeros(len(examples), len(asked), len(method.present), device=device)
        batches = [batch.to(device) for batch in sorted_batches(backbone, examples, _BATCH)]
        training = method.training
        method.eval()
        with torch.no_grad():
            for place, task in enumerate(asked):
                with method.acting_as(task):
                    for batch in batches:
                        output = method.model(batch, task)
                        features[batch.rows, place] = output.features
                        logits[batch.rows, place] = output.logits
        method.train(training)
        return features, logits


def _place(method: Method, task: Task) -> Tensor:
    backbone, device = method.model.backbone, method.present.device
    with torch.no_grad():
        batches = sorted_batches(backbone, task.train, _BATCH)
        return torch.cat([backbone.surface(batch.to(device)) for batch in batches]).mean(dim=0)
