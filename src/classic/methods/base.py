"""What a method is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from classic.backbones.base import Backbone, Need
from classic.losses.classification import MissingClasses
from classic.methods.additions import Additions, Answers
from classic.model import Model
from classic.modules.averaging import RunningAverage
from classic.modules.domain_map import DomainMap
from classic.modules.keeping import Keeping
from classic.modules.private import PrivateCopies
from classic.seeding import Seeds
from classic.types import POLARITIES, Batch, Example, Output, Step, Task


@dataclass(frozen=True)
class Group:
    """Parameters that share a learning rate and are clipped together.

    Attributes:
        learning_rate: None is the rate of the training configuration.
        travel: In place of a rate: the sum of the rates of all steps of a phase, however many there are.
    """

    parameters: tuple[nn.Parameter, ...]
    learning_rate: float | None = None
    travel: float | None = None


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
    parameters, persistent buffers or `facts`, so that saving a method is saving its tensors. Whoever wants an answer
    calls `answer`, which reads the method's `logits` as the system's additions say.

    Attributes:
        version: Of its behaviour; raised when the same task comes to other tensors or answers.
        model: Backbone and head.
        learned: How many tasks have been learned.
        present: (C,) bool; the classes of the task in training.
        needs: What the backbone must provide.
        answers: How labels are learned and logits become answers.
        keeping: What is done about what earlier tasks have learned.
        adopts: Which additions make sense for it: ``reader`` (label shares, inferred domains), ``average``.
        needs_task_id: Whether in DIL an answer must be told which task is asked for, or guess it.
        keeps_data: Whether texts of learned tasks are kept.
        source: The publication the method follows.
        equation: What it adds to learning the current task, in one line.
        grows: Whether what it keeps besides the network grows with every task.
    """

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset()
    adopts: ClassVar[frozenset[str]] = frozenset({"reader", "average"})
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
        self.answers = Answers(Additions())
        self.keeping: Keeping = Keeping()
        self.register_buffer("present", torch.ones(len(POLARITIES), dtype=torch.bool), persistent=False)

    def adopt(self, additions: Additions) -> None:
        """Takes on what the system adds to the method; before anything is learned."""
        self.answers = Answers(additions)
        if additions.average:
            self.keeping = RunningAverage(self.averaged())

    @classmethod
    def needs_with(cls, additions: Additions) -> frozenset[Need]:  # noqa: ARG003 - for those that average
        """What the backbone must provide, given what the system adds."""
        return cls.needs

    @classmethod
    def feature_width(cls, backbone: Backbone) -> int:
        """Width of the features the head reads: the backbone's, unless a method makes features of its own."""
        return backbone.features

    # --- the life of a task -----------------------------------------------------------------------------------------

    def start_task(self, task: Task, seeds: Seeds) -> None:
        """Makes ready for a task; must do the same again when a killed run is taken up."""
        self.in_task = True
        self.model.head.start_task(task.classes, seeds.generator("head", self.learned))
        self.answers.start_task(task, self.present.device)
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
        return {"ce": self.classify(output.logits, batch.labels)}

    def classify(self, logits: Tensor, labels: Tensor, missing: MissingClasses = "plain") -> Tensor:
        """The classification loss of the task in training: cross-entropy, its label shares set aside if so wished."""
        return self.answers.cross_entropy(logits, labels, self.present, missing)

    def edit_gradients(self, step: Step) -> None:
        """After backward, before clipping and the optimiser's step."""

    def after_update(self, step: Step) -> None:
        """After the optimiser's step."""

    def finish_task(self, task: Task) -> None:
        """Keeps what later tasks need; afterwards the task's data may be thrown away."""
        self.answers.finish_task()
        self.learned += 1
        self.in_task = False

    # --- answers ----------------------------------------------------------------------------------------------------

    @contextmanager
    def acting_as(self, task: int | None) -> Iterator[None]:
        """The network as a learned task left it, where that is kept; None is the newest or the one in training."""
        yield

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        """Logits (B, C) of the model in training or, between tasks, of the newest; of ``task`` if one is given."""
        with self.acting_as(task):
            output: Output = self.model(batch, task)
            return output.logits

    def answer(self, batch: Batch, task: int | None = None) -> Tensor:
        """The logits as they are to be answered (B, C): read in the light of the domain, if the system does so."""
        said, reader = self.logits(batch, task), self.reader(task)
        if reader is None:
            return said
        read: Tensor = reader(said, self.model.backbone.surface(batch))
        return read

    def reader(self, task: int | None = None) -> nn.Module | None:
        """What turns logits and surfaces into answers; None where the logits are the answer."""
        return self.answers.reader(task, in_task=self.in_task)

    def show_map(self, domains: DomainMap) -> None:
        """Whoever keeps a map of the learned domains shows it here; it goes on growing with every task."""
        self.answers.show_map(domains)

    # --- what others ask --------------------------------------------------------------------------------------------

    def foldable(self) -> bool:
        """Whether `logits` are those of one plain network, which may be put together without the method."""
        return type(self).logits is Method.logits

    def usage(self) -> float | None:
        """Share of the units that can run out that the task in training would use if it ended now; None if none can."""
        return None

    def shares(self) -> dict[str, float]:
        """How hard further terms of the last loss pulled, as shares of the cross-entropy's pull; empty if not measured."""
        return {}

    def agreed(self) -> tuple[Tensor, ...]:
        """Tensors besides gradients that processes which learn together must agree on in every step."""
        return ()

    def report(self) -> dict[str, Any]:
        """What is worth telling about the task just learned, besides its scores; plain JSON values."""
        return {}

    # --- what is trained and what is kept ---------------------------------------------------------------------------

    def weights(self) -> tuple[nn.Parameter, ...]:
        """Every trainable weight of the backbone, and the head in training."""
        backbone = tuple(p for p in self.model.backbone.parameters() if p.requires_grad)
        return backbone + tuple(self.model.head.current.parameters())

    def averaged(self) -> tuple[nn.Parameter, ...]:
        """What is averaged along the sequence, where the system does so."""
        return self.weights()

    def tensors(self) -> dict[str, Tensor]:
        """Everything that is not frozen, by name."""
        kept = {name: p.detach() for name, p in self.named_parameters() if p.requires_grad}
        persistent = self.state_dict(keep_vars=True).keys()
        kept |= {name: buffer for name, buffer in self.named_buffers() if name in persistent}
        return kept

    def settled(self) -> set[str]:
        """Names of kept tensors that no step of a task changes: copies of earlier tasks' weights, often the most of all."""
        return {f"{name}.copies" for name, part in self.named_modules() if isinstance(part, PrivateCopies)}

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
                    if getattr(owner, leaf) is value:  # a settled one, handed back as it is
                        continue
                    setattr(owner, leaf, value.clone().to(getattr(owner, leaf).device))
