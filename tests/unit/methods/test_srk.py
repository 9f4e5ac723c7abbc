"""SRK: its cell against a slow loop, and that protection goes to the units whose activity earned it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.config import TrainConfig
from classic.evaluation.answers import answer
from classic.methods.srk import Srk, SrkConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.modules.recurrent import ClippedGru, GruReader, leaky_clip
from classic.seeding import Seeds
from classic.training.checkpoint import Checkpoint
from classic.training.loop import NoWatcher, learn_task
from classic.types import Scenario, Step, Task, TaskId

TRAIN = TrainConfig(learning_rate=0.01, epochs=3, large_epochs=3, batch_size=8)


def make(encoder: Path, scenario: Scenario = Scenario.DIL, config: SrkConfig | None = None) -> Srk:
    backbone = BertFrozen(BertFrozenConfig(encoder=str(encoder), trunk="mean"), torch.Generator().manual_seed(0))
    head = Head(Srk.feature_width(backbone), scenario, 0.1, torch.Generator().manual_seed(1))
    return Srk(Model(backbone, head), config or SrkConfig())


def kept(method: Srk) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in method.tensors().items()}


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


# --- the cell --------------------------------------------------------------------------------------------------------


def slow_phi(x: float, leak: float) -> float:
    if x <= 0:
        return leak * x
    return 0.9 + leak * x if x >= 0.9 else x


def slow_cell(cell: ClippedGru, tokens: list[list[float]], width: int) -> list[list[float]]:
    """The states of one text, number by number."""
    w, b = cell.from_input.weight.tolist(), cell.from_input.bias.tolist()
    u, c = cell.from_state.weight.tolist(), cell.from_state.bias.tolist()
    state, states = [0.0] * width, []
    for x in tokens:
        after = []
        for unit in range(width):
            seen, said = [], []
            for gate in range(3):
                row = gate * width + unit
                seen.append(sum(w[row][j] * x[j] for j in range(width)) + b[row])
                said.append(sum(u[row][j] * state[j] for j in range(width)) + c[row])
            reset, update = (1 / (1 + math.exp(-seen[gate] - said[gate])) for gate in (0, 1))
            candidate = slow_phi(seen[2] + reset * said[2], cell.leak)
            after.append((1 - update) * candidate + update * state[unit])
        state = after
        states.append(state)
    return states


def test_the_cell_against_a_slow_loop() -> None:
    torch.manual_seed(0)
    width, lengths = 4, [3, 6, 1]
    cell = ClippedGru(width, 0.01).double()
    tokens = 3 * torch.randn(3, 6, width, dtype=torch.float64)
    mask = torch.tensor([[1] * n + [0] * (6 - n) for n in lengths])
    states, last = cell(tokens, mask)
    for row, length in enumerate(lengths):
        expected = torch.tensor(slow_cell(cell, tokens[row, :length].tolist(), width), dtype=torch.float64)
        assert torch.allclose(states[row, :length], expected)
        assert torch.allclose(last[row], expected[-1])
        assert not states[row, length:].any()


def test_the_clip_is_linear_between_0_and_09() -> None:
    values = [-2.0, 0.0, 0.3, 0.8999, 0.9, 5.0]
    found = leaky_clip(torch.tensor(values, dtype=torch.float64), 0.01).tolist()
    assert found == pytest.approx([slow_phi(value, 0.01) for value in values])
    assert found == pytest.approx([-0.02, 0.0, 0.3, 0.8999, 0.909, 0.95])


def test_with_tanh_the_cell_is_a_gru(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    cell, reader = ClippedGru(5, 0.01), GruReader(5)
    with torch.no_grad():
        for own, other in zip(
            cell.parameters(), ("weight_ih_l0", "bias_ih_l0", "weight_hh_l0", "bias_hh_l0"), strict=True
        ):
            getattr(reader.gru, other).copy_(own)
    monkeypatch.setattr("classic.modules.recurrent.leaky_clip", lambda x, leak: torch.tanh(x))
    tokens, mask = torch.randn(2, 4, 5), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])
    for own_states, states in zip(cell(tokens, mask), reader(tokens, mask), strict=True):
        assert torch.allclose(own_states, states, atol=1e-6)


# --- partial update --------------------------------------------------------------------------------------------------


def test_a_mask_goes_back_to_its_own_units(tiny_encoder: Path) -> None:
    method = make(tiny_encoder)
    method.learned = 2
    activity = torch.rand(64, generator=torch.Generator().manual_seed(3)) * 50
    free = method.free(activity)
    order = torch.randperm(64, generator=torch.Generator().manual_seed(4))
    assert torch.equal(method.free(activity[order]), free[order])
    blocked = int((free == 0).sum())
    assert blocked == 64 - int(method.share() * 64)
    assert set(activity.topk(blocked).indices.tolist()) == set((free == 0).nonzero().flatten().tolist())
    scaled = (activity - activity.min()) / (activity.max() - activity.min())
    assert torch.allclose(free[free > 0], (1 - scaled)[free > 0])
    assert free[activity.argmin()] == 1


def test_the_share_falls_from_all_to_the_floor(tiny_encoder: Path) -> None:
    method = make(tiny_encoder, config=SrkConfig(leak=0.001, floor=0.1))
    shares = []
    for learned in range(100):
        method.learned = learned
        shares.append(method.share())
    assert shares[0] == 1
    assert shares[1] == pytest.approx(0.9 * math.exp(-0.1) + 0.1)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == pytest.approx(0.1, abs=1e-3)


def test_units_that_are_all_alike_are_as_free_as_can_be(tiny_encoder: Path) -> None:
    method = make(tiny_encoder)
    assert torch.equal(method.free(torch.full((64,), 7.0)), torch.ones(64))


class Picture(NoWatcher):
    """A method's tensors at the start of a task's training."""

    def __init__(self, method: Srk) -> None:
        self.method = method
        self.tensors: dict[str, Tensor] = {}

    def on_start(self, task: str, phase: str, epochs: int, batches: int, done: int) -> None:
        self.tensors = kept(self.method)


def test_blocked_columns_stand_still_from_the_second_task_on(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_encoder, config=SrkConfig(decay=10.0))
    first = Picture(method)
    learn_task(method, toy_tasks[0], TRAIN, Seeds(0), watcher=first)
    assert (first.tensors["krn.from_state.weight"] != method.krn.from_state.weight).any(dim=0).all()
    second = Picture(method)
    inputs, states = method.input_activity.clone(), method.state_activity.clone()
    learn_task(method, toy_tasks[1], TRAIN, Seeds(0), watcher=second)
    free_inputs, free_states = method._free_inputs, method._free_states
    assert int((free_inputs > 0).sum()) == int((free_states > 0).sum()) == int(0.2 * 64)
    before, after = second.tensors, kept(method)
    for name, free in (("krn.from_input", free_inputs), ("krn.from_state", free_states)):
        moved = (before[f"{name}.weight"] != after[f"{name}.weight"]).any(dim=0)
        assert torch.equal(moved, free > 0), name
        bias = (before[f"{name}.bias"] != after[f"{name}.bias"]).view(3, 64)
        assert not bias[:, free_states == 0].any(), name
    assert not torch.equal(before["fln.gru.weight_hh_l0"], after["fln.gru.weight_hh_l0"])
    assert (method.input_activity > inputs).all()
    assert (method.state_activity >= states).all()


def test_the_more_active_a_unit_was_the_less_its_weights_move(
    tiny_encoder: Path, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam divides a gradient by its size: only a scaled update is a smaller one."""
    method = make(tiny_encoder)
    learn_task(method, toy_tasks[0], TRAIN, Seeds(0))
    graded = torch.where(torch.arange(64) % 2 == 0, 1.0, 0.01)
    monkeypatch.setattr(method, "free", lambda activity: graded)
    picture = Picture(method)
    learn_task(method, toy_tasks[1], TRAIN, Seeds(0), watcher=picture)
    for name in ("krn.from_input.weight", "krn.from_state.weight"):
        moved = (kept(method)[name] - picture.tensors[name]).abs().mean(dim=0)
        assert float(moved[1::2].mean()) < 0.05 * float(moved[::2].mean()), name


