"""Task masks: Eq. (2)-(5), HAT's gradient rule, protection, the end of a task."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from classic.errors import IncompatibleError
from classic.modules.gates import GateConfig, TaskGates
from classic.modules.plastic import Plastic
from classic.types import Step

PAPER = GateConfig(anneal="epoch", form="soft", init="normal", learning_rate=None, compensate=True)
DEFAULT = GateConfig()


class Net(nn.Module):
    """Two first layers, one layer fed by both, one convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.left = Plastic(nn.Linear(3, 8), nn.ReLU())
        self.right = Plastic(nn.Linear(3, 4), nn.ReLU())
        self.top = Plastic(nn.Linear(12, 5), nn.ReLU(), upstream=(self.left, self.right))
        self.conv = Plastic(nn.Conv1d(3, 6, 2, bias=False), nn.Identity())
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator)

    def plastics(self) -> dict[str, Plastic]:
        return {"left": self.left, "right": self.right, "top": self.top, "conv": self.conv}

    def forward(self, x: Tensor) -> Tensor:
        dense = self.top(torch.cat([self.left(x), self.right(x)], dim=1))
        return torch.cat([dense, self.conv(x.unsqueeze(2).expand(-1, -1, 3)).flatten(1)], dim=1)


UNITS = 8 + 4 + 5 + 6
X = torch.randn(10, 3, generator=torch.Generator().manual_seed(1))


def make(config: GateConfig = PAPER) -> tuple[Net, TaskGates]:
    net = Net()
    return net, TaskGates(net.plastics(), config)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def learn(gates: TaskGates, mask: Tensor) -> None:
    """A task that ends with a given mask."""
    gates.start_task(seeded())
    with torch.no_grad():
        gates.embedding.copy_(torch.where(mask, 0.5, -0.5))
    gates.finish_task()


def some(seed: int, share: float = 0.5) -> Tensor:
    return torch.rand(UNITS, generator=seeded(seed)) < share


def step(batch: int, batches: int, epoch: int = 0, epochs: int = 1) -> Step:
    return Step(0, epoch, epochs, batch, batches)


# --- Eq. (2) and (5): masks and their scale ---


@pytest.mark.parametrize("epoch", [0, 2])
def test_annealing_starts_anew_in_every_epoch(epoch: int) -> None:
    _, gates = make()
    assert gates.scale(step(0, 5, epoch, 3)) == 1 / 400
    assert gates.scale(step(4, 5, epoch, 3)) == 400
    assert gates.scale(step(2, 5, epoch, 3)) == pytest.approx(1 / 400 + (400 - 1 / 400) / 2)


def test_annealing_over_the_task() -> None:
    _, gates = make(replace(PAPER, anneal="task"))
    assert gates.scale(step(0, 5, 0, 3)) == 1 / 400
    assert gates.scale(step(4, 5, 0, 3)) < 200
    assert gates.scale(step(4, 5, 2, 3)) == 400


@pytest.mark.parametrize("anneal", ["epoch", "task", "none"])
def test_a_single_batch_is_at_full_scale(anneal: str) -> None:
    _, gates = make(replace(PAPER, anneal=anneal))
    assert gates.scale(step(0, 1)) == 400


def test_no_annealing() -> None:
    _, gates = make(replace(PAPER, anneal="none"))
    assert gates.scale(step(0, 5)) == 400


def test_soft_masks_are_the_sigmoid_and_reach_the_layers() -> None:
    net, gates = make()
    gates.start_task(seeded())
    gates.open(step(1, 5))
    mask = torch.sigmoid(gates.scale(step(1, 5)) * gates.embedding)
    left, right, top, conv = mask.split([8, 4, 5, 6])
    hidden = torch.cat([net.left.layer(X).relu() * left, net.right.layer(X).relu() * right], dim=1)
    dense = net.top.layer(hidden).relu() * top
    filters = net.conv.layer(X.unsqueeze(2).expand(-1, -1, 3)) * conv.view(1, 6, 1)
    assert torch.equal(net(X), torch.cat([dense, filters.flatten(1)], dim=1))


def test_a_network_without_a_mask_is_not_gated() -> None:
    plain, (net, _) = Net(), make()
    assert torch.equal(net(X), plain(X))


