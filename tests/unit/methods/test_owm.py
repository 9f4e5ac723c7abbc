"""OWM: the projector against its formula, and that later tasks do not disturb what earlier ones were given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from classic.backbones.bert_frozen import BertFrozen, BertFrozenConfig
from classic.errors import IncompatibleError
from classic.methods.owm import Owm, OwmConfig
from classic.model import Model
from classic.modules.heads import Head
from classic.modules.projection import Projector, inputs_of, joined
from classic.seeding import Seeds
from classic.systems.system import SystemConfig, build
from classic.training.loop import learn_task
from classic.types import Scenario, Task

MakeSystem = Callable[..., SystemConfig]


def make(config: SystemConfig) -> Owm:
    method = build(config, 0)
    assert isinstance(method, Owm)
    return method


# --- the projector ----------------------------------------------------------------------------------------------------


def test_several_inputs_at_once_are_the_same_as_one_after_another() -> None:
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(5, 12, generator=draw)
    expected = torch.eye(12)
    for row in rows:
        x = row.unsqueeze(1)
        k = expected @ x
        expected = expected - k @ k.T / (0.1 + x.T @ k)
    together, apart = Projector(nn.Linear(12, 3, bias=False), 1), Projector(nn.Linear(12, 3, bias=False), 1)
    together.take_in(rows, 0.1)
    for row in rows:
        apart.take_in(row.unsqueeze(0), 0.1)
    torch.testing.assert_close(together.matrix, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(apart.matrix, expected, atol=1e-5, rtol=1e-5)


def test_what_was_taken_in_is_forbidden_and_the_rest_is_not() -> None:
    draw = torch.Generator().manual_seed(1)
    projector = Projector(nn.Linear(20, 4), 1)
    rows = projector.vectors(torch.randn(3, 20, generator=draw).unsqueeze(1), None)
    assert rows.shape == (1, 21) and float(rows[0, -1]) == 1.0  # the bias is the weight of a constant 1
    for _ in range(4):  # an input met again changes nothing, rounding included
        projector.take_in(rows, 1e-6)
    assert float((projector.matrix @ rows.T).norm() / rows.norm()) < 1e-3
    other = torch.randn(1, 21, generator=draw)
    other -= other @ rows.T @ rows / rows.square().sum()
    torch.testing.assert_close(projector.matrix @ other.T, other.T, atol=1e-4, rtol=1e-4)


def test_padding_has_no_part_in_the_mean() -> None:
    projector = Projector(nn.Linear(2, 2, bias=False), 1)
    x = torch.tensor([[[1.0, 2.0], [9.0, 9.0]], [[3.0, 4.0], [5.0, 6.0]]])
    assert projector.vectors(x, torch.tensor([[1, 0], [1, 1]])).tolist() == [[3.0, 4.0]]
    assert projector.vectors(x[:, 0], None).tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize("padding", [0, 1])
def test_patches_are_what_a_convolution_multiplies(padding: int) -> None:
    conv = nn.Conv1d(3, 5, 2, padding=padding)
    projector = Projector(conv, 1)
    x = torch.randn(4, 3, 6)
    rows = projector.vectors(x, None)
    by_hand = rows @ joined(conv.weight, conv.bias).T  # (n, out)
    torch.testing.assert_close(by_hand, conv(x.mean(dim=0, keepdim=True))[0].T)
    assert len(Projector(conv, 2).vectors(x, None)) == -(-len(rows) // 2)


def test_listening_ends(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    for update in ("task", "step"):
        config = tiny_system(method="owm", changes={"method.update": update, "train.epochs": 1})
        method = make(config)
        learn_task(method, toy_tasks[0], config.train, Seeds(0))
        assert not any(layer._forward_pre_hooks for layer in method.layers)
    with pytest.raises(RuntimeError, match="stop"), inputs_of(method.layers):
        raise RuntimeError("stop")
    assert not any(layer._forward_pre_hooks for layer in method.layers)


# --- learning ---------------------------------------------------------------------------------------------------------


def mean_inputs(method: Owm, task: Task) -> list[Tensor]:
    batch = method.model.backbone.collate(task.train)
    with torch.no_grad(), inputs_of(method.layers) as inputs:
        method.eval().model(batch)
    return method._vectors(inputs, batch)


def weights(method: Owm) -> list[Tensor]:
    return [joined(layer.weight, layer.bias).detach().clone() for layer in method.layers]


def shares(method: Owm, before: list[Tensor], inputs: list[Tensor]) -> list[float]:
    """How much of a task's update of each layer lies along given inputs."""
    moved = [new - old for new, old in zip(weights(method), before, strict=True)]
    assert all(float(change.norm()) > 1e-4 for change in moved)
    return [float((change @ x.T).norm() / (change.norm() * x.norm())) for change, x in zip(moved, inputs, strict=True)]


