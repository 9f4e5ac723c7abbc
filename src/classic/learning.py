"""Teaching a store a domain, and asking it: where data, system and store meet."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classic.batching import sorted_batches
from classic.data.tasks import task_hash
from classic.errors import InputError, StoreError
from classic.evaluation.answers import answer
from classic.evaluation.calibration import fit_temperature
from classic.evaluation.metrics import accuracy, macro_f1
from classic.files import json_bytes
from classic.methods.base import Method
from classic.modelcard import write_card
from classic.modules.domain_map import DomainMap
from classic.runinfo import peak_memory, surroundings
from classic.seeding import Seeds
from classic.store import Store, Version
from classic.systems import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import Watcher, learn_task
from classic.training.workers import Workers
from classic.types import POLARITIES, Example, Task

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
    """

    config: SystemConfig
    seed: int
    method: Method
    map: DomainMap
    domains: list[str]
    temperatures: list[tuple[float, int]]

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
    """The model of a version, its files and its encoder checked."""
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
        _take_on(learner, store, tensors, number)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:  # whole files, but not of this system
        raise StoreError(f"{store.path} does not hold a model of its system ({error})", fix="do not use it") from None
    return learner


def _take_on(learner: Learner, store: Store, tensors: dict[str, Tensor], number: int | None) -> None:
    facts = store.version(number).record.get("facts")
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
    chain = store.chain(number)
    learner.domains = [version.domain for version in chain]
    learner.temperatures = [tuple(version.record["temperature"]) for version in chain]


def open_or_create(path: Path | str, config: SystemConfig | None = None, seed: int = 0) -> Store:
    """The store at a path; made with the given system, or the default one, if there is none.

    Raises:
        InputError: If the store exists and learns with another system or seed than the one given.
    """
    workers = Workers.find()
    if workers.main and not Store.exists(path):
        _create(path, config or SystemConfig.preset(), seed)
    workers.wait()
    store = Store.open(path)
    if config:
        wanted = {"system": config.complete().to_dict(), "seed": seed}
        # Completed on both sides: a store made before a setting existed has that setting's default.
        own = SystemConfig.from_dict(store.settings["system"]).complete()
        there = {"system": own.to_dict(), "seed": store.settings["seed"]}
        if wanted != there:
            raise InputError(
                f"{path} learns with other settings: {_first_difference(wanted, there)}",
                fix="leave the settings out (a store keeps its own) or make a new store",
            )
    return store


def _create(path: Path | str, config: SystemConfig, seed: int) -> None:
    learner = new_learner(config, seed)
    settings = {
        "system": learner.config.to_dict(),
        "seed": seed,
        "encoder": learner.method.model.backbone.fingerprint(),
        "labels": [str(polarity) for polarity in POLARITIES],
    }
    base = {f"whole/{name}": tensor.contiguous() for name, tensor in learner.tensors().items()}
    Store.create(path, settings, base)


def teach(
    store: Store, task: Task, *, device: str = "cpu", watcher: Watcher | None = None, learner: Learner | None = None
) -> tuple[Version, Learner]:
    """Teaches a store one domain and publishes the new version.

    Call it again after a crash with the same data: it goes on at the last finished epoch and publishes the same bytes.

    Args:
        store: The store.
        task: The domain.
        device: Where to compute; under `accelerate launch` every process takes a GPU of its own.
        watcher: Who looks on.
        learner: The current version's model, if the caller has it in memory.
    """
    check_task(task)
    data = task_hash(task)
    workers = Workers.find(device)
    device = workers.device(device)
    with store.lock() if workers.main else nullcontext():
        if workers.main:
            store.sweep()
        workers.wait()
        done = _learned_before(store, task, data)
        if done:
            if workers.main:
                store.discard_work()
            return done, learner or load_learner(store, device=device)
        if learner is None or learner.domains != store.domains():
            learner = load_learner(store, device=device)
        digest = store.digest()
        job = hashlib.sha256(json_bytes([digest, task.name, data, device, surroundings()])).hexdigest()
        checkpoint = Checkpoint(store.checkpoint, job)
        log = learn_task(learner.method, task, learner.config.train, Seeds(learner.seed), checkpoint, watcher, workers)
        record = _after_learning(learner, task) | {"data": data, "epochs": log.epochs}
        run = {
            "seconds": log.seconds,
            "cpu_seconds": log.cpu_seconds,
            "peak_memory_bytes": peak_memory(),
            "surroundings": surroundings(),
        }
        if workers.main:
            card = write_card(record, learner.config.to_dict(), learner.domains)
            store.publish(learner.tensors(), record, run, card)
            store.discard_work()
        workers.wait()
        return store.version(), learner


