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
from classic.training.loop import NoWatcher, learn_task
from classic.types import Batch, Example, Polarity, Step, Task

MakeSystem = Callable[..., SystemConfig]
GOOD, BAD = Polarity.POSITIVE, Polarity.NEGATIVE
SOUP = Example("The soup was great!", "soup", GOOD, (4, 8))
WAITER = Example("Our waiter was rude.", "waiter", BAD, (4, 10))
SEP = 3  # in the tiny vocabulary; padding is 0
MANY = (("fish", GOOD), ("rice", GOOD), ("tea", GOOD), ("bill", BAD))


def rounds(examples: list[Example], count: int = 100, share: float = 1.0) -> list[list[Example]]:
    return [join_sentences(examples, share, Random(seed))[0] for seed in range(count)]


def test_the_aspect_its_polarity_and_its_place_stay() -> None:
    for joined in rounds([SOUP, WAITER]):
        for before, after in zip([SOUP, WAITER], joined, strict=True):
            assert (after.aspect, after.polarity) == (before.aspect, before.polarity)
            assert after.span is not None
            assert after.sentence[slice(*after.span)] == before.aspect


def test_one_text_is_asked_about_both_halves_in_either_order() -> None:
    texts = set()
    for joined in rounds([SOUP, WAITER]):
        assert joined[0].sentence == joined[1].sentence
        texts.add(joined[0].sentence)
    assert all("The soup was great" in text and "Our waiter was rude" in text for text in texts)
    assert {text.index("soup") < text.index("waiter") for text in texts} == {True, False}
    assert "The soup was great but Our waiter was rude." in texts
    assert "Our waiter was rude. The soup was great!" in texts


def test_no_half_contains_the_aspect_of_the_other() -> None:
    again = Example("I hated the SOUP and the chair", "chair", BAD)
    assert all(joined == [SOUP, again] for joined in rounds([SOUP, again]))
    assert all(joined == [again, SOUP] for joined in rounds([again, SOUP]))
    assert all(joined == [SOUP] for joined in rounds([SOUP]))
    assert rounds([]) == [[]] * 100


def test_an_aspect_that_is_not_in_its_sentence_is_left_alone() -> None:
    implied = Example("It is too expensive.", "price", BAD)
    for joined in rounds([implied, SOUP, WAITER]):
        assert joined[0] is implied
        assert joined[1] is not SOUP


def test_an_aspect_is_never_cut_off() -> None:
    dotted = Example("I like the usual etc.", "etc.", GOOD)
    texts = [joined[0].sentence for joined in rounds([dotted, WAITER])]
    assert all("etc." in text for text in texts)
    assert any("waiter" in text for text in texts)


def test_another_polarity_is_preferred() -> None:
    examples = [Example(f"The {name}{i} was so.", f"{name}{i}", label) for i in range(30) for name, label in MANY]
    differ = total = 0
    for seed in range(20):
        joined, pairs = join_sentences(examples, 1.0, Random(seed))
        differ += sum(joined[row].polarity is not joined[mate].polarity for row, mate in pairs)
        total += len(pairs)
    assert 0.45 < differ / total <= 0.5  # 0.38 if the first that fits were taken; a quarter is bad, so 0.5 is all


def test_pairs_are_the_rows_that_share_a_text() -> None:
    examples = [Example(f"The {name}{i} was so.", f"{name}{i}", label) for i in range(30) for name, label in MANY]
    joined, pairs = join_sentences(examples, 0.5, Random(0))
    told = {row for pair in pairs for row in pair}
    assert len(told) == 2 * len(pairs)
    assert told == {row for row, example in enumerate(examples) if joined[row] is not example}
    assert all(joined[row].sentence == joined[mate].sentence for row, mate in pairs)


def test_the_share_is_a_probability_and_the_draw_decides() -> None:
    examples = [SOUP, WAITER] * 200
    joined, pairs = join_sentences(examples, 0.5, Random(3))
    assert 120 < 2 * len(pairs) < 220
    assert (joined, pairs) == join_sentences(examples, 0.5, Random(3)) != join_sentences(examples, 0.5, Random(4))
    assert join_sentences(examples, 0.0, Random(3)) == (examples, [])


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_no_probability_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"train\.joined"):
        TrainConfig(joined=share)


def test_only_encoders_that_learn_join_anything_and_only_by_default() -> None:
    assert {SystemConfig.preset(backbone=name).train.joined for name in ("bert", "bert_adapter")} == {0.5}
    assert {SystemConfig.preset(name).train.joined for name in ("paper", "authors")} == {0.0}
    assert SystemConfig.preset(quick=True).train.joined == 0
    assert {SystemConfig.preset(method="ncl", backbone=name).train.joined for name in ("bert_frozen", "w2v")} == {0.0}
    assert SystemConfig.preset(method="lamol", backbone="gpt2").train.joined == 0


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
    for batch in first:  # both questions about a text in one batch: 24 rows are one bucket, and a batch has 8
        assert batch.joined is not None
        rows = batch.inputs["input_ids"][batch.joined].tolist()
        texts = [tuple(token for token in row[row.index(SEP) :] if token) for row in rows]
        assert sum(texts.count(text) == 1 for text in texts) <= 2
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

    class Watch(NoWatcher):
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
