"""A new store may begin with a model that has learned before, and treats it as its first domain."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch

from classic.data.starter import STARTER
from classic.errors import StoreError
from classic.learning import starter
from classic.learning.learner import begin, load_learner, open_or_create
from classic.learning.teach import teach
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Example, Task

Tasks = tuple[Task, ...]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, quick_system: SystemConfig, toy_tasks: Tasks) -> bytes:
    store = open_or_create(tmp_path_factory.mktemp("made") / "starter.store", quick_system)
    first = toy_tasks[0]
    version, learner = teach(store, Task(STARTER, first.train, first.valid, first.test))
    return starter.pack(learner, {name: value for name, value in version.record.items() if name != "parent"})


@pytest.fixture
def shipped(packed: bytes, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(starter, "_shipped", lambda _: packed)
    return packed


def test_a_new_store_begins_with_the_starter_and_learns_on(
    shipped: bytes, tmp_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    store = open_or_create(tmp_path / "new.store", quick_system)
    assert store.domains() == [STARTER]
    teach(store, toy_tasks[1])
    assert store.domains() == [STARTER, toy_tasks[1].name]
    assert store.verify()
    assert load_learner(store).domains == store.domains()


def test_it_answers_in_memory_as_it_does_from_a_store(
    shipped: bytes, tmp_path: Path, quick_system: SystemConfig, toy_tasks: Tasks
) -> None:
    batch_of = starter.starter_learner(quick_system)
    stored = load_learner(open_or_create(tmp_path / "new.store", quick_system))
    examples = [Example(e.sentence, e.aspect) for e in toy_tasks[0].test]
    batch = batch_of.method.model.backbone.collate(examples)
    batch_of.method.eval()
    stored.method.eval()
    assert torch.equal(batch_of.method.logits(batch), stored.method.logits(batch))
    assert batch_of.temperature == stored.temperature


def test_it_is_left_out_where_it_is_not_wanted_or_does_not_fit(
    shipped: bytes, tmp_path: Path, quick_system: SystemConfig
) -> None:
    assert open_or_create(tmp_path / "scratch.store", quick_system, from_scratch=True).domains() == []
    assert begin(tmp_path / "bench.store", quick_system)[0].domains() == []
    other = SystemConfig.preset(method="hat", changes={"backbone.encoder": quick_system.backbone_config["encoder"]})
    assert open_or_create(tmp_path / "other.store", other).domains() == []
    with pytest.raises(StoreError, match="no starter"):
        starter.starter_learner(other)


@pytest.mark.parametrize("added", [{}, {"additions.shares": "set_aside", "additions.average": True}])
def test_plain_training_begins_with_the_same_network_without_its_masks(
    shipped: bytes, tmp_path: Path, quick_system: SystemConfig, toy_tasks: Tasks, added: dict[str, Any]
) -> None:
    masked = starter.starter_learner(quick_system)
    shapes = {f"backbone.{name}": value for name, value in quick_system.complete().backbone_config.items()}
    plain = SystemConfig.preset(method="ncl", changes=shapes | added | {"train.epochs": 1})
    store = open_or_create(tmp_path / "plain.store", plain)
    assert store.domains() == [STARTER]
    assert "masks" not in store.version().record
    learner = load_learner(store)
    batch = learner.method.model.backbone.collate([Example(e.sentence, e.aspect) for e in toy_tasks[0].test])
    masked.method.eval()
    learner.method.eval()
    shut = 1 - masked.method.gates.mask(0).float().mean()  # type: ignore[attr-defined]
    assert shut > 0  # else nothing would be shown
    assert torch.allclose(learner.method.logits(batch), masked.method.logits(batch), atol=1e-4)
    teach(store, toy_tasks[1])
    assert store.domains() == [STARTER, toy_tasks[1].name]


def test_a_kill_before_it_was_published_loses_nothing(
    shipped: bytes, tmp_path: Path, quick_system: SystemConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(store: Store, device: str = "cpu") -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(starter, "begin_with_starter", killed)
        with pytest.raises(KeyboardInterrupt):
            open_or_create(tmp_path / "new.store", quick_system)
    store = open_or_create(tmp_path / "new.store", quick_system)
    assert store.domains() == [STARTER]
    store.rollback(0)  # a person who goes back to the untaught model means it
    assert open_or_create(tmp_path / "new.store", quick_system).domains() == []


def test_a_damaged_starter_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoder, shipped in starter.SHIPPED.items():
        other = starter.Shipped(shipped.file, hashlib.sha256(b"another").hexdigest())
        monkeypatch.setitem(starter.SHIPPED, encoder, other)
        with pytest.raises(StoreError, match="damaged"):
            starter._shipped.__wrapped__(encoder)


@pytest.mark.parametrize("encoder", starter.SHIPPED)
def test_every_starter_fits_the_default_system_over_its_encoder(encoder: str) -> None:
    assert starter.fits(starter.starter_over(encoder))


def test_where_states_are_cached_and_how_answers_are_read_does_not_matter_to_the_starter() -> None:
    caches: tuple[dict[str, Any], ...] = ({"backbone.cache_folder": "states"}, {"backbone.cache_mb": 1})
    for changes in (*caches, {"additions.belief": 0.5}, {"additions.faded": 0.0}):
        assert starter.fits(SystemConfig.preset(changes=changes))
    for changes in ({"backbone.width": 64}, {"additions.average": False}):
        assert not starter.fits(SystemConfig.preset(changes=changes))
