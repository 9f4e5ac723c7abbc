"""DER++: its reservoir, its two draws, its terms, and that a memory survives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from classic.methods.derpp import Derpp
from classic.modules.heads import Head
from classic.modules.replay import Reservoir, example_facts, read_example, routed_logits
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import POLARITIES, Example, Polarity, Scenario, Step, Task

MakeSystem = Callable[..., SystemConfig]
STEP = Step(1, 0, 1, 0, 1)


def make(config: SystemConfig) -> Derpp:
    method = build(config, 0)
    assert isinstance(method, Derpp)
    return method


# --- the memory -------------------------------------------------------------------------------------------------------


def test_everything_ever_seen_is_kept_with_the_same_probability() -> None:
    items, capacity, rounds = 40, 8, 1500
    counts = torch.zeros(items)
    generator = torch.Generator().manual_seed(0)
    examples = [Example(str(number), "a") for number in range(items)]
    for _ in range(rounds):
        memory = Reservoir(capacity)
        for start in range(0, items, 5):
            memory.add(examples[start : start + 5], 0, torch.zeros(5, 3), generator)
        assert len({e.sentence for e in memory.examples}) == capacity
        for example in memory.examples:
            counts[int(example.sentence)] += 1
    expected = rounds * capacity / items
    # Drawn without replacement, the counts vary less than a multinomial's by the factor 1 - capacity / items.
    statistic = float(((counts - expected) ** 2 / expected).sum()) / (1 - capacity / items)
    assert 20 < statistic < 63  # chi-square with 39 degrees of freedom: 0.5 % lie below 20.0, 1 % above 62.4


def test_logits_stay_with_their_example() -> None:
    memory = Reservoir(4)
    generator = torch.Generator().manual_seed(2)
    for number in range(30):
        memory.add([Example(str(number), "a")], number, torch.full((1, 3), float(number)), generator)
    assert memory.seen == 30 and memory.logits.shape == (4, 3)
    for place, example in enumerate(memory.examples):
        assert memory.tasks[place] == int(example.sentence) == float(memory.logits[place, 0])
    assert sorted(memory.draw(9, generator)) == [0, 1, 2, 3]
    assert len(set(memory.draw(2, generator))) == 2


def test_an_example_comes_back_from_json() -> None:
    for example in (Example("Très bon!", "bon", Polarity.POSITIVE, (5, 8)), Example("x", "y", None, None)):
        assert read_example(json.loads(json.dumps(example_facts(example)))) == example


def test_every_example_goes_through_the_head_of_its_task() -> None:
    head = Head(4, Scenario.TIL, 0.0, torch.Generator())
    for task in range(3):
        head.start_task(POLARITIES[: 3 - task % 2], torch.Generator().manual_seed(task))
    features = torch.randn(6, 4)
    tasks = [2, 0, 1, 2, 1, 0]
    found = routed_logits(head, features, tasks)
    for row, task in enumerate(tasks):
        torch.testing.assert_close(found[row : row + 1], head(features[row : row + 1], task))
    assert torch.equal(routed_logits(head, features, [1] * 6), head(features, 1))


# --- learning ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=list(Scenario))
def taught(request: pytest.FixtureRequest, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> Derpp:
    changes = {"train.epochs": 2, "method.capacity": 20, "method.replay": 6, "train.selection": "last"}
    config = tiny_system(method="derpp", scenario=request.param, changes=changes)
    method = make(config)
    for task in toy_tasks[:2]:
        learn_task(method, task, config.train, Seeds(0))
    return method


def test_the_memory_holds_examples_of_both_tasks(taught: Derpp, toy_tasks: tuple[Task, ...]) -> None:
    assert taught.memory.seen == 2 * (24 + 24) and len(taught.memory) == 20
    assert set(taught.memory.tasks) == {0, 1}
    for example, task in zip(taught.memory.examples, taught.memory.tasks, strict=True):
        assert example in toy_tasks[task].train


def test_the_terms_are_the_formula_over_two_draws(taught: Derpp, toy_tasks: tuple[Task, ...]) -> None:
    method = taught.eval()  # no dropout: then every pass says the same
    method._seeds, method._examples = Seeds(7), toy_tasks[1].train
    batch = method.model.backbone.collate(toy_tasks[1].train[:4])
    terms = method.loss(batch, STEP)
    draws = [method.memory.draw(6, method._generator(name, STEP)) for name in ("logits", "labels")]
    assert draws[0] != draws[1]

    def said(places: list[int]) -> list[Tensor]:
        rows = []
        for place in places:
            single = method.model.backbone.collate([method.memory.examples[place]])
            rows.append(method.model(single, method.memory.tasks[place]).logits[0])
        return rows

    til = method.model.head.scenario is Scenario.TIL
    now, stored = [], []
    for place, row in zip(draws[0], said(draws[0]), strict=True):
        columns = list(method.model.head.columns[method.memory.tasks[place] if til else 0])
        now.append(row[columns])
        stored.append(method.memory.logits[place][columns])
    expected = 0.5 * mse_loss(torch.cat(now), torch.cat(stored))
    torch.testing.assert_close(terms["der"], expected, rtol=1e-4, atol=1e-6)
    labels = torch.tensor([method.memory.examples[place].polarity.column for place in draws[1]])  # type: ignore[union-attr]
    torch.testing.assert_close(
        terms["replay"], 0.5 * cross_entropy(torch.stack(said(draws[1])), labels), rtol=1e-4, atol=1e-6
    )


def test_stored_logits_are_those_of_the_step(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_system(method="derpp"))
    method.start_task(toy_tasks[0], Seeds(0))
    rows = [5, 2, 9]
    batch = method.model.backbone.collate([toy_tasks[0].train[row] for row in rows], rows)
    terms = method.eval().loss(batch, STEP)
    assert list(terms) == ["ce"]  # nothing to replay yet
    with torch.no_grad():
        said = method.model(batch).logits
        for parameter in method.weights():  # the optimiser's step
            parameter.add_(0.1)
    method.after_update(STEP)
    assert method.memory.examples == [toy_tasks[0].train[row] for row in rows]
    assert torch.equal(method.memory.logits, said)


def test_the_memory_goes_back_to_the_best_epoch_as_a_whole(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    flipped = {Polarity.POSITIVE: Polarity.NEGATIVE, Polarity.NEGATIVE: Polarity.POSITIVE, None: None}
    wrong = tuple(replace(example, polarity=flipped[example.polarity]) for example in toy_tasks[1].train)
    config = tiny_system(method="derpp", changes={"train.learning_rate": 0.02})
    method = make(config)
    log = learn_task(method, replace(toy_tasks[1], valid=wrong), config.train, Seeds(0))
    best = max(record["epoch"] for record in log.epochs if record["best"])
    assert best < 2
    assert len(method.memory) == len(method.memory.logits) == method.memory.seen == 24 * (best + 1)


def test_a_saved_memory_comes_back(taught: Derpp, tiny_system: MakeSystem) -> None:
    changes = {"method.capacity": 20, "method.replay": 6}
    again = make(tiny_system(method="derpp", scenario=taught.model.head.scenario, changes=changes))
    again.restore(json.loads(json.dumps(taught.facts())), taught.tensors())
    assert again.memory.facts() == taught.memory.facts()
    assert torch.equal(again.memory.logits, taught.memory.logits)
    assert Derpp.keeps_data
    assert again.bytes_kept() > 20 * 3 * 4 + sum(len(e.sentence) for e in taught.memory.examples)
