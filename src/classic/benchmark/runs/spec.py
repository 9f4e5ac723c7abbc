"""What a run is: a system, an order of tasks, a seed and a budget; and the hash of everything that determines it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from classic.benchmark.runs.encoder_files import hashes_of, name_of
from classic.errors import IncompatibleError, unknown_name
from classic.files import json_bytes
from classic.types import Example, Task, TaskId

if TYPE_CHECKING:
    from classic.systems.system import SystemConfig

Budget = Literal["quick", "full", "paper"]
BUDGETS: tuple[Budget, ...] = ("quick", "full", "paper")
QUICK_EXAMPLES = 1500  # most training examples of a domain in the budget quick; only the two of SemEval have more


@dataclass(frozen=True)
class Spec:
    """One run, by name; plain values only, so that it can travel.

    Attributes:
        system: Name of the system, with its scenario.
        order: Which of the paper's task orders.
        seed: Root of all randomness.
        budget: ``quick`` (minutes), ``full`` (our preset), or ``paper`` (the paper's preset, days on a CPU).
        first: Only so many tasks of the order; None is all.
        valid: Whether validation sets are scored instead of test sets: for choosing, never for reporting.
        encoder: Another encoder than the embedded one.
        changes: Settings by dotted key, on top of the budget's.
        outside: The file and class of a method that is not in this package, ``my_method.py:MyMethod``.
    """

    system: str
    order: int = 0
    seed: int = 0
    budget: Budget = "quick"
    first: int | None = None
    valid: bool = False
    encoder: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    outside: str | None = None

    def __post_init__(self) -> None:
        if self.budget not in BUDGETS:
            raise unknown_name("budget", self.budget, list(BUDGETS))

    @property
    def name(self) -> str:
        """For people and file names; not everything that determines the run is in it."""
        parts = [self.system.replace("/", "-"), f"order{self.order}", f"seed{self.seed}", self.budget]
        parts += [f"first{self.first}"] if self.first is not None else []
        parts += ["valid"] if self.valid else []
        parts += [name_of(self.encoder).replace("/", "-")] if self.encoder is not None else []
        return "-".join(parts)

    def anywhere(self) -> Spec:
        """The same run as any machine would tell of it: an encoder's folder and a method's file by their names alone."""
        return dataclasses.replace(
            self,
            encoder=None if self.encoder is None else name_of(self.encoder),
            outside=None if self.outside is None else self.outside.replace("\\", "/").rpartition("/")[2],
        )

    def config(self) -> SystemConfig:
        """The system, every setting written out."""
        from classic.systems.names import parse

        changes = dict(self.changes)
        if self.encoder is not None:
            changes["backbone.encoder"] = self.encoder
        preset: Literal["paper", "default"] = "paper" if self.budget == "paper" else "default"
        return parse(self.system, preset, changes, quick=self.budget == "quick").complete()

    @property
    def starter(self) -> bool:
        """Whether the run begins with the starter, and so with knowledge from other data."""
        from classic.systems.names import read_name

        return "starter" in read_name(self.system).plus

    def tasks(self, load: Callable[[str], Task] | None = None) -> list[Task]:
        """The tasks in their order, with what is to be scored as their test sets.

        Args:
            load: Reads a domain by its name; for who asks about many runs and wants each domain read once.
        """
        from classic.data.sequences import order
        from classic.data.tasks import load_domain

        tasks = [(load or load_domain)(name) for name in order(self.order)[: self.first]]
        if self.budget == "quick":
            tasks = [dataclasses.replace(task, train=_thinned(task.train)) for task in tasks]
        return [dataclasses.replace(task, test=task.valid) for task in tasks] if self.valid else tasks

    def determined_by(self, tasks: Sequence[Task], threads: int, device: str = "cpu") -> dict[str, Any]:
        """Everything that can change the result: settings, data, behaviour, libraries and kind of machine."""
        from classic.benchmark.runs.identity import versions_of
        from classic.data.tasks import task_hash
        from classic.learning.environment import surroundings
        from classic.systems.system import classes_of

        config = self.config()
        system = _without_places(config.to_dict())
        encoder = hashes_of(config.backbone_config["encoder"]) if "encoder" in config.backbone_config else {}
        around = surroundings() | {"threads": threads} | ({} if device == "cpu" else {"device": device})
        del around["classic"]
        return (
            {
                "system": system,
                "seed": self.seed,
                "tasks": [task.name for task in tasks],
                "data": [task_hash(task) for task in tasks],
                "versions": versions_of(classes_of(config)),
                "surroundings": around,
            }
            | ({"encoder": encoder} if encoder else {})
            | (_starter_of(config) if self.starter else {})
        )


def _starter_of(config: SystemConfig) -> dict[str, str]:
    from classic.learning.starter import SHIPPED, fits

    if not fits(config):
        raise IncompatibleError(
            "there is no starter for this system", fix="leave +starter out, or ask for classic+starter@bert_adapter"
        )
    return {"starter": SHIPPED[config.backbone_config["encoder"]].sha256}


def _thinned(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """At most QUICK_EXAMPLES, spread evenly over the data set."""
    count = len(examples)
    return (
        tuple(examples[i * count // QUICK_EXAMPLES] for i in range(QUICK_EXAMPLES))
        if count > QUICK_EXAMPLES
        else examples
    )


def key_of(determined_by: dict[str, Any]) -> str:
    """The address of a run: the hash of all that determines it."""
    return hashlib.sha256(json_bytes(determined_by)).hexdigest()


def training_key(determined_by: dict[str, Any]) -> str:
    """The address of what a run trains: systems that differ only in their task-id rule train the same."""
    system = determined_by["system"] | {"task_id": str(TaskId.LAST)}
    return key_of(determined_by | {"system": system})


def _without_places(system: dict[str, Any]) -> dict[str, Any]:
    """Where caches and encoders lie on this machine changes no result."""
    from classic.systems.system import without_caches

    found = without_caches(system)
    if "encoder" in found["backbone_config"]:
        found["backbone_config"]["encoder"] = name_of(found["backbone_config"]["encoder"])
    return found
