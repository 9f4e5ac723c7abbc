"""Teaching a store one domain: where data, system and store meet."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classic.data.marked import Marked, marked_of
from classic.data.starter import STARTER
from classic.data.tasks import check_name, make_task, task_hash
from classic.errors import InputError
from classic.evaluation.answers import answer
from classic.evaluation.aspects import count_aspects
from classic.evaluation.calibration import fit_temperature
from classic.evaluation.scores import count, labels_of, score
from classic.files import json_bytes
from classic.finding.marking import mark
from classic.learning.environment import peak_memory, surroundings
from classic.learning.learner import Learner, load_learner, open_or_create, surfaces
from classic.seeding import Seeds
from classic.store.card import write_card
from classic.store.store import Store
from classic.store.versions import Version
from classic.training.checkpoint import Checkpoint
from classic.training.loop import Watcher, learn_task
from classic.training.workers import Workers
from classic.types import POLARITIES, Example, Task


def teach(
    store: Store | Path | str,
    task: object,
    domain: str | None = None,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    learner: Learner | None = None,
    sentences: Sequence[Marked] = (),
) -> tuple[Version, Learner]:
    """Teaches a store one domain and publishes the new version.

    Call it again after a crash with the same data: it goes on at the newest checkpoint and publishes the same bytes.

    >>> rows = [("good zoom", "zoom", "positive"), ("bad zoom", "zoom", "negative")]
    >>> version, _ = teach(store, {"train": rows}, "camera")
    >>> version.domain
    'camera'

    Args:
        store: The store, or its folder, which is made if it is not there.
        task: The domain: a task; or its data, as `classic.data.make_task` takes them: a path, splits by name, or rows.
        domain: Its name; a task has one.
        device: Where to compute; under `accelerate launch` every process takes a GPU of its own.
        watcher: Who looks on.
        learner: The current version's model, if the caller has it in memory.
        sentences: More sentences of the domain for the finder, with all their aspects marked
            (`classic.data.marked.read_marked`); the others are in the rows.
    """
    if not isinstance(task, Task):
        if domain is None:
            raise InputError("the domain has no name", fix='give one: teach(store, data, "camera")')
        task = make_task(domain, task)
    check_task(task)
    if not isinstance(store, Store):
        store = open_or_create(store, finder=True)
    if sentences and "finder" not in store.settings:
        raise InputError(f"{store.path} has no finder that could learn the sentences", fix="leave them out")
    data = task_hash(task)
    if sentences:
        data = hashlib.sha256(json_bytes([data, [asdict(each) for each in sentences]])).hexdigest()
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
            if watcher:
                watcher.on_stage(task.name, "loading the model")
            learner = load_learner(store, device=device)
        digest = store.digest()
        job = hashlib.sha256(json_bytes([digest, task.name, data, device, surroundings()])).hexdigest()
        checkpoint = Checkpoint(store.checkpoint, job)
        log = learn_task(learner.method, task, learner.config.train, Seeds(learner.seed), checkpoint, watcher, workers)
        found: dict[str, Any] = {}
        if learner.finder and workers.main:
            if watcher:
                watcher.on_stage(task.name, "learning to find aspects")
            found = _learn_to_find(learner, task, sentences, device, watcher)
        if watcher:
            watcher.on_stage(task.name, "testing")
        record = _after_learning(learner, task) | {"data": data, "epochs": log.epochs} | found
        run = {
            "seconds": log.seconds,
            "cpu_seconds": log.cpu_seconds,
            "peak_memory_bytes": peak_memory(),
            "surroundings": surroundings(),
        }
        if workers.main:
            card = write_card(record, learner.config.to_dict(), learner.domains)
            finder = learner.finder.tensors if learner.finder else None
            store.publish(learner.tensors(), record, run, card, finder)
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
    check_name(task.name)
    unlabelled = sum(example.polarity is None for part in (task.train, task.valid, task.test) for example in part)
    if unlabelled:
        raise InputError(f"{unlabelled} examples of domain {task.name!r} have no polarity", fix="label them all")
    if len(task.train) < 2:
        examples = "1 training example" if task.train else "0 training examples"
        raise InputError(f"domain {task.name!r} has {examples}", fix="give at least two")
    if len(task.classes) < 2:
        raise InputError(
            f"all training examples of domain {task.name!r} are {task.classes[0]}",
            fix="give examples of at least two polarities",
        )


def _learn_to_find(
    learner: Learner, task: Task, sentences: Sequence[Marked], device: str, watcher: Watcher | None
) -> dict[str, Any]:
    """Teaches the finder the domain, by itself and from the seed alone; what it found in the test rows."""
    assert learner.finder
    whole = {each.sentence for each in sentences}
    lessons = [*(each for each in marked_of(task.train) if each.sentence not in whole), *sentences]
    finder = learner.finder.learn(
        lessons,
        len(learner.domains),
        keep=learner.domains != [STARTER],
        device=device,
        precision=learner.config.train.precision,
        on_step=watcher.on_count if watcher else None,
    )
    tested = marked_of(task.test or task.valid)
    counted = count_aspects([each.spans for each in tested], mark(finder, [each.sentence for each in tested], 0.5))
    return {"finder": {"sentences": len(lessons), "aspects": sum(len(each.spans) for each in lessons)} | counted}


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
        temperature = fit_temperature(said["valid"], torch.tensor(labels_of(task.valid)))
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
        "scores": {part: scores_of(parts[part], said[part], task) for part in parts},
    }
    return record | method.report()


def scores_of(examples: tuple[Example, ...], logits: Tensor, task: Task) -> dict[str, Any]:
    """The scores of one part of a domain, as a version's record has them."""
    counted = count(examples, logits.argmax(dim=1).tolist())
    return score(counted, task.classes) | counted
