"""Joined sentences: what may be joined, what stays, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import torch

from classic.config import TrainConfig
from classic.errors import InputError
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.joining import join_sentences
from classic.training.loop import Silence, learn_task
from classic.types import Batch, Example, Polarity, Step, Task

MakeSystem = Callable[..., SystemConfig]
GOOD, BAD = Polarity.POSITIVE, Polarity.NEGATIVE
SOUP = Example("The soup was great!", "soup", GOOD, (4, 8))
WAITER = Example("Our waiter was rude.", "waiter", BAD, (4, 10))


def rounds(examples: list[Example], count: int = 100, share: float = 1.0) -> list[list[Example]]:
    return [join_sentences(examples, share, Random(seed)) for seed in range(count)]


def test_the_aspect_its_polarity_and_its_place_stay() -> None:
    for joined in rounds([SOUP, WAITER]):
        for before, after in zip([SOUP, WAITER], joined, strict=True):
            assert (after.aspect, after.polarity) == (before.aspect, before.polarity)
            assert after.span is not None
            assert after.sentence[slice(*after.span)] == before.aspect


def test_both_sentences_are_there_in_either_order() -> None:
    texts = {joined[0].sentence for joined in rounds([SOUP, WAITER]) if joined[0] is not SOUP}
    assert all("The soup was great" in text and "Our waiter was rude" in text for text in texts)
    assert {text.index("soup") < text.index("waiter") for text in texts} == {True, False}
    assert "The soup was great but Our waiter was rude." in texts
    assert "Our waiter was rude. The soup was great!" in texts


def test_the_other_sentence_does_not_contain_the_aspect() -> None:
    again = Example("I hated the SOUP", "chair", BAD)
    assert all(joined[0] is SOUP for joined in rounds([SOUP, again]))
    assert all(joined[0] is SOUP for joined in rounds([SOUP]))


def test_an_aspect_that_is_not_in_its_sentence_is_left_alone() -> None:
    implied = Example("It is too expensive.", "price", BAD)
    for joined in rounds([implied, SOUP]):
        assert joined[0] is implied


def test_an_aspect_is_never_cut_off() -> None:
    dotted = Example("I like the usual etc.", "etc.", GOOD)
    for joined in rounds([dotted, WAITER]):
        assert joined[0] is dotted or "etc." in joined[0].sentence


def test_another_polarity_is_preferred() -> None:
    others = [Example(f"The {name} was fine.", name, GOOD) for name in ("fish", "rice", "tea")]
    examples = [SOUP, *others, WAITER, Example("A dirty table.", "table", BAD)]
    joined = [one[0].sentence for one in rounds(examples, 1000) if one[0] is not SOUP]
    share = sum("waiter" in text or "table" in text for text in joined) / len(joined)
    assert share > 0.5  # two of the five others: 0.4 if it were drawn only once


def test_the_share_is_a_probability_and_the_draw_decides() -> None:
    examples = [SOUP, WAITER] * 200
    joined = join_sentences(examples, 0.5, Random(3))
    count = sum(after is not before for before, after in zip(examples, joined, strict=True))
    assert 120 < count < 220  # a few cannot be: all four sentences drawn may hold the aspect
    assert joined == join_sentences(examples, 0.5, Random(3)) != join_sentences(examples, 0.5, Random(4))
    assert join_sentences(examples, 0.0, Random(3)) == examples


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_no_probability_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"train\.joined"):
        TrainConfig(joined=share)


def test_what_was_published_joins_nothing() -> None:
    assert {SystemConfig.preset(name).train.joined for name in ("paper", "authors")} == {0.0}


# --- in the loop ---


def seen_batches(config: SystemConfig, task: Task, method_seed: int = 0) -> list[Batch]:
    """Every batch a method is given while it learns a task."""
    method, seen = build(config, method_seed), []
    loss = method.loss

    def watch(batch: Batch, step: Step) -> Any:
        seen.append(batch)
        return loss(batch, step)

    method.loss = watch  # type: ignore[method-assign]
    learn_task(method, task, config.train, Seeds(0))
    return seen


def test_a_method_is_told_which_texts_were_joined(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config, task = tiny_system(method="ncl", changes={"train.joined": 0.5}), toy_tasks[0]
    method = build(config, 0)
    told = []
    for batch in seen_batches(config, task):
        assert batch.joined is not None
        told += batch.joined.tolist()
        plain = method.model.backbone.collate([task.train[row] for row in batch.rows.tolist()])
        assert torch.equal(batch.labels, plain.labels)
        longer = batch.inputs["attention_mask"].sum(dim=1) > plain.inputs["attention_mask"].sum(dim=1)
        assert torch.equal(longer, batch.joined)
        assert torch.equal(batch.as_read, (~batch.joined).nonzero().flatten())
    assert 0 < sum(told) < len(told)


def test_nobody_is_told_anything_where_nothing_is_joined(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    for batch in seen_batches(tiny_system(method="ncl", changes={"train.joined": 0.0}), toy_tasks[0]):
        assert batch.joined is None
        assert batch.as_read.tolist() == list(range(len(batch)))


def test_a_text_that_would_be_cut_is_not_joined(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    method = build(tiny_system(method="ncl"), 0)
    longest = max(method.model.backbone.lengths(toy_tasks[0].train))
    changes = {"train.joined": 1.0, "backbone.max_length": longest}
    seen = seen_batches(tiny_system(method="ncl", changes=changes), toy_tasks[0])
    assert not any(bool(batch.joined.any()) for batch in seen if batch.joined is not None)


def test_every_epoch_joins_anew_and_a_second_run_the_same(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="ncl", changes={"train.joined": 0.5})
    first, again = (seen_batches(config, toy_tasks[0]) for _ in range(2))
    assert all(torch.equal(a.inputs["input_ids"], b.inputs["input_ids"]) for a, b in zip(first, again, strict=True))
    epochs = [{int(row) for b in first[i : i + 3] for row in b.rows[b.joined]} for i in (0, 3, 6)]
    assert epochs[0] != epochs[1] != epochs[2]


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_earlier_models_speak_of_texts_as_they_were_read_only(
    share: float, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(changes={"train.joined": share})
    method = build(config, 0)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    distillation, rows, terms = method._distillation, [], []

    def watch_rows(student: torch.Tensor, labels: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        rows.append(asked.tolist())
        assert len(student) == len(asked) == len(labels)
        return distillation(student, labels, asked)

    class Watch(Silence):
        def on_step(self, step: Step, found: dict[str, float]) -> None:
            terms.append(set(found))

    method._distillation = watch_rows
    learn_task(method, toy_tasks[1], config.train, Seeds(0), watcher=Watch())
    count = len(toy_tasks[1].train) * config.train.epochs
    asked = sum(len(each) for each in rows)
    assert asked < 0.2 * count if share == 1.0 else 0.3 * count < asked < 0.8 * count
    assert not all(rows)  # a batch of texts that were all joined is no trouble
    assert all({"ce", "csc", "ced", "cks"} <= each for each in terms)  # 0 where nothing is known, but never missing


def test_the_memory_of_derpp_holds_training_examples_word_for_word(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    config = tiny_system(method="derpp", changes={"train.joined": 0.5})
    method = build(config, 0)
    for task in toy_tasks[:2]:
        learn_task(method, task, config.train, Seeds(0))
    known = set(toy_tasks[0].train + toy_tasks[1].train)
    assert len(method.memory) > 20
    assert set(method.memory.examples) <= known


@pytest.mark.parametrize("layers", [1, None])
def test_states_below_the_first_adapter_are_those_of_the_joined_text(
    layers: int | None, tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    changes = {"train.joined": 0.5, "backbone.layers": layers}
    batch = next(b for b in seen_batches(tiny_system(method="ncl", changes=changes), toy_tasks[0]))
    if layers is not None:
        assert batch.inputs["states"].shape[:2] == batch.inputs["input_ids"].shape
    moved = replace(batch).to("cpu")
    assert moved.joined is not None
    assert torch.equal(moved.joined, batch.joined)
