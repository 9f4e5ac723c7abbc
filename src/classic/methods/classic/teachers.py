"""What earlier models say about the examples of a new task."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone
from classic.batching import sorted_batches
from classic.methods.base import Method
from classic.types import Example, Task

_BATCH = 64


class Teachers(nn.Module):
    """Earlier models, asked once about every training example of a new task, before training.

    What they say is shared by CED and CKS: a step costs the same at the nineteenth task as at the second.

    Args:
        most: How many are consulted at most: those whose tasks' texts are most like the new one's. None means all.
        backbone: Tells how wide the surface of a text is.

    Attributes:
        places: (T, d) the mean surface of every task's texts; only where not all are consulted.
        consulted: The tasks whose models are asked.
        features: (n, T, D) what they make of the training examples.
        logits: (n, T, C) what they answer.
    """

    places: Tensor

    def __init__(self, most: int | None, backbone: Backbone) -> None:
        super().__init__()
        self.most = most
        self.forget()
        if most is not None:
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

    def keep_place(self, method: Method, task: Task) -> None:
        """The task just learned can be found by later ones."""
        if self.most is not None:
            self.places = torch.cat([self.places, _place(method, task).unsqueeze(0)])

    def _nearest(self, method: Method, task: Task) -> list[int]:
        if self.most is None:
            return list(range(method.learned))
        distance = (self.places - _place(method, task)).norm(dim=1)
        return sorted(distance.argsort()[: self.most].tolist())

    def say(self, method: Method, examples: tuple[Example, ...], asked: list[int]) -> tuple[Tensor, Tensor]:
        """Features (n, T, D) and logits (n, T, C) of the asked tasks' models for the given examples."""
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
                        output = method.model(batch, task, as_trained=True)
                        features[batch.rows, place] = output.features
                        logits[batch.rows, place] = output.logits
        method.train(training)
        return features, logits


def _place(method: Method, task: Task) -> Tensor:
    backbone, device = method.model.backbone, method.present.device
    with torch.no_grad():
        batches = sorted_batches(backbone, task.train, _BATCH)
        return torch.cat([backbone.surface(batch.to(device)) for batch in batches]).mean(dim=0)
