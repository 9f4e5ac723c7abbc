"""Systems by name: ``hat+ent@bert_adapter/dil`` is a method, its options, a backbone and a scenario.

    METHOD[+csc][+reader][+average][+starter][+last|+ent][-csc][-ced][-cks][-absent][-masks][-shares][-domains][-belief]
        [-faded][-average][-joined]@BACKBONE[/dil|/til]

``+reader`` and ``+average`` add to any method what CLASSIC has by default: `classic.methods.additions`.
``-joined`` reads every sentence alone, whatever the method. ``+starter`` is for benchmarks: the run begins with the model
that comes with the package, which has seen other data.

Reading a name needs no torch; building the system does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from classic.errors import IncompatibleError, InputError
from classic.types import Scenario, TaskId

if TYPE_CHECKING:
    from classic.config import PresetName
    from classic.systems.system import SystemConfig

_FORM = re.compile(
    r"(?P<method>[a-z0-9_]+)(?P<options>([+-][a-z]+)*)@(?P<backbone>[a-z0-9_]+)(/(?P<scenario>dil|til))?"
)
_RULES = {"last": TaskId.LAST, "ent": TaskId.ENTROPY}
_PLUS = ("csc", "reader", "average", "starter", *_RULES)

# What a system is without one of its parts: CLASSIC's losses, and what is added to a method.
_WITHOUT: dict[str, tuple[str, Any]] = {
    "csc": ("method.csc", 0.0),
    "ced": ("method.ced", 0.0),
    "cks": ("method.cks", 0.0),
    "absent": ("method.absent", 0.0),
    "masks": ("method.gates.travel", 0.0),  # they stay as they start: an allocation by chance
    "shares": ("additions.shares", "learned"),
    "domains": ("additions.domains", "blind"),
    "belief": ("additions.belief", 0.0),
    "faded": ("additions.faded", 0.0),
    "average": ("additions.average", False),
    "joined": ("train.joined", 0.0),
}
_OWN = {
    "absent": ("classic",),
    "csc": ("classic",),
    "ced": ("classic",),
    "cks": ("classic",),
    "masks": ("classic", "hat", "bcl"),
}


@dataclass(frozen=True)
class Name:
    """The parts of a system's name."""

    method: str
    plus: tuple[str, ...]
    minus: tuple[str, ...]
    backbone: str
    scenario: Scenario

    def __str__(self) -> str:
        options = "".join(f"+{each}" for each in self.plus) + "".join(f"-{each}" for each in self.minus)
        return f"{self.method}{options}@{self.backbone}/{self.scenario}"


def read_name(text: str) -> Name:
    """Takes a name apart; without a scenario it is DIL."""
    found = _FORM.fullmatch(text.strip().lower())
    if not found:
        raise InputError(
            f"{text!r} is not the name of a system",
            fix="write METHOD@BACKBONE/SCENARIO with options, e.g. hat+ent@bert_adapter/dil; see `classic systems list`",
        )
    options = re.findall(r"([+-])([a-z]+)", found["options"])
    plus = tuple(option for sign, option in options if sign == "+")
    minus = tuple(option for sign, option in options if sign == "-")
    for option in plus:
        if option not in _PLUS:
            known = ", ".join(f"+{each}" for each in _PLUS)
            raise InputError(f"unknown option +{option} in {text!r}", fix=f"known: {known}")
    for option in minus:
        if option not in _WITHOUT or not _can_lack(found["method"], plus, option):
            known = ", ".join(f"-{each}" for each in _WITHOUT)
            raise InputError(
                f"unknown option -{option} in {text!r}",
                fix=f"known: {known}, of classic; -joined of all, -masks of hat and bcl, the additions' of +reader",
            )
    return Name(found["method"], plus, minus, found["backbone"], Scenario(found["scenario"] or "dil"))


def _can_lack(method: str, plus: tuple[str, ...], option: str) -> bool:
    if option in _OWN:
        return method in _OWN[option]
    return option == "joined" or method == "classic" or "reader" in plus


def parse(
    text: str, preset: PresetName = "default", changes: dict[str, Any] | None = None, *, quick: bool = False
) -> SystemConfig:
    """The configuration of a system by its name.

    Args:
        text: The name.
        preset: ``default``, ``paper`` or ``authors``.
        changes: Values by dotted key, as `SystemConfig.preset` takes them.
        quick: Whether small networks over frozen states make do with few epochs.

    Raises:
        IncompatibleError: If the parts cannot work together, with a sentence that says why.
    """
    from classic.systems.recipes import READER
    from classic.systems.system import METHODS, SystemConfig

    name = read_name(text)
    settings: dict[str, Any] = {}
    if "csc" in name.plus:
        if name.method not in {"one", "ncl"}:
            raise IncompatibleError(f"+csc is an option of one and ncl, not of {name.method}", fix="leave it out")
        settings["method.csc"] = 1.0
        if name.backbone == "w2v":
            settings["backbone.trunk"] = "kim"  # the +csc scripts run the plain network
    if "reader" in name.plus:
        settings |= READER
    if "average" in name.plus:
        settings["additions.average"] = True
    settings |= dict(_WITHOUT[part] for part in name.minus)
    rules = [_RULES[option] for option in name.plus if option in _RULES]
    config = SystemConfig.preset(
        preset,
        method=name.method,
        backbone=name.backbone,
        scenario=name.scenario,
        changes=settings | (changes or {}),
        quick=quick,
    )
    needs_id = METHODS[name.method].build.needs_task_id
    if name.scenario is Scenario.TIL:
        if rules:
            raise IncompatibleError(
                f"{text}: in TIL the task is given", fix="leave +last and +ent out, or ask for /dil"
            )
        return config
    if rules and not needs_id:
        raise IncompatibleError(
            f"{text}: {name.method} has one model and needs no rule", fix="leave +last and +ent out"
        )
    if needs_id and not rules:
        raise IncompatibleError(
            f"{text}: {name.method} must know the task of what it is asked, and in DIL nobody says it",
            fix=f"ask for {name.method}+last or {name.method}+ent, or for /til"
            if name.method != "one"
            else "ask for /til; the paper prints the same numbers under DIL",
        )
    if name.method == "one":
        raise IncompatibleError(
            f"{text}: separate networks share nothing that +last or +ent could use", fix="ask for /til"
        )
    import dataclasses

    return dataclasses.replace(config, task_id=rules[0] if rules else TaskId.LAST)