def _learned_before(store: Store, task: Task, data: str) -> Version | None:
    """The version that learned this very domain: a process that was killed after publishing finds its work done."""
    for version in store.chain():
        if version.domain != task.name:
            continue
        if version.record["data"] == data:
            return version
        raise InputError(
            f"{store.path} has learned a domain {task.name!r} already, from other data",
            fix="choose another name, or roll back to the version before it",
        )
    return None


def check_task(task: Task) -> None:
    """Refuses a domain that cannot be learned, before anything is changed."""
    unlabelled = sum(example.polarity is None for part in (task.train, task.valid, task.test) for example in part)
    if unlabelled:
        raise InputError(f"{unlabelled} examples of domain {task.name!r} have no polarity", fix="label them all")
    if len(task.train) < 2:
        raise InputError(f"domain {task.name!r} has {len(task.train)} training examples", fix="give at least two")
    if len(task.classes) < 2:
        raise InputError(
            f"all training examples of domain {task.name!r} are {task.classes[0]}",
            fix="give examples of at least two polarities",
        )


def _after_learning(learner: Learner, task: Task) -> dict[str, Any]:
    """Measures the model that was just taught and takes the domain into the map."""
    method, index = learner.method, learner.method.learned - 1
    learner.map.add(surfaces(method, task.train), surfaces(method, task.valid))
    learner.domains.append(task.name)
    parts = {part: examples for part, examples in (("valid", task.valid), ("test", task.test)) if examples}
    for examples in parts.values():
        method.model.backbone.prepare(examples, dataset=True)
    said = {part: answer(method, examples, learner.config.task_id, index) for part, examples in parts.items()}
    temperature, fitted_on = 1.0, len(task.valid)
    if task.valid:
        temperature = fit_temperature(said["valid"], truth(task.valid))
    learner.temperatures.append((temperature, fitted_on))
    record: dict[str, Any] = {
        "domain": task.name,
        "domains": list(learner.domains),
        "counts": {
            part: {str(p): sum(e.polarity is p for e in examples) for p in POLARITIES}
            for part, examples in (("train", task.train), ("valid", task.valid), ("test", task.test))
        },
        "classes": [str(polarity) for polarity in task.classes],
        "facts": method.facts(),
        "keeps_texts": method.keeps_data,
        "bytes_kept": method.bytes_kept(),
        "temperature": [temperature, fitted_on],
        "scores": {part: _score(examples, said[part], task.classes) for part, examples in parts.items()},
    }
    return record | method.report()


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


def truth(examples: Sequence[Example]) -> Tensor:
    """True classes (n,)."""
    return torch.tensor([-1 if e.polarity is None else e.polarity.column for e in examples])


def count_answers(examples: Sequence[Example], logits: Tensor) -> dict[str, Any]:
    """Counts of (true, answered) pairs: all that is kept of a test, enough for every score."""
    counted = Counter(zip(truth(examples).tolist(), logits.argmax(dim=1).tolist(), strict=True))
    return {"pairs": [[true, answered, count] for (true, answered), count in sorted(counted.items())]}


def _score(examples: Sequence[Example], logits: Tensor, classes: Sequence[object]) -> dict[str, Any]:
    """Accuracy, both macro-F1, and the counts they come from."""
    true, predicted = truth(examples).tolist(), logits.argmax(dim=1).tolist()
    own = [polarity.column for polarity in POLARITIES if polarity in classes]
    return {
        "accuracy": accuracy(true, predicted),
        "macro_f1": macro_f1(true, predicted),
        "fair_macro_f1": macro_f1(true, predicted, labels=own),
        "examples": len(examples),
        **count_answers(examples, logits),
    }


def _first_difference(wanted: Any, there: Any, path: str = "") -> str:
    if isinstance(wanted, dict) and isinstance(there, dict):
        for key in sorted(wanted.keys() | there.keys()):
            if wanted.get(key) != there.get(key):
                return _first_difference(wanted.get(key), there.get(key), f"{path}.{key}".lstrip("."))
    return f"{path} is {there!r} there, {wanted!r} was asked for"
