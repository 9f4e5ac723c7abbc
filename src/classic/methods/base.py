"""What a method is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone, Need
from classic.losses import cross_entropy
from classic.model import Model
from classic.seeding import Seeds
from classic.types import POLARITIES, Batch, Example, Output, Step, Task


@dataclass(frozen=True)
class Group:
    """Parameters that share a learning rate; None is the rate of the training configuration."""

    parameters: tuple[nn.Parameter, ...]
    learning_rate: float | None = None


@dataclass(frozen=True)
class Phase:
    """One stretch of training: what is trained, on what; its epochs are compared on ``valid``, else on the task's."""

    name: str
    groups: tuple[Group, ...]
    examples: tuple[Example, ...]
    valid: tuple[Example, ...] = ()


class Method(nn.Module):
    """A continual-learning idea around a model.

    The training loop calls, for every task: `start_task`; for every phase of `plan`: `loss`, backward,
    `edit_gradients`, the optimiser's step, `after_update`; at the end `finish_task`. All state that must survive is in
    parameters, persistent buffers or `facts`, so that saving a method is saving its tensors.

    Attributes:
        version: Of its behaviour; raised when the same task comes to other tensors or answers.
        model: Backbone and head.
        learned: How many tasks have been learned.
        present: (C,) bool; the classes of the task in training.
        needs: What the backbone must provide.
        needs_task_id: Whether an answer depends on which task is asked for, in DIL, too.
        keeps_data: Whether texts of learned tasks are kept.
        source: The publication the method follows.
        equation: What it adds to learning the current task, in one line.
        grows: Whether what it keeps besides the network grows with every task.
    """

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset()
    needs_task_id: ClassVar[bool] = False
    keeps_data: ClassVar[bool] = False
    source: ClassVar[str] = ""
    equation: ClassVar[str] = ""
    grows: ClassVar[bool] = False

    present: Tensor

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.learned = 0
        self.in_task = False
        self.register_buffer("present", torch.ones(len(POLARITIES), dtype=torch.bool), persistent=False)

    @classmethod
    def feature_width(cls, backbone: Backbone) -> int:
        """Width of the features the head reads: the backbone's, unless a method makes features of its own."""
        return backbone.features

    # --- the life of a task -----------------------------------------------------------------------------------------

    def start_task(self, task: Task, seeds: Seeds) -> None:
        """Makes ready for a task; must do the same again when a killed run is taken up."""
        self.in_task = True
        self.model.head.start_task(task.classes, seeds.generator("head", self.learned))
        known = set(task.classes)
        self.present = torch.tensor([polarity in known for polarity in POLARITIES], device=self.present.device)

    def plan(self, task: Task) -> list[Phase]:
        """The phases of a task; usually one that trains everything trainable on the training examples."""
        return [Phase("train", (Group(self.weights()),), task.train)]

    def start_phase(self, phase: Phase) -> None:
        """A phase of the plan begins, or is taken up again; before any of its tensors are read back."""

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        """Named terms of the loss, weights included; the loop adds and logs them."""
        output = self.model(batch)
        return {"ce": cross_entropy(output.logits, batch.labels, self.present)}

    def edit_gradients(self, step: Step) -> None:
        """After backward, before clipping and the optimiser's step."""

    def after_update(self, step: Step) -> None:
        """After the optimiser's step."""

    def finish_task(self, task: Task) -> None:
        """Keeps what later tasks need; afterwards the task's data may be thrown away."""
        self.learned += 1
        self.in_task = False

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        """Logits (B, C) of the model in training or, between tasks, of the newest; of ``task`` if one is given."""
        output: Output = self.model(batch, task)
        return output.logits

    def report(self) -> dict[str, Any]:
        """What is worth telling about the task just learned, besides its scores; plain JSON values."""
        return {}

    # --- what is trained and what is kept ---------------------------------------------------------------------------

    def weights(self) -> tuple[nn.Parameter, ...]:
        """Every trainable weight of the backbone, and the head in training."""
        backbone = tuple(p for p in self.model.backbone.parameters() if p.requires_grad)
        return backbone + tuple(self.model.head.current.parameters())

    def tensors(self) -> dict[str, Tensor]:
        """Everything that is not frozen, by name."""
        kept = {name: p.detach() for name, p in self.named_parameters() if p.requires_grad}
        persistent = self.state_dict(keep_vars=True).keys()
        kept |= {name: buffer for name, buffer in self.named_buffers() if name in persistent}
        return kept

    def published_parameters(self, tasks: int) -> int:
        """Parameters the published method has after so many tasks besides those that exist here (masks kept as bits)."""
        return 0

    def bytes_kept(self) -> int:
        """Bytes the method keeps between tasks besides the network and its heads."""
        persistent = self.state_dict(keep_vars=True).keys()
        own = [b for name, b in self.named_buffers() if name in persistent and not name.startswith("model.")]
        return sum(buffer.numel() * buffer.element_size() for buffer in own)

    def facts(self) -> dict[str, Any]:
        """What is needed, besides the tensors, to build the same method again; plain JSON values."""
        return {"learned": self.learned, "heads": [list(columns) for columns in self.model.head.columns]}

    def restore(self, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Takes on saved facts and tensors. A buffer takes the saved shape: some grow with every task."""
        self.learned = int(facts["learned"])
        self.model.head.restore_heads([tuple(columns) for columns in facts["heads"]])
        self.load_tensors(tensors)

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Overwrites every kept tensor; missing or unknown names are a fault, never passed over."""
        expected = self.tensors().keys()
        if expected != tensors.keys():
            raise KeyError(f"saved tensors do not fit: {sorted(expected ^ tensors.keys())[:5]}")
        parameters = dict(self.named_parameters())
        with torch.no_grad():
            for name, value in tensors.items():
                if name in parameters:
                    if parameters[name].shape != value.shape:  # copy_ would stretch what merely broadcasts
                        raise ValueError(f"saved tensor {name} has shape {tuple(value.shape)}")
                    parameters[name].copy_(value)
                else:
                    path, _, leaf = name.rpartition(".")
                    owner = self.get_submodule(path)
                    setattr(owner, leaf, value.clone().to(getattr(owner, leaf).device))
