"""CLASSIC's choices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from classic.errors import InputError
from classic.losses.classification import MissingClasses
from classic.losses.contrastive import Reading
from classic.modules.gates import GateConfig


@dataclass(frozen=True)
class ClassicConfig:
    """The paper's fields; zero weights are its ablations.

    Attributes:
        csc, ced, cks: lambda_1 to lambda_3 of Eq. (14); 1 in the paper.
        temperature: tau of all three; 1 in the paper.
        teachers: Over which earlier models CED goes: their ``sum`` (Eq. 7), their ``mean``, or only the ``last`` one,
            as the released code does.
        teacher_head: Whose head turns a teacher's features into logits: the ``current`` one (the paper) or the
            teacher's ``own``, as it was when that task ended.
        most_teachers: How many earlier models are consulted at most, by CED and CKS alike: those whose domains' texts lie
            nearest to the new one's. None given means all (the paper), which costs a pass over the new data for each.
        reading: How CSC and CKS are read where paper and released code differ.
        normalised: Whether CSC and CKS contrast l2-normalised vectors; the paper tried both and kept it so.
        contrast: Whether CSC and CKS contrast ``features`` or ``logits``; the paper tried both and kept the features.
        attention: Projections over the ``features`` (Eq. 8-11) or along the ``tasks`` (the released code).
        view_ce: Weight of a cross-entropy, and of the sparsity once more, on the shared view; 1 in the released code, not
            in the paper.
        missing: See `classic.losses.cross_entropy`; without effect where label shares are set aside.
        gates: Task masks.
    """

    csc: float = 0.2
    ced: float = 0.02
    cks: float = 0.2
    temperature: float = 1.0
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

    def __post_init__(self) -> None:
        if self.most_teachers is not None and self.most_teachers < 1:
            raise InputError(f"method.most_teachers is {self.most_teachers}", fix="give at least 1, or none at all")
