"""CLASSIC: task masks, and three contrastive losses that distil, share and sharpen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from classic.batching import sorted_batches
from classic.config import PresetName
from classic.errors import InputError
from classic.losses import ced, cks, csc
from classic.losses.adjusted import adjusted_cross_entropy
from classic.losses.classification import MissingClasses
from classic.losses.contrastive import Reading
from classic.methods.base import Group, Phase
from classic.methods.hat import Hat, HatConfig
from classic.model import Model
from classic.modules.averaging import RunningAverage
from classic.modules.domain_map import DomainMap
from classic.modules.domain_reader import DomainReader, KnownDomain, ReadsDomains
from classic.modules.gates import GateConfig
from classic.modules.task_attention import TaskAttention, TaskAxisAttention
from classic.seeding import Seeds
from classic.types import POLARITIES, Batch, Example, Output, Scenario, Step, Task

_TEACHER_BATCH = 64


@dataclass(frozen=True)
class ClassicConfig:
    """CLASSIC's choices; zero weights are the paper's ablations.

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
        missing: See `classic.losses.cross_entropy`; of no account where label shares are set aside.
        shares: Whether a domain's label shares are ``learned`` with everything else (the paper), or ``set_aside``: see
            `classic.losses.adjusted`.
        domains: Whether an answer is ``blind`` to the domain (the paper), or the domain is ``inferred`` from the text
            where it is not told: see `classic.modules.domain_reader`.
        belief: How far such an answer believes the label shares of the likely domains, where they were set aside: 0 asks
            only which classes they have, which is fair to rare ones, 1 takes the shares as they are, which errs least often.
        faded: How far such an answer raises classes that the last domains lacked; 0 leaves them as they are.
        units: Whether units that earlier tasks use are ``protected`` (Eq. 4), so that every earlier model stays to the last
            bit, or go on learning and answers come from weights that are ``averaged`` along the sequence: see
            `classic.modules.averaging`. In TIL, where earlier models are asked, they are always protected.
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
    shares: Literal["learned", "set_aside"] = "set_aside"
    domains: Literal["blind", "inferred"] = "inferred"
    belief: float = 0.5
    faded: float = 0.25
    units: Literal["protected", "averaged"] = "averaged"
    gates: GateConfig = field(default_factory=GateConfig)

    def __post_init__(self) -> None:
        if self.most_teachers is not None and self.most_teachers < 1:
            raise InputError(f"method.most_teachers is {self.most_teachers}", fix="give at least 1, or none at all")

    @classmethod
    def preset(cls, name: PresetName) -> ClassicConfig:
        """The method of that preset."""
        gates = GateConfig.preset(name)
        if name == "default":
            return cls(gates=gates)
        published: dict[str, Any] = {
            "csc": 1.0,
            "ced": 1.0,
            "cks": 1.0,
            "teacher_head": "current",
            "missing": "plain",
            "shares": "learned",
            "domains": "blind",
            "belief": 0.0,
            "faded": 0.0,
            "units": "protected",
            "gates": gates,
        }
        if name == "paper":  # Eq. (7) and (14), Sec. 4.3
            return cls(teachers="sum", **published)
        # authors, systems.md 6.4 and 6.5: last teacher only, both views as anchors, extra cross-entropy
        return cls(teachers="last", reading="authors", attention="tasks", view_ce=1.0, **published)