def test_activity_is_counted_over_real_tokens(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_encoder)
    learn_task(method, toy_tasks[0], TRAIN, Seeds(0))
    expected_inputs, expected_states = torch.zeros(64), torch.zeros(64)
    with torch.no_grad():
        for example in toy_tasks[0].train:
            batch = method.model.backbone.collate([example])
            states, _ = method.krn(batch.inputs["states"], batch.inputs["mask"])
            expected_inputs += batch.inputs["states"][0].abs().sum(dim=0)
            expected_states += states[0].abs().sum(dim=0)
    assert torch.allclose(method.input_activity, expected_inputs, rtol=1e-4)
    assert torch.allclose(method.state_activity, expected_states, rtol=1e-4)


# --- the method ------------------------------------------------------------------------------------------------------


def test_every_head_learns_from_its_own_network(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_encoder)
    method.start_task(toy_tasks[0], Seeds(0))
    terms = method.loss(method.model.backbone.collate(toy_tasks[0].train), Step(0, 0, 1, 0, 1))
    assert list(terms) == ["ce", "ce_fln", "ce_krn"]
    parts: dict[str, nn.Module] = {"ce": method.model.head, "ce_fln": method.fln_head, "ce_krn": method.krn_head}
    for term, value in terms.items():
        for name, head in parts.items():
            gradients = torch.autograd.grad(value, list(head.parameters()), retain_graph=True, allow_unused=True)
            assert all((g is not None) == (name == term) for g in gradients)
    krn_alone = torch.autograd.grad(
        terms["ce_krn"], list(method.fln.parameters()), retain_graph=True, allow_unused=True
    )
    assert all(g is None for g in krn_alone)


