"""Folding: the same logits without the gates and without the dead units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from classic.learning.learner import Learner, load_learner, open_or_create
from classic.learning.teach import teach
from classic.modules.folded import FoldedAdapter
from classic.prediction.folding import Folded, can_fold, fold
from classic.prediction.predictor import Predictor
from classic.store.store import Store
from classic.systems.system import SystemConfig
from classic.types import Example, Scenario, Task

Tasks = tuple[Task, ...]
Make = Callable[..., SystemConfig]


@pytest.fixture(scope="module")
def learner(taught_path: Path) -> Learner:
    return load_learner(Store.open(taught_path))


@pytest.fixture(scope="module")
def texts(toy_tasks: Tasks) -> list[Example]:
    return [example for task in toy_tasks for example in task.test]


def adapters(folded: Folded) -> list[FoldedAdapter]:
    return [module for module in folded.modules() if isinstance(module, FoldedAdapter)]


def gap(learner: Learner, texts: list[Example], domain: str | None = None) -> float:
    """Between the folded predictor and the one that shows masks to gates."""
    plain = Predictor(learner, 1, folded=False).logits(texts, domain)
    folded = Predictor(learner, 1).logits(texts, domain)
    assert torch.equal(plain.argmax(dim=1), folded.argmax(dim=1))
    return float((plain - folded).abs().max())


def test_the_newest_model_says_the_same(learner: Learner, texts: list[Example]) -> None:
    assert can_fold(learner.method)
    assert gap(learner, texts) < 1e-5


@pytest.mark.parametrize("task", [0, 1])
def test_earlier_models_say_the_same(learner: Learner, texts: list[Example], task: int) -> None:
    assert gap(learner, texts, learner.domains[task]) < 1e-5


def test_dead_units_are_gone(learner: Learner) -> None:
    method = learner.method
    newest = method.gates.mask(method.learned - 1).split(method.gates.sizes)
    assert not torch.cat(newest).all()
    for number, adapter in enumerate(adapters(fold(learner))):
        assert adapter.down.out_features == int(newest[2 * number].sum())
        assert adapter.up.out_features == int(newest[2 * number + 1].sum())


def test_dead_units_of_both_layers_may_be_anywhere(learner: Learner, texts: list[Example]) -> None:
    fresh = load_learner_again(learner)
    torch.manual_seed(0)
    bits = fresh.method.gates.bits
    fresh.method.gates.bits = torch.cat([bits[:-1], torch.randint(0, 256, bits[-1:].shape, dtype=torch.uint8)])
    assert all(adapter.place is not None for adapter in adapters(fold(fresh)))
    assert gap(fresh, texts) < 1e-5


def test_a_gate_that_is_forgotten_would_be_noticed(learner: Learner, texts: list[Example]) -> None:
    """The proof that the comparison can fail: with one living unit less the answers are others."""
    folded = fold(learner)
    batch = folded.tokenizer.collate(texts)
    before = folded(**batch.inputs)[0]
    adapters(folded)[0].down.bias.data[0] += 1.0
    assert float((folded(**batch.inputs)[0] - before).abs().max()) > 1e-5


def test_folding_leaves_the_model_as_it_was(learner: Learner, texts: list[Example]) -> None:
    before = {name: value.clone() for name, value in learner.tensors().items()}
    fold(learner, 0)
    assert all(torch.equal(value, before[name]) for name, value in learner.tensors().items())


@pytest.mark.parametrize("method", ["ncl", "hat", "ewc"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_other_methods_and_features(
    tmp_path: Path, tiny_system: Make, toy_tasks: Tasks, texts: list[Example], method: str, pooling: str
) -> None:
    changes = {"backbone.width": 8, "backbone.pooling": pooling, "train.epochs": 1}
    store = open_or_create(tmp_path / "store", tiny_system(method=method, changes=changes))
    _, learner = teach(store, toy_tasks[0])
    assert gap(learner, texts) < 1e-5


def test_masks_over_a_whole_encoder(tmp_path: Path, tiny_encoder: Path, toy_tasks: Tasks, texts: list[Example]) -> None:
    changes = {"backbone.encoder": str(tiny_encoder), "train.epochs": 1, "train.precision": "float32"}
    store = open_or_create(tmp_path / "store", SystemConfig.preset(backbone="bert", changes=changes))
    for task in toy_tasks[:2]:
        _, learner = teach(store, task)
    gates = learner.method.gates
    torch.manual_seed(0)
    shut = torch.randint(0, 256, gates.bits[-1:].shape, dtype=torch.uint8)
    gates.bits = torch.cat([gates.bits[:-1], shut])
    assert gap(learner, texts) < 1e-5
    living = [int(part.sum()) for part in gates.mask(1).split(gates.sizes)]
    assert [layer.intermediate.out_features for layer in fold(learner).layers] == living  # type: ignore[union-attr]


def test_adapters_in_the_upper_layers_only(
    tmp_path: Path, tiny_system: Make, toy_tasks: Tasks, texts: list[Example]
) -> None:
    changes = {"backbone.width": 8, "backbone.layers": 1, "train.epochs": 1}
    store = open_or_create(tmp_path / "store", tiny_system(changes=changes))
    _, learner = teach(store, toy_tasks[0])
    assert len(adapters(fold(learner))) == 2
    assert gap(learner, texts) < 1e-5


def test_a_head_without_neutral_never_says_neutral(
    tmp_path: Path, tiny_system: Make, toy_tasks: Tasks, texts: list[Example]
) -> None:
    config = tiny_system(scenario=Scenario.TIL, changes={"backbone.width": 8, "train.epochs": 1})
    store = open_or_create(tmp_path / "store", config)
    for task in toy_tasks[:2]:
        _, learner = teach(store, task)
    for domain in learner.domains:
        assert gap(learner, texts, domain) < 1e-5
    assert not (Predictor(learner, 1).logits(texts, learner.domains[1]).argmax(dim=1) == 2).any()


def test_relatives_of_bert_say_the_same(tmp_path: Path, relative: Path, tiny_system: Make, toy_tasks: Tasks) -> None:
    changes = {"backbone.encoder": str(relative), "backbone.width": 8, "train.epochs": 1}
    _, learner = teach(open_or_create(tmp_path / "store", tiny_system(changes=changes)), toy_tasks[0])
    short, long = toy_tasks[0].test[0], Example("the soup is good, but the waiter was very slow today", "waiter")
    assert gap(learner, [short, long]) < 1e-5  # in one batch, so that one of them is padded


def test_what_is_not_a_plain_network_is_not_folded(tmp_path: Path, tiny_system: Make, toy_tasks: Tasks) -> None:
    config = tiny_system(method="bcl", scenario=Scenario.TIL, changes={"backbone.width": 8, "train.epochs": 1})
    store = open_or_create(tmp_path / "store", config)
    _, learner = teach(store, toy_tasks[0])
    assert not can_fold(learner.method)
    assert Predictor(learner, 1).predict("the screen is good", ["screen"], domain=learner.domains[0])


def load_learner_again(learner: Learner) -> Learner:
    import copy

    return copy.deepcopy(learner)