class Classic(Hat, ReadsDomains):
    """Continual and contrastive learning of aspect sentiment.

    Paper: Eq. (14), Sec. 3.5

        L = L_CE + lambda_1 L_CSC + lambda_2 L_CED + lambda_3 L_CKS   (+ c R, the masks' sparsity, from HAT)

    Beyond the paper, in the preset ``default``: L_CE sets the domain's label shares aside, an answer believes a class as far
    as the text seems to come from a domain that has it, and in DIL weights are averaged along the sequence instead of
    protected.

    What earlier models say about the new task's examples is computed once, before training (`teachers`), and shared by CED
    and CKS: a step costs the same at the nineteenth task as at the second.
    """

    version: ClassVar[int] = 1
    source: ClassVar[str] = "Ke et al. (2021), CLASSIC: Continual and Contrastive Learning of Aspect Sentiment"
    places: Tensor
    shares: Tensor
    equation: ClassVar[str] = "L = CE + lambda_1 L_CSC + lambda_2 L_CED + lambda_3 L_CKS + c R, under HAT's masks"

    def __init__(self, model: Model, config: ClassicConfig) -> None:
        super().__init__(model, HatConfig(gates=config.gates, missing=config.missing))
        self.config = config
        self.attention: TaskAttention | TaskAxisAttention | None = None
        self._teacher_features = torch.zeros(0)
        self._teacher_logits = torch.zeros(0)
        self._shares = torch.zeros(0)
        self._map: tuple[DomainMap, ...] = ()  # in a tuple, out of the sight of nn.Module: it is kept elsewhere
        self._reader: tuple[int, DomainReader] | None = None
        self.consulted: list[int] = []
        self.transfer: list[float] = []
        self._reads = config.domains == "inferred"
        self._belief = config.belief if config.shares == "set_aside" else 0.0  # else the logits have the shares in them
        if self._reads:  # (T, C): the label shares of every task
            self.register_buffer("shares", torch.zeros(0, len(POLARITIES)))
        averages = config.units == "averaged" and model.head.scenario is Scenario.DIL
        self.averaging = RunningAverage(self.weights()) if averages else None
        if config.most_teachers is not None:  # (T, d): the mean surface of every task's texts
            width = model.backbone.surface(model.backbone.collate([Example("a", "a")])).shape[1]
            self.register_buffer("places", torch.zeros(0, width))

    def start_task(self, task: Task, seeds: Seeds) -> None:
        super().start_task(task, seeds)
        counts = torch.tensor([sum(e.polarity is polarity for e in task.train) for polarity in POLARITIES])
        self._shares = (counts / counts.sum()).to(self.present.device)
        self.attention = None
        if self.learned:
            self._ask_teachers(task, seeds)
        if self.averaging is not None:  # last: teachers are asked as they answer
            self.averaging.start_task()

    def _ask_teachers(self, task: Task, seeds: Seeds) -> None:
        self.consulted = self._nearest(task)
        self._teacher_features, self._teacher_logits = self.teachers(task.train)
        if self.config.cks:
            generator = seeds.generator("attention", self.learned)
            if self.config.attention == "tasks":
                self.attention = TaskAxisAttention(len(self.consulted) + 1, generator)
            else:
                self.attention = TaskAttention(self.model.backbone.features, generator)
            self.attention.to(self.present.device)

    def _nearest(self, task: Task) -> list[int]:
        """The earlier tasks that are consulted: all, or those whose texts are most like the new task's."""
        if self.config.most_teachers is None:
            return list(range(self.learned))
        distance = (self.places - self._place(task)).norm(dim=1)
        return sorted(distance.argsort()[: self.config.most_teachers].tolist())

    def _place(self, task: Task) -> Tensor:
        backbone, device = self.model.backbone, self.present.device
        with torch.no_grad():
            batches = sorted_batches(backbone, task.train, _TEACHER_BATCH)
            return torch.cat([backbone.surface(batch.to(device)) for batch in batches]).mean(dim=0)

    def teachers(self, examples: tuple[Example, ...]) -> tuple[Tensor, Tensor]:
        """Features (n, T, D) and logits (n, T, C) of every consulted model for the given examples."""
        device, asked = self.present.device, self.consulted or list(range(self.learned))
        features = torch.zeros(len(examples), len(asked), self.model.backbone.features, device=device)
        logits = torch.zeros(len(examples), len(asked), len(self.present), device=device)
        batches = [b.to(device) for b in sorted_batches(self.model.backbone, examples, _TEACHER_BATCH)]
        training = self.training
        self.eval()
        with torch.no_grad():
            for place, task in enumerate(asked):
                with self.acting_as(task):
                    for batch in batches:
                        output = self.model(batch, task, as_trained=True)
                        features[batch.rows, place] = output.features
                        logits[batch.rows, place] = output.logits
        self.train(training)
        return features, logits

    def plan(self, task: Task) -> list[Phase]:
        (phase,) = super().plan(task)
        if self.attention is None:
            return [phase]
        return [Phase(phase.name, (*phase.groups, Group(tuple(self.attention.parameters()))), phase.examples)]

    def loss(self, batch: Batch, step: Step) -> dict[str, Tensor]:
        config, tau = self.config, self.config.temperature
        output = self._train_forward(batch, step)
        terms = self._base_terms(output, batch)
        own = output.features if config.contrast == "features" else output.logits
        if config.csc:
            terms["csc"] = config.csc * csc(own, batch.labels, tau, config.reading, normalised=config.normalised)
        if not self.learned:
            return terms
        # Earlier models were asked about the texts as they were read: what they would say of joined ones is not known.
        known = batch.as_read
        output, own, labels = Output(output.features[known], output.logits[known]), own[known], batch.labels[known]
        rows = batch.rows[known]
        if config.ced and self.model.head.scenario is Scenario.DIL:
            terms["ced"] = config.ced * self._distillation(output.logits, rows)
        if self.attention is not None:
            states = torch.cat([self._teacher_features[rows], output.features.unsqueeze(1)], dim=1)
            view, _ = self.attention(states)
            other = view if config.contrast == "features" else self.model.head(view)
            found = cks(other, own, labels, tau, config.reading, normalised=config.normalised)
            terms["cks"] = config.cks * found
            if config.view_ce and len(rows):
                view_logits = self.model.head(view)
                terms["view_ce"] = config.view_ce * torch.nn.functional.cross_entropy(view_logits, labels)
                terms["view_sparsity"] = config.view_ce * terms["sparsity"]
        return terms

    def _base_terms(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        terms = super()._base_terms(output, batch)
        if self.config.shares == "set_aside":
            terms["ce"] = adjusted_cross_entropy(output.logits, batch.labels, self._shares)
        return terms

    def _distillation(self, student: Tensor, rows: Tensor) -> Tensor:
        if self.config.teacher_head == "own":
            teachers = self._teacher_logits[rows]
        else:
            head = self.model.head.current
            with torch.no_grad():
                teachers = head(self._teacher_features[rows])
        teachers = teachers.transpose(0, 1)  # (T, B, C)
        if self.config.teachers == "last":
            teachers = teachers[-1:]
        total = ced(teachers, student, self.config.temperature)
        return total / len(teachers) if self.config.teachers == "mean" else total

    def edit_gradients(self, step: Step) -> None:
        if self.averaging is None:
            super().edit_gradients(step)
        else:
            self.gates.compensate()

    def after_update(self, step: Step) -> None:
        super().after_update(step)
        if self.averaging is not None:
            self.averaging.step()

    def finish_task(self, task: Task) -> None:
        self.transfer = self._transfer(task) if self.attention is not None else []
        self.attention = None
        self._teacher_features, self._teacher_logits = torch.zeros(0), torch.zeros(0)
        self.consulted = []
        if self.config.most_teachers is not None:
            self.places = torch.cat([self.places, self._place(task).unsqueeze(0)])
        if self.averaging is not None:  # before the task's mask and its copies are kept
            self.averaging.finish_task()
        if self._reads:
            self.shares = torch.cat([self.shares, self._shares.unsqueeze(0)])
        super().finish_task(task)

    # --- answers ----------------------------------------------------------------------------------------------------

    def show_map(self, domains: DomainMap) -> None:
        self._map, self._reader = (domains,), None

    def reader(self, task: int | None = None) -> nn.Module | None:
        if not self._reads:
            return None
        if self.in_task:
            return KnownDomain(self._shares, self._belief)
        if task is not None:
            return KnownDomain(self.shares[task], self._belief)
        if not self._map or len(self._map[0].means) != self.learned:  # nobody keeps a map
            return None
        if self._reader is None or self._reader[0] != self.learned:
            self._reader = self.learned, DomainReader(self._map[0], self.shares, self._belief, self.config.faded)
        return self._reader[1]

    def logits(self, batch: Batch, task: int | None = None) -> Tensor:
        said, reader = super().logits(batch, task), self.reader(task)
        if reader is None:
            return said
        read: Tensor = reader(said, self.model.backbone.surface(batch))
        return read

    def _transfer(self, task: Task) -> list[float]:
        """How much the new task attends to each task so far, itself last: the mean of alpha_{t,i} over its examples.

        A task that was not consulted gets 0.
        """
        assert self.attention is not None
        total = torch.zeros(len(self.consulted) + 1, device=self.present.device)
        self.eval()
        with torch.no_grad(), self.acting_as(None):
            for on_cpu in sorted_batches(self.model.backbone, task.train, _TEACHER_BATCH):
                batch = on_cpu.to(self.present.device)
                features = self.model.features(batch)
                states = torch.cat([self._teacher_features[batch.rows], features.unsqueeze(1)], dim=1)
                total += self.attention(states)[1][:, -1].sum(dim=0)
        shares = dict(zip([*self.consulted, self.learned], (total / len(task.train)).tolist(), strict=True))
        return [shares.get(earlier, 0.0) for earlier in range(self.learned + 1)]

    def report(self) -> dict[str, Any]:
        return super().report() | {"transfer": self.transfer}