def test_hard_masks_are_exactly_binary_and_borrow_the_soft_gradient() -> None:
    _, gates = make(replace(DEFAULT, init="normal", init_std=0.7))
    gates.start_task(seeded())
    gates.open(step(1, 5))
    shown = torch.cat([gate.mask for gate in gates.gates])
    assert torch.equal(shown, (gates.embedding > 0).float())
    weights = torch.randn(UNITS, generator=seeded(3))
    (shown * weights).sum().backward()
    soft = torch.sigmoid(gates.config.hard_scale * gates.embedding.detach())
    assert torch.allclose(gates.embedding.grad, weights * gates.config.hard_scale * soft * (1 - soft))


def test_layers_must_be_found() -> None:
    with pytest.raises(IncompatibleError):
        TaskGates({}, PAPER)


# --- Eq. (3) and the bits ---


def test_used_is_the_union_of_the_masks() -> None:
    _, gates = make()
    masks = [some(seed, 0.3) for seed in (1, 2, 3)]
    for mask in masks:
        learn(gates, mask)
    assert gates.learned == 3
    assert gates.bits.shape == (3, 3)
    for task, mask in enumerate(masks):
        assert torch.equal(gates.mask(task), mask)
    assert torch.equal(gates.used(), masks[0] | masks[1] | masks[2])


# --- Eq. (4): protection ---


def gradients(net: Net, gates: TaskGates) -> list[Tensor]:
    gates.open(step(2, 5))
    net(X).square().sum().backward()
    return [parameter.grad.clone() for parameter in net.parameters()]


def test_protection_is_one_minus_the_mask_and_the_smaller_of_two_sides() -> None:
    net, gates = make()
    used = some(5)
    learn(gates, used)
    gates.start_task(seeded(1))
    plain = gradients(net, gates)
    gates.protect()
    left, right, top, conv = (part.float() for part in used.split([8, 4, 5, 6]))
    into = torch.cat([left, right])
    keep = [
        1 - left.unsqueeze(1),
        1 - left,
        1 - right.unsqueeze(1),
        1 - right,
        1 - torch.minimum(top.unsqueeze(1), into.unsqueeze(0)),
        1 - top,
        1 - conv.view(6, 1, 1),
    ]
    for parameter, before, factor in zip(net.parameters(), plain, keep, strict=True):
        assert torch.equal(parameter.grad, before * factor)
        assert bool((parameter.grad[factor.expand_as(parameter) == 0] == 0).all())
    assert sum(float(parameter.grad.abs().sum()) for parameter in net.parameters()) > 0


def test_the_first_task_is_free() -> None:
    net, gates = make()
    gates.start_task(seeded())
    plain = gradients(net, gates)
    gates.protect()
    assert all(torch.equal(p.grad, before) for p, before in zip(net.parameters(), plain, strict=True))


def test_an_earlier_task_computes_the_same_bits_after_a_later_one() -> None:
    net, gates = make(replace(PAPER, init_std=1.0))
    outputs = []
    for task in range(3):
        gates.start_task(seeded(task))
        optimiser = torch.optim.AdamW([*net.parameters(), gates.embedding], lr=0.05, weight_decay=0.0)
        for batch in range(5):
            optimiser.zero_grad()
            gates.open(step(batch, 5))
            (net(X).square().mean() + gates.sparsity()).backward()
            gates.protect()
            gates.compensate()
            optimiser.step()
            gates.clamp()
        gates.finish_task()
        gates.show(gates.mask(task).float())
        outputs.append(net(X).detach())
        for earlier in range(task):
            gates.show(gates.mask(earlier).float())
            assert torch.equal(net(X), outputs[earlier])
    assert not torch.equal(outputs[0], outputs[1])


# --- the embedding's gradient ---


@pytest.mark.parametrize("batch", [0, 2, 10, 99])
def test_compensation_is_the_literal_formula(batch: int) -> None:
    _, gates = make(replace(PAPER, init_std=1.0))
    gates.start_task(seeded())
    place = step(batch, 100)
    gates.open(place)
    gates.embedding.grad = torch.randn(UNITS, generator=seeded(4))
    e, s, before = gates.embedding.detach().double(), gates.scale(place), gates.embedding.grad.double()
    gates.compensate()
    wanted = before * (400 / s) * (torch.cosh((s * e).clamp(-50, 50)) + 1) / (torch.cosh(e) + 1)
    assert torch.allclose(gates.embedding.grad.double(), wanted, rtol=1e-4)


