"""CLASSIC's choices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from classic.errors import InputError
from classic.losses.classification import MissingClasses
from classic.losses.contrastive import Reading
from classic.modules.gates import GateConfig


@dataclass(frozen=True)
class PullConfig:
    """What makes the three losses pull; none of it is in the paper.

    Attributes:
        weighing: Whether csc, ced and cks are weights (``fixed``, the paper), or the ``share`` of the cross-entropy's pull
            that each loss is to have: see `classic.modules.balance`.
        ced_temperature: tau of CED, whose logits are not normalised; None takes that of the others (the paper).
        ced_reading: Whether CED pushes all other examples away (``paper``), or only those of other ``classes`` and leaves
            out classes that a teacher never saw.
        projection: Width of a projection head between the features and CSC and CKS; 0 is none.
        helper_rate: Learning rate of what lives for one task only, the attention of CKS and the projection head; None
            takes that of the weights, under which the attention hardly learns.
    """

    weighing: Literal["fixed", "share"] = "share"
    ced_temperature: float | None = 1.0
    ced_reading: Literal["paper", "classes"] = "classes"
    projection: int = 0
    helper_rate: float | None = 0.01

    def __post_init__(self) -> None:
        if self.projection < 0:
            raise InputError(f"method.pull.projection is {self.projection}", fix="give a width, or 0 for none")


@dataclass(frozen=True)
class ClassicConfig:
    """The paper's fields; zero weights are its ablations.

    Attributes:
        csc, ced, cks: lambda_1 to lambda_3 of Eq. (14), 1 in the paper; or shares of the pull, see ``pull.weighing``.
        absent: Likewise of what keeps classes that a new domain lacks (`classic.losses.absent`); not in the paper. Unless
            it is 0, their odds are also set right at the end, by questions about other words of the sentences.
        temperature: tau of all three; 1 in the paper.
        teachers: Over which earlier models CED goes: their ``sum`` (Eq. 7), their ``mean``, or only the ``last`` one,
            as the released code does.
        teacher_head: Whose head turns a teacher's features into logits: the ``current`` one (the paper) or the
            teacher's ``own``, as it was when that task ended.
        most_teachers: How many earlier models are consulted at most, by CED and CKS alike: those whose domains' texts lie
            nearest to the new one's. None given means all (the paper), which costs a pass over the new data for each.
            Where weights are averaged there is one teacher, the model as it answered before the task.
        reading: How CSC and CKS are read where paper and released code differ.
        normalised: Whether CSC and CKS contrast l2-normalised vectors; the paper tried both and kept it so.
        contrast: Whether CSC and CKS contrast ``features`` or ``logits``; the paper tried both and kept the features.
        attention: Projections over the ``features`` (Eq. 8-11) or along the ``tasks`` (the released code).
        view_ce: Weight of a cross-entropy, and of the sparsity once more, on the shared view; 1 in the released code, not
            in the paper.
        missing: See `classic.losses.cross_entropy`; without effect where label shares are set aside.
        gates: Task masks.
        pull: What makes the losses pull.
    """

    csc: float = 0.1
    ced: float = 0.1
    cks: float = 0.1
    absent: float = 0.25
    temperature: float = 0.1
    teachers: Literal["sum", "mean", "last"] = "mean"
    teacher_head: Literal["current", "own"] = "own"
    most_teachers: int | None = None
    reading: Reading = "paper"
    normalised: bool = True
    contrast: Literal["features", "logits"] = "features"
    attention: Literal["features", "tasks"] = "features"
    view_ce: float = 0.0
    missing: MissingClasses = "shield"
    gates: GateConfig = field(default_factory=GateConfig)
    pull: PullConfig = field(default_factory=PullConfig)

    def __post_init__(self) -> None:
        if self.most_teachers is not None and self.most_teachers < 1:
            raise InputError(f"method.most_teachers is {self.most_teachers}", fix="give at least 1, or none at all")
