"""What CLASSIC has besides the paper, any method may have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from classic.errors import ClassicError
from classic.methods.base import Method
from classic.modules.averaging import RunningAverage
from classic.modules.domain_map import DomainMap
from classic.modules.domain_reader import DomainReader, KnownDomain
from classic.modules.keeping import Keeping
from classic.seeding import Seeds
from classic.systems.names import parse
from classic.systems.system import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task
from classic.types import Step, Task

MakeSystem = Callable[..., SystemConfig]


def small(encoder: Path) -> dict[str, object]:
    return {"backbone.encoder": str(encoder), "backbone.width": 16, "train.batch_size": 8, "train.epochs": 2}


def taught(config: SystemConfig, tasks: tuple[Task, ...]) -> tuple[Method, DomainMap]:
    method = build(config, 0)
    backbone = method.model.backbone
    domains = DomainMap(backbone.surface(backbone.collate(tasks[0].train[:1])).shape[1])
    method.show_map(domains)
    for task in tasks:
        learn_task(method, task, config.train, Seeds(0))
        domains.add(*(backbone.surface(backbone.collate(part)) for part in (task.train, task.valid)))
    return method.eval(), domains


@pytest.mark.parametrize("name", ["ncl", "ewc", "owm", "derpp", "ucl"])
def test_a_name_gives_any_method_the_reader_and_the_average(
    name: str, tiny_encoder: Path, toy_tasks: tuple[Task, ...]
) -> None:
    method, _ = taught(parse(f"{name}+reader+average@bert_adapter", changes=small(tiny_encoder)), toy_tasks[:3])
    assert isinstance(method.keeping, RunningAverage)
    assert isinstance(method.reader(), DomainReader)
    assert isinstance(method.reader(1), KnownDomain)
    batch = method.model.backbone.collate(toy_tasks[1].test)  # a domain without "neutral"
    with torch.no_grad():
        assert int((method.answer(batch, 1).argmax(dim=1) == 2).sum()) == 0
        assert not torch.equal(method.answer(batch), method.logits(batch))
    assert {"answers.shares", "keeping.live"} <= method.tensors().keys()


def test_without_options_nothing_is_added(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method, _ = taught(parse("ncl@bert_adapter", changes=small(tiny_encoder)), toy_tasks[:1])
    assert type(method.keeping) is Keeping
    assert method.reader() is None
    assert not {name for name in method.tensors() if name.startswith(("answers.", "keeping."))}


def test_classic_and_ncl_are_read_alike(tiny_encoder: Path) -> None:
    ncl, classic = (
        parse(f"{name}@bert_adapter", changes=small(tiny_encoder)) for name in ("ncl+reader+average", "classic")
    )
    assert ncl.additions == classic.additions
    bare = parse("classic-shares-domains-belief-faded-average@bert_adapter", changes=small(tiny_encoder))
    assert bare.additions == parse("ncl@bert_adapter", changes=small(tiny_encoder)).additions


@pytest.mark.parametrize("name", ["one+average@bert_adapter/til", "ncl+average@bert_adapter/til", "joint+average@bert"])
def test_additions_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(ClassicError, match="average"):
        build(parse(name), 0)


def test_an_average_stays_and_training_goes_on_when_a_run_is_killed(
    tiny_encoder: Path, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    config = parse("ncl+reader+average@bert_adapter", changes=small(tiny_encoder))

    class Killed(Exception):
        pass

    class Killer(NoWatcher):
        def on_step(self, step: Step, terms: dict[str, float]) -> None:
            if (step.epoch, step.batch) == (1, 1):
                raise Killed

    def fresh() -> Method:
        return taught(config, toy_tasks[:1])[0]

    whole, again = fresh(), fresh()
    learn_task(whole, toy_tasks[1], config.train, Seeds(0))
    checkpoint = Checkpoint(tmp_path / "c.safetensors", "job")
    with pytest.raises(Killed):
        learn_task(fresh(), toy_tasks[1], config.train, Seeds(0), checkpoint, Killer())
    learn_task(again, toy_tasks[1], config.train, Seeds(0), checkpoint)
    assert whole.tensors().keys() == again.tensors().keys()
    assert all(torch.equal(tensor, again.tensors()[name]) for name, tensor in whole.tensors().items())
    assert whole.learned == 2