def test_padding_has_no_say(tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_encoder)
    learn_task(method, toy_tasks[0], TRAIN, Seeds(0))
    method.eval()
    batch = method.model.backbone.collate(toy_tasks[0].test)
    states, mask = batch.inputs["states"], batch.inputs["mask"]
    longer = {
        "states": torch.cat([states, torch.randn(len(batch), 30, 64)], dim=1),
        "mask": torch.cat([mask, torch.zeros(len(batch), 30, dtype=mask.dtype)], dim=1),
    }
    with torch.no_grad():
        assert torch.allclose(method.logits(batch), method.logits(replace(batch, inputs=longer)), atol=1e-6)


@pytest.mark.parametrize("scenario", list(Scenario))
def test_learns_toy_tasks_and_is_restored(scenario: Scenario, tiny_encoder: Path, toy_tasks: tuple[Task, ...]) -> None:
    method = make(tiny_encoder, scenario)
    for task in toy_tasks[:2]:
        learn_task(method, task, replace(TRAIN, epochs=12), Seeds(0))
    truth = torch.tensor([e.polarity.column for e in toy_tasks[1].test if e.polarity])
    predicted = answer(method, toy_tasks[1].test, TaskId.GIVEN, 1).argmax(dim=1)
    assert float((predicted == truth).float().mean()) > 0.7
    other = make(tiny_encoder, scenario)
    other.restore(method.facts(), kept(method))
    for task in (0, 1):
        assert torch.equal(*(answer(m, toy_tasks[0].test, TaskId.GIVEN, task) for m in (method, other)))
    assert method.bytes_kept() == 2 * 64 * 4


class Killed(Exception):
    """Stands for a kill."""


class Killer(NoWatcher):
    """Ends a run in its second epoch."""

    def on_step(self, step: Step, terms: dict[str, float]) -> None:
        if step.epoch == 1:
            raise Killed


def test_a_killed_run_ends_with_the_same_bytes(tiny_encoder: Path, toy_tasks: tuple[Task, ...], tmp_path: Path) -> None:
    first = make(tiny_encoder)
    learn_task(first, toy_tasks[0], TRAIN, Seeds(0))
    facts, tensors = copy.deepcopy(first.facts()), kept(first)
    learn_task(first, toy_tasks[1], TRAIN, Seeds(0))
    checkpoint = Checkpoint(tmp_path / "checkpoint", "job")
    for watcher in (Killer(), None):
        method = make(tiny_encoder)
        method.restore(facts, tensors)
        if watcher:
            with pytest.raises(Killed):
                learn_task(method, toy_tasks[1], TRAIN, Seeds(0), checkpoint, watcher)
        else:
            learn_task(method, toy_tasks[1], TRAIN, Seeds(0), checkpoint)
            assert equal(kept(first), kept(method))


@pytest.mark.parametrize("width, beyond", [(768, 117_755_913 - 109_482_240), (300, 7_132_509 - 2 * 9_777 * 300)])
def test_as_many_parameters_as_in_the_paper(width: int, beyond: int) -> None:
    with torch.device("meta"):
        networks: list[nn.Module] = [GruReader(width), ClippedGru(width, 0.01)]
        networks += [nn.Linear(width, width, bias=False) for _ in range(2)] + [nn.Linear(width, 3) for _ in range(3)]
    assert sum(p.numel() for network in networks for p in network.parameters()) == beyond


def test_the_built_method_has_just_those_parameters(tiny_encoder: Path) -> None:
    method = make(tiny_encoder)
    learned = sum(p.numel() for p in method.parameters() if p.requires_grad)
    assert learned == 2 * (6 * 64 * 64 + 6 * 64) + 2 * 64 * 64 + 3 * (3 * 64 + 3)
    assert equal(kept(method), kept(make(tiny_encoder))), "an untaught method is the same every time"
