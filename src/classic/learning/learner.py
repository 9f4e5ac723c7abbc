"""A model in memory: made new, or read from a version of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classic.batching import sorted_batches
from classic.config import from_dict, to_dict
from classic.data.starter import STARTER
from classic.errors import InputError, StoreError
from classic.finding.finder import FinderConfig
from classic.finding.kept import KeptFinder, can_find, finder_of
from classic.learning.soundness import UNSOUND, check_answers, check_settings, check_tensors
from classic.methods.base import Method
from classic.modules.domain_map import DomainMap
from classic.store.store import Store
from classic.systems.system import SystemConfig, build, without_caches
from classic.training.workers import Workers
from classic.types import POLARITIES, Example

_METHOD, _MAP = "method/", "map/"


@dataclass
class Learner:
    """A model in memory: the method, and where its domains lie among each other.

    Attributes:
        config: The system.
        seed: Root of all randomness.
        method: What learns and answers.
        map: Nearest domain and unfamiliar texts.
        domains: Names of the learned domains, in order.
        temperatures: Calibration fitted at each domain, with the number of examples it was fitted on.
        finder: What finds aspects, in a store that does.
    """

    config: SystemConfig
    seed: int
    method: Method
    map: DomainMap
    domains: list[str]
    temperatures: list[tuple[float, int]]
    finder: KeptFinder | None = None

    @property
    def temperature(self) -> float:
        """The calibration in use: the geometric mean over the domains, each by its number of examples."""
        fitted = [(value, count) for value, count in self.temperatures if count]
        if not fitted:
            return 1.0
        logs = torch.tensor([value for value, _ in fitted], dtype=torch.float64).log()
        weights = torch.tensor([count for _, count in fitted], dtype=torch.float64)
        return float((logs * weights).sum().div(weights.sum()).exp())

    def tensors(self) -> dict[str, Tensor]:
        """Everything to be kept, by name."""
        named = {_METHOD + name: tensor for name, tensor in self.method.tensors().items()}
        return named | {_MAP + name: tensor for name, tensor in self.map.state_dict().items()}


def new_learner(config: SystemConfig, seed: int, device: str = "cpu") -> Learner:
    """An untaught model."""
    method = build(config, seed, device)
    probe = method.model.backbone.collate([Example("probe", "probe")])
    width = method.model.backbone.surface(probe.to(device)).shape[1]
    domains = DomainMap(width)
    method.show_map(domains)
    return Learner(config, seed, method, domains, [], [])


def load_learner(store: Store, number: int | None = None, device: str = "cpu") -> Learner:
    """The model of a version; its files, its encoder, and that it is a model of the store's system are checked."""
    check_settings(store.settings, store)
    store.check_records(number)
    config = SystemConfig.from_dict(store.settings["system"])
    learner = new_learner(config, store.settings["seed"], device)
    found = learner.method.model.backbone.fingerprint()
    wanted = store.settings["encoder"]
    for part in wanted.keys() - {"encoder"}:
        if found.get(part) != wanted[part]:
            raise StoreError(
                f"{store.path} was taught over an encoder whose {part} is {wanted[part][:12]}…, "
                f"but that of {found['encoder']!r} here is {str(found.get(part))[:12]}…",
                fix="use the encoder the store was made with",
            )
    tensors = store.tensors(number)
    try:
        check_tensors(tensors, learner.tensors())
        chain = store.chain(number)
        temperatures = [tuple(version.record["temperature"]) for version in chain]
        facts = store.version(number).record.get("facts")
        take_on(learner, tensors, facts, [version.domain for version in chain], temperatures)
        check_answers(learner)
        learner.finder = _finder(store, number)
    except UNSOUND as error:  # whole files, but not of this system
        raise StoreError(f"{store.path} does not hold a model of its system ({error})", fix="do not use it") from None
    return learner


def _finder(store: Store, number: int | None) -> KeptFinder | None:
    """What a version finds with; None in a store that was made without."""
    settings = store.settings.get("finder")
    if settings is None:
        return None
    config = from_dict(FinderConfig, settings, where="finder")
    return KeptFinder(store.settings["encoder"]["encoder"], config, store.settings["seed"], store.finder(number))