@pytest.mark.parametrize("batch", [0, 1, 2, 3])
def test_compensation_undoes_the_annealing(batch: int) -> None:
    """What is left is the gradient through s_max sigmoid(e), whatever s is; by finite differences."""
    _, gates = make(replace(PAPER, init_std=0.05))
    gates.start_task(seeded())
    gates.open(step(batch, 100))
    weights = torch.randn(UNITS, generator=seeded(4))
    (torch.cat([gate.mask for gate in gates.gates]) * weights).sum().backward()
    gates.compensate()
    e, width = gates.embedding.detach().double(), 1e-5
    difference = 400 * (torch.sigmoid(e + width) - torch.sigmoid(e - width)) / (2 * width) * weights
    assert torch.allclose(gates.embedding.grad.double(), difference, rtol=2e-3, atol=1e-3)


def test_compensation_never_overflows() -> None:
    _, gates = make()
    gates.start_task(seeded())
    with torch.no_grad():
        gates.embedding.copy_(torch.linspace(-6, 6, UNITS))
    gates.open(step(4, 5))
    torch.cat([gate.mask for gate in gates.gates]).sum().backward()
    gates.compensate()
    assert bool(torch.isfinite(gates.embedding.grad).all())


def test_no_compensation_of_hard_gates_or_when_switched_off() -> None:
    for config in (DEFAULT, replace(DEFAULT, compensate=True), replace(PAPER, compensate=False)):
        _, gates = make(config)
        gates.start_task(seeded())
        gates.open(step(1, 5))
        gates.embedding.grad = torch.ones(UNITS)
        gates.compensate()
        assert torch.equal(gates.embedding.grad, torch.ones(UNITS))


def test_clamp() -> None:
    _, gates = make(replace(DEFAULT, clamp=6.0))
    with torch.no_grad():
        gates.embedding.copy_(torch.linspace(-9, 9, UNITS))
    gates.clamp()
    assert (gates.embedding.min().item(), gates.embedding.max().item()) == (-6, 6)


# --- sparsity ---


def test_sparsity_of_the_first_task_is_the_mean_mask() -> None:
    _, gates = make()
    gates.start_task(seeded())
    gates.open(step(1, 5))
    mask = torch.cat([gate.mask for gate in gates.gates])
    assert float(gates.sparsity().detach()) == pytest.approx(mask.mean().item())


def test_sparsity_counts_free_units_only() -> None:
    _, gates = make()
    used = some(6)
    learn(gates, used)
    gates.start_task(seeded(1))
    gates.open(step(1, 5))
    mask = torch.cat([gate.mask for gate in gates.gates]).detach()
    assert float(gates.sparsity().detach()) == pytest.approx(float(mask[~used].mean()))
    gates.sparsity().backward()
    assert bool((gates.embedding.grad[used] == 0).all())
    assert bool((gates.embedding.grad[~used] > 0).all())


@pytest.mark.parametrize("config", [PAPER, DEFAULT], ids=["paper", "default"])
def test_when_everything_is_used_the_loss_stays_finite(config: GateConfig) -> None:
    net, gates = make(config)
    learn(gates, torch.ones(UNITS, dtype=torch.bool))
    gates.start_task(seeded(1))
    gates.open(step(1, 5))
    sparsity = gates.sparsity()
    (sparsity + net(X).sum()).backward()
    gates.protect()
    assert float(sparsity.detach()) == 0
    assert bool(torch.isfinite(gates.embedding.grad).all())
    assert all(bool((parameter.grad == 0).all()) for parameter in net.parameters())
    gates.finish_task()
    assert gates.capacity()["free"] == 0


# --- the end of a task, the start of the next ---


def test_finish_gives_back_what_the_mask_does_not_use() -> None:
    net, gates = make()
    before = [parameter.detach().clone() for parameter in net.parameters()]
    gates.start_task(seeded())
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(1.0)
        mask = some(7)
        gates.embedding.copy_(torch.where(mask, 0.5, -0.5))
    gates.show(mask.float())
    output = net(X).detach()
    gates.finish_task()
    gates.show(mask.float())
    assert torch.equal(net(X), output)
    left, right, top, conv = mask.split([8, 4, 5, 6])
    pairs = top.unsqueeze(1) & torch.cat([left, right]).unsqueeze(0)
    taken = [left.unsqueeze(1), left, right.unsqueeze(1), right, pairs, top, conv.view(6, 1, 1)]
    for parameter, old, mine in zip(net.parameters(), before, taken, strict=True):
        assert torch.equal(parameter, torch.where(mine, old + 1.0, old))
    assert torch.equal(gates.embedding, torch.zeros(UNITS))