STRICT = {f"method.alpha_{name}": 1e-8 for name in ("conv", "first", "second", "deeper")}
LEARN = {"train.epochs": 4, "train.learning_rate": 5e-3, "backbone.width": 16}


def test_later_updates_are_orthogonal_to_earlier_inputs(tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]) -> None:
    config = tiny_system(method="owm", changes=STRICT | LEARN | {"method.batch_size": 24})
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    inputs, before = mean_inputs(method, toy_tasks[0]), weights(method)
    learn_task(method, toy_tasks[1], config.train, Seeds(0))
    assert max(shares(method, before, inputs)) < 1e-3
    for x, new, old in zip(inputs, weights(method), before, strict=True):
        assert float((x @ new.T - x @ old.T).norm()) < 1e-3 * float((x @ old.T).norm())


def test_without_projecting_the_update_it_would_not_be_so(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_system(method="owm", changes=STRICT | LEARN | {"method.batch_size": 24})
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    inputs, before = mean_inputs(method, toy_tasks[0]), weights(method)
    monkeypatch.setattr(Owm, "after_update", lambda self, step: None)
    learn_task(method, toy_tasks[1], config.train, Seeds(0))
    assert max(shares(method, before, inputs)) > 1e-2  # Adam turned the projected gradient


def test_in_every_step_earlier_inputs_are_taken_in_as_they_come(
    tiny_system: MakeSystem, toy_tasks: tuple[Task, ...]
) -> None:
    changes = STRICT | LEARN | {"method.update": "step", "train.selection": "last"}
    config = tiny_system(method="owm", changes=changes)
    method = make(config)
    learn_task(method, toy_tasks[0], config.train, Seeds(0))
    assert all(not torch.equal(p.matrix, torch.eye(len(p.matrix))) for p in method.projectors)
    inputs, before = mean_inputs(method, toy_tasks[0]), weights(method)
    learn_task(method, toy_tasks[1], config.train, Seeds(0))
    assert max(shares(method, before, inputs)) < 0.05  # batches' means, not the whole task's, and from moving weights


def test_a_chains_layers_are_as_strict_as_their_depth_says(tiny_system: MakeSystem, tiny_encoder: Path) -> None:
    assert make(tiny_system(method="owm")).strictness == [1e-4, 1e-2] * 4
    shape = BertFrozenConfig(encoder=str(tiny_encoder), trunk="kim_fc", hidden=(12, 8, 6), hidden_bias=False)
    backbone = BertFrozen(shape, torch.Generator().manual_seed(0))
    method = Owm(Model(backbone, Head(6, Scenario.DIL, 0.0, torch.Generator())), OwmConfig())
    assert method.strictness == [1e-5] * 3 + [1e-4, 1e-2, 1e-1]
    assert [len(p.matrix) for p in method.projectors] == [3 * 64 + 1, 4 * 64 + 1, 5 * 64 + 1, 300, 12, 8]


def test_a_backbone_without_plastic_layers_is_refused(tiny_encoder: Path) -> None:
    backbone = BertFrozen(BertFrozenConfig(encoder=str(tiny_encoder), trunk="mean"), torch.Generator())
    with pytest.raises(IncompatibleError, match="no layer to project"):
        Owm(Model(backbone, Head(64, Scenario.DIL, 0.0, torch.Generator())), OwmConfig())
