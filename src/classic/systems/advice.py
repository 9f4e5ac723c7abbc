"""Which methods suit what a user may keep and knows."""

from __future__ import annotations

from dataclasses import dataclass

from classic.errors import InputError
from classic.systems.names import parse
from classic.systems.size import measure_kept
from classic.systems.system import BACKBONES, METHODS

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Requirements:
    """What a user may keep, and knows.

    Attributes:
        keep_data: Old texts may be kept.
        task_id: Whoever asks can say the domain.
        grow: What is kept may grow with every domain.
        memory: Most megabytes that may be kept besides the network and texts; None does not ask.
        domains: After how many domains.
    """

    keep_data: bool = False
    task_id: bool = False
    grow: bool = True
    memory: float | None = None
    domains: int = 19


def against(name: str, wishes: Requirements) -> list[str]:
    """What speaks against a method; nothing where it fits."""
    method = METHODS[name].build
    found = []
    if method.keeps_data and not wishes.keep_data:
        found.append("keeps old texts")
    if method.needs_task_id and not wishes.task_id:
        found.append("must be told the domain, or guess it (+last, +ent)")
    if method.grows and not wishes.grow:
        found.append("grows with every domain")
    if not found and wishes.memory is not None:
        found += _too_much(name, wishes.memory, wishes.domains)
    return found


def _too_much(name: str, memory: float, domains: int) -> list[str]:
    method = METHODS[name].build
    backbone = next(n for n in ("bert_adapter", *BACKBONES) if method.needs <= BACKBONES[n].build.provides)
    told = method.needs_task_id
    try:
        kept = measure_kept(parse(f"{name}@{backbone}/{'til' if told else 'dil'}"))
    except InputError as error:  # no weights at hand to measure with
        return [f"what it keeps could not be measured: {error.what}"]
    megabytes = 0.0 if kept.texts else (kept.first + (domains - 1) * kept.each) / _MEGABYTE
    return [f"keeps {megabytes:.1f} MB after {domains} domains ({backbone})"] if megabytes > memory else []