def test_reuse_opens_used_units_some_fresh_ones_and_all_of_higher_layers() -> None:
    _, gates = make(replace(DEFAULT, init="reuse", init_size=0.25, fresh=0.25))
    used = some(8, 0.4)
    learn(gates, used)
    gates.start_task(seeded(1))
    left, right, top, conv = gates.rounded().split([8, 4, 5, 6])
    used_left, used_right, _, used_conv = used.split([8, 4, 5, 6])
    assert bool(top.all())
    for opened, old, fresh in ((left, used_left, 2), (right, used_right, 1), (conv, used_conv, 2)):
        assert bool(opened[old].all())
        assert int((opened & ~old).sum()) == min(fresh, int((~old).sum()))
    assert set(gates.embedding.detach().abs().tolist()) == {0.25}


def test_fresh_units_depend_on_the_generator() -> None:
    def opened(seed: int) -> list[bool]:
        _, gates = make(replace(DEFAULT, fresh=0.25))
        gates.start_task(seeded(seed))
        return gates.rounded().tolist()

    assert opened(1) == opened(1)
    assert len({tuple(opened(seed)) for seed in range(5)}) > 1


def test_normal_embeddings_have_the_given_spread() -> None:
    plastic = Plastic(nn.Linear(2, 4000), nn.ReLU())
    gates = TaskGates({"wide": plastic}, PAPER)
    gates.start_task(seeded())
    assert float(gates.embedding.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(gates.rounded().float().mean()) == pytest.approx(0.5, abs=0.03)


def test_capacity_adds_up_over_first_layers() -> None:
    _, gates = make()
    first, second = some(9), some(10)
    learn(gates, first)
    learn(gates, second)
    scarce = torch.tensor([True] * 12 + [False] * 5 + [True] * 6)
    found = gates.capacity()
    assert found["used"] == pytest.approx(int((second & scarce).sum()) / 18)
    assert found["new"] + found["shared"] == pytest.approx(found["used"])
    assert found["used"] + found["free"] + int((first & ~second & scarce).sum()) / 18 == pytest.approx(1.0)


def test_overlap_is_the_share_of_the_newest_tasks_units() -> None:
    _, gates = make()
    first, second = some(9), some(10)
    learn(gates, first)
    learn(gates, second)
    scarce = torch.tensor([True] * 12 + [False] * 5 + [True] * 6)
    both = int((first & second & scarce).sum()) / int((second & scarce).sum())
    assert gates.overlap() == [pytest.approx(both), 1.0]


# --- masks that move ---


def test_a_task_starts_from_what_the_last_one_found() -> None:
    _, gates = make(replace(DEFAULT, fresh=0.25))
    learn(gates, some(8, 0.4))
    with torch.no_grad():
        gates.embedding.copy_(torch.where(gates.mask(0), 0.7, -0.6))
    gates.start_task(seeded(1))
    opened = gates.rounded() & ~gates.mask(0)
    assert torch.equal(gates.embedding.detach()[gates.mask(0)], torch.full((int(gates.mask(0).sum()),), 0.7))
    assert torch.equal(gates.embedding.detach()[opened], torch.full((int(opened.sum()),), DEFAULT.init_size))
    left, _, top, _ = opened.split([8, 4, 5, 6])
    assert not bool(top.any())  # fresh units are those of first layers
    assert bool(left.any())


def test_what_learning_did_to_a_mask_is_counted() -> None:
    _, gates = make(replace(DEFAULT, init="reuse"))
    learn(gates, some(8, 0.4))
    gates.start_task(seeded(1))
    start, used = gates.rounded(), gates.used()
    with torch.no_grad():
        gates.embedding[:6] *= -1
    mask = gates.rounded()
    gates.finish_task()
    assert gates.moves == {
        "open": int(mask.sum()),
        "opened": int((mask & ~start).sum()),
        "closed": int((~mask & start).sum()),
        "reused": int((mask & used).sum()),
        "fresh": int((mask & ~used).sum()),
        "units": UNITS,
    }
    assert gates.moves["opened"] + gates.moves["closed"] == 6


def test_pressure_pushes_open_units_nobody_uses_and_no_others() -> None:
    _, gates = make(replace(DEFAULT, init="reuse", pressure=0.5))
    learn(gates, some(8, 0.4))
    gates.start_task(seeded(1))
    gradient = torch.linspace(-1, 1, UNITS)
    gates.embedding.grad = gradient.clone()
    gates.press()
    pushed = gates.rounded() & ~gates.used()
    expected = gradient.clone()
    for part, units in zip(expected.split(gates.sizes), pushed.split(gates.sizes), strict=True):
        part.add_(0.5 * units * part.square().mean().sqrt())
    assert bool(pushed.any())
    torch.testing.assert_close(gates.embedding.grad, expected)
