"""KAN: what its two phases may change, what a mask opens, and that a killed run ends with the same bytes."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.config import TrainConfig
from classic.errors import IncompatibleError
from classic.evaluation.answers import answer
from classic.methods.kan import ACCESSIBILITY, MAIN, Kan, KanConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.modules.recurrent import GruReader
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task
from classic.types import Batch, Scenario, Step, Task, TaskId

TRAIN = TrainConfig(learning_rate=0.01, epochs=3, large_epochs=3, batch_size=8)
STEP = Step(0, 0, 1, 0, 1)


def make(encoder: Path, scenario: Scenario = Scenario.DIL, config: KanConfig | None = None) -> Kan:
    backbone = BertFrozen(BertFrozenConfig(encoder=str(encoder), trunk="mean"), torch.Generator().manual_seed(0))
    head = Head(Kan.feature_width(backbone), scenario, 0.1, torch.Generator().manual_seed(1))
    return Kan(Model(backbone, head), config or KanConfig())


def kept(method: Kan) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


class Camera(NoWatcher):
    """Takes a picture of a method's tensors whenever a phase begins."""

    def __init__(self, method: Kan) -> None:
        self.method = method
        self.pictures: dict[str, dict[str, Tensor]] = {}

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        self.pictures[phase] = kept(self.method)