def take_on(
    learner: Learner,
    tensors: dict[str, Tensor],
    facts: dict[str, Any] | None,
    domains: list[str],
    temperatures: list[tuple[float, int]],
) -> None:
    """Makes an untaught learner one that has learned: its tensors, the method's facts, and what each domain left."""
    own = {name.removeprefix(_METHOD): value for name, value in tensors.items() if name.startswith(_METHOD)}
    places = {name.removeprefix(_MAP): value for name, value in tensors.items() if name.startswith(_MAP)}
    if len(own) + len(places) != len(tensors) or places.keys() != learner.map.state_dict().keys():
        raise KeyError("unknown or missing tensors")
    if facts:
        learner.method.restore(facts, own)
    else:
        learner.method.load_tensors(own)
    for name, value in places.items():
        setattr(learner.map, name, value)
    learner.domains, learner.temperatures = domains, temperatures


def open_or_create(
    path: Path | str,
    config: SystemConfig | None = None,
    seed: int = 0,
    *,
    from_scratch: bool = False,
    finder: bool = False,
) -> Store:
    """The store at a path; made with the given system, or the default one, if there is none.

    Args:
        path: Its folder.
        config: The system; the default one if none is given.
        seed: Root of all randomness.
        from_scratch: Whether a new store does without the starter. The default system has one, over `minilm` and over
            `mpnet`.
        finder: Whether a new store learns to find aspects, too, where its encoder allows it.

    Raises:
        InputError: If the store exists and learns with another system or seed than the one given.
    """
    return begin(path, config, seed, starter=not from_scratch, finder=finder)[0]


def begin(
    path: Path | str,
    config: SystemConfig | None = None,
    seed: int = 0,
    device: str = "cpu",
    *,
    starter: bool = False,
    finder: bool = False,
) -> tuple[Store, Learner | None]:
    """As `open_or_create`; with the model if it had to be built for that, so that nobody builds it again."""
    from classic.learning.starter import begin_with_starter, fits

    workers = Workers.find()
    learner: Learner | None = None
    if workers.main and not Store.exists(path):
        system = config or SystemConfig.preset()
        learner = _create(path, system, seed, device, starter=starter and fits(system), finder=finder)
    workers.wait()
    store = Store.open(path)
    if workers.main and store.settings.get("start") == STARTER and store.numbers() == [0]:
        _, learner = begin_with_starter(store, device)  # also where a kill came between making it and this
    workers.wait()
    if config:
        wanted = {"system": without_caches(config.complete().to_dict()), "seed": seed}
        # Completed on both sides: a store made before a setting existed has that setting's default.
        own = SystemConfig.from_dict(store.settings["system"]).complete()
        there = {"system": without_caches(own.to_dict()), "seed": store.settings["seed"]}
        if wanted != there:
            raise InputError(
                f"{path} learns with other settings: {_first_difference(wanted, there)}",
                fix="leave the settings out (a store keeps its own) or make a new store",
            )
    return store, learner


def _create(path: Path | str, config: SystemConfig, seed: int, device: str, *, starter: bool, finder: bool) -> Learner:
    learner = new_learner(config, seed, device)
    finder = finder and can_find(learner.method.model.backbone)
    encoder = learner.method.model.backbone.fingerprint()
    settings = {
        "system": learner.config.to_dict(),
        "seed": seed,
        "encoder": encoder,
        "labels": [str(polarity) for polarity in POLARITIES],
    }
    settings |= {"start": STARTER} if starter else {}
    settings |= {"finder": to_dict(finder_of(encoder["encoder"]))} if finder else {}
    base = {f"whole/{name}": tensor.cpu().contiguous() for name, tensor in learner.tensors().items()}
    learner.finder = _finder(Store.create(path, settings, base), 0)
    return learner


def surfaces(method: Method, examples: Sequence[Example]) -> Tensor:
    """Text surfaces (n, d) for the domain map."""
    backbone = method.model.backbone
    found = [torch.zeros(0)] * len(examples)
    with torch.no_grad():
        for batch in sorted_batches(backbone, examples, 64):
            moved = batch.to(method.present.device)
            for row, surface in zip(batch.rows.tolist(), backbone.surface(moved).cpu(), strict=True):
                found[row] = surface
    return torch.stack(found) if found else torch.zeros(0)


def _first_difference(wanted: Any, there: Any, path: str = "") -> str:
    if isinstance(wanted, dict) and isinstance(there, dict):
        for key in sorted(wanted.keys() | there.keys()):
            if wanted.get(key) != there.get(key):
                return _first_difference(wanted.get(key), there.get(key), f"{path}.{key}".lstrip("."))
    return f"{path} is {there!r} there, {wanted!r} was asked for"