@pytest.fixture(scope="module")
def second_task(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> tuple[Kan, Camera]:
    """A method that has learned two tasks, with pictures of the second one's phases."""
    method = make(tiny_encoder)
    learn_task(method, toy_tasks[0], TRAIN, Seeds(0))
    camera = Camera(method)
    learn_task(method, toy_tasks[1], TRAIN, Seeds(0), watcher=camera)
    return method, camera


def changed(before: dict[str, Tensor], after: dict[str, Tensor], part: str) -> set[str]:
    return {name for name in before if name.startswith(part) and not torch.equal(before[name], after[name])}


def test_the_first_task_has_one_phase_and_the_whole_network(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_encoder)
    camera = Camera(method)
    learn_task(method, toy_tasks[0], TRAIN, Seeds(0), watcher=camera)
    assert list(camera.pictures) == [MAIN]
    assert torch.equal(method.mask(0), torch.ones(64))
    assert not changed(camera.pictures[MAIN], kept(method), "access")
    assert len(changed(camera.pictures[MAIN], kept(method), "main")) == 4


def test_the_accessibility_phase_leaves_the_main_network_alone(second_task: tuple[Kan, Camera]) -> None:
    _, camera = second_task
    assert list(camera.pictures) == [ACCESSIBILITY, MAIN]
    before, after = camera.pictures[ACCESSIBILITY], camera.pictures[MAIN]
    assert not changed(before, after, "main")
    assert len(changed(before, after, "access")) == 4
    assert changed(before, after, "embedding")


def test_closed_units_do_not_change_in_the_main_phase_and_open_ones_do(second_task: tuple[Kan, Camera]) -> None:
    method, camera = second_task
    before, after = camera.pictures[MAIN], kept(method)
    opened = method.mask(1).bool()
    assert 0 < int(opened.sum()) < len(opened)
    assert torch.equal(opened, before["embedding"] > 0)
    assert not changed(before, after, "access")
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        moved = (before[f"main.gru.{name}"] != after[f"main.gru.{name}"]).view(3, 64, -1)  # gate, unit, input
        assert not moved[:, ~opened].any(), name
        assert moved[:, opened].any(dim=(0, 2)).all(), name
    into = (before["main.gru.weight_hh_l0"] != after["main.gru.weight_hh_l0"]).view(3, 64, 64)
    assert into[:, opened][:, :, ~opened].any(), "an open unit may listen to a closed one in another way"


def test_the_gradient_is_masked_by_rows(tiny_encoder: Path) -> None:
    method = make(tiny_encoder)
    method.learned = 1
    opened = torch.zeros(64, dtype=torch.bool)
    opened[[3, 5]] = True
    with torch.no_grad():
        method.embedding.copy_(torch.where(opened, 1.0, -1.0))
    for parameter in method.main.parameters():
        parameter.grad = torch.ones_like(parameter)
    method.edit_gradients(STEP)
    for parameter in method.main.parameters():
        assert parameter.grad is not None
        gates = parameter.grad.view(3, 64, -1)
        assert (gates[:, opened] == 1).all()
        assert (gates[:, ~opened] == 0).all()


def test_the_scale_is_annealed_and_compensated(tiny_encoder: Path) -> None:
    for e in (-0.01, 0.0, 0.02):
        gradients = []
        for batch in (0, 2, 4):
            method = make(tiny_encoder)
            with torch.no_grad():
                method.embedding.fill_(e)
            method._soft(Step(1, 0, 1, batch, 5)).sum().backward()
            method._compensate()
            assert method.embedding.grad is not None
            gradients.append(float(method.embedding.grad[0]))
        expected = 400 / (2 * (torch.cosh(torch.tensor(e)) + 1))
        assert gradients == pytest.approx([float(expected)] * 3, rel=1e-2)


class Killed(Exception):
    """Stands for a kill."""


class KilledAfterSaving(Checkpoint):
    """Ends a run at its n-th save."""

    def __init__(self, path: Path, save: int) -> None:
        super().__init__(path, "job")
        self.left = save

    def save(self, tensors: dict[str, Tensor], counters: dict[str, Any]) -> None:
        super().save(tensors, counters)
        self.left -= 1
        if not self.left:
            raise Killed


@pytest.mark.parametrize("save", range(1, 7))
@pytest.mark.parametrize("scenario", list(Scenario))
def test_a_run_killed_in_either_phase_ends_with_the_same_bytes(
    scenario: Scenario, save: int, tiny_encoder: Path, toy_tasks: tuple[Task, ...], tmp_path: Path
) -> None:
    first = make(tiny_encoder, scenario)
    learn_task(first, toy_tasks[0], TRAIN, Seeds(0))
    facts, tensors = copy.deepcopy(first.facts()), kept(first)
    log = learn_task(first, toy_tasks[1], TRAIN, Seeds(0))

    def again() -> Kan:
        method = make(tiny_encoder, scenario)
        method.restore(facts, tensors)
        return method

    path = tmp_path / "checkpoint"
    with pytest.raises(Killed):
        learn_task(again(), toy_tasks[1], TRAIN, Seeds(0), KilledAfterSaving(path, save))
    resumed = again()
    resumed_log = learn_task(resumed, toy_tasks[1], TRAIN, Seeds(0), Checkpoint(path, "job"))
    assert equal(kept(first), kept(resumed))
    assert log.epochs == resumed_log.epochs


def padded(batch: Batch, more: int) -> Batch:
    states, mask = batch.inputs["states"], batch.inputs["mask"]
    return replace(
        batch,
        inputs={
            "states": torch.cat([states, torch.randn(len(batch), more, states.shape[2])], dim=1),
            "mask": torch.cat([mask, torch.zeros(len(batch), more, dtype=mask.dtype)], dim=1),
        },
    )


def test_padding_has_no_say(second_task: tuple[Kan, Camera], toy_tasks: tuple[Task, ...]) -> None:
    method = second_task[0].eval()
    batch = method.model.backbone.collate(toy_tasks[1].test)
    longer = padded(batch, 40)
    with torch.no_grad():
        for task in (None, 0, 1):
            assert torch.allclose(method.logits(batch, task), method.logits(longer, task), atol=1e-6)
        mask = method.mask(1)
        assert torch.allclose(method._through_access(batch, mask), method._through_access(longer, mask), atol=1e-6)


def test_the_last_state_is_that_of_the_last_real_token() -> None:
    torch.manual_seed(0)
    reader = GruReader(6)
    tokens = torch.randn(3, 5, 6)
    lengths = [2, 5, 3]
    mask = torch.tensor([[1] * n + [0] * (5 - n) for n in lengths])
    states, last = reader(tokens, mask)
    for row, length in enumerate(lengths):
        alone, _ = reader.gru(tokens[row : row + 1, :length])
        assert torch.allclose(last[row], alone[0, -1], atol=1e-6)
        assert torch.allclose(states[row, :length], alone[0], atol=1e-6)
        assert not states[row, length:].any()


@pytest.mark.parametrize("scenario", list(Scenario))
def test_learns_toy_tasks_and_keeps_the_masks_apart(
    scenario: Scenario, tiny_encoder: Path, toy_tasks: tuple[Task, ...]
) -> None:
    method = make(tiny_encoder, scenario)
    train = replace(TRAIN, epochs=12)
    for task in toy_tasks[:2]:
        learn_task(method, task, train, Seeds(0))
    truth = torch.tensor([e.polarity.column for e in toy_tasks[1].test if e.polarity])
    for rule in (TaskId.GIVEN, TaskId.LAST, *([TaskId.ENTROPY] if scenario is Scenario.DIL else [])):
        predicted = answer(method, toy_tasks[1].test, rule, 1).argmax(dim=1)
        assert float((predicted == truth).float().mean()) > 0.7, rule
    by_task = [answer(method, toy_tasks[0].test, TaskId.GIVEN, task) for task in (0, 1)]
    assert not torch.equal(*by_task)
    assert method.report() == {"accessible": float(method.mask(1).mean())}
    assert method.bytes_kept() == 2 * 64 // 8


@pytest.mark.parametrize("scenario", list(Scenario))
def test_a_restored_method_answers_the_same(
    scenario: Scenario, tiny_encoder: Path, toy_tasks: tuple[Task, ...]
) -> None:
    method = make(tiny_encoder, scenario)
    for task in toy_tasks[:2]:
        learn_task(method, task, replace(TRAIN, epochs=1), Seeds(0))
    other = make(tiny_encoder, scenario)
    other.restore(method.facts(), kept(method))
    for task in (0, 1):
        examples = toy_tasks[task].test
        assert torch.equal(*(answer(m, examples, TaskId.GIVEN, task) for m in (method, other)))


@pytest.mark.parametrize("width, beyond", [(768, 116_586_243 - 109_482_240), (300, 6_956_403 - 2 * 9_777 * 300)])
def test_as_many_parameters_as_in_the_paper(width: int, beyond: int) -> None:
    with torch.device("meta"):
        grus = [GruReader(width), GruReader(width)]
    one = sum(p.numel() for p in grus[0].parameters())
    assert one == 6 * width * width + 6 * width == {768: 3_543_552, 300: 541_800}[width]
    head = 3 * width + 3
    assert 2 * one + 19 * width + head == beyond


def test_the_built_method_has_just_those_parameters(tiny_encoder: Path) -> None:
    method = make(tiny_encoder)
    learned = sum(p.numel() for p in method.parameters() if p.requires_grad)
    assert learned == 2 * (6 * 64 * 64 + 6 * 64) + 64 + (3 * 64 + 3)  # one embedding: the others are kept as bits
    assert equal(kept(method), kept(make(tiny_encoder))), "an untaught method is the same every time"


def test_refused_where_token_states_change(tiny_encoder: Path) -> None:
    config = SystemConfig.preset(method="kan", changes={"backbone.encoder": str(tiny_encoder)})
    with pytest.raises(IncompatibleError, match="token states that never change"):
        build(config, 0)


def test_refused_where_aspect_and_sentence_are_kept_apart(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} 0.1 -0.2 0.3 0.4\n" for word in ("one", "word", "more")))
    changes = {"backbone.vectors": str(vectors), "backbone.trunk": "gated"}
    with pytest.raises(IncompatibleError, match="as one sequence"):
        build(SystemConfig.preset(method="kan", backbone="w2v", changes=changes), 0)
    method = build(SystemConfig.preset(method="kan", backbone="w2v", changes=changes | {"backbone.trunk": "mean"}), 0)
    assert method.model.head.features == 4
