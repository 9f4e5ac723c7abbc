"""Copies of LayerNorms and heads."""

from __future__ import annotations

import torch
from torch import nn

from classic.modules.private import PrivateCopies


def test_copies_stay_and_live_values_come_back() -> None:
    norm, head = nn.LayerNorm(3), nn.Linear(3, 2)
    private = PrivateCopies([*norm.parameters(), *head.parameters()])
    first = private.read()
    private.keep()
    with torch.no_grad():
        for parameter in (*norm.parameters(), *head.parameters()):
            parameter.add_(1.5)
    private.keep()
    assert private.copies.shape == (2, 3 + 3 + 6 + 2)
    assert torch.equal(private.copies[0], first)
    assert torch.equal(private.copies[1], first + 1.5)
    private.write(private.copies[0])
    assert torch.equal(private.read(), first)
    assert torch.equal(norm.weight, torch.ones(3))
    assert head.weight.shape == (2, 3)


def test_reading_is_a_copy() -> None:
    norm = nn.LayerNorm(3)
    private = PrivateCopies(norm.parameters())
    read = private.read()
    with torch.no_grad():
        norm.weight.fill_(7.0)
    assert torch.equal(read, torch.tensor([1.0, 1, 1, 0, 0, 0]))


def test_one_parameter_alone_is_copied_too() -> None:
    weight = nn.Parameter(torch.zeros(4))
    private = PrivateCopies([weight])
    live = private.read()
    private.write(torch.ones(4))
    assert torch.equal(live, torch.zeros(4))


def test_without_parameters_nothing_happens() -> None:
    private = PrivateCopies([])
    private.keep()
    private.write(private.copies[0])
    assert private.copies.shape == (1, 0)


def test_parameters_belong_to_their_own_modules() -> None:
    private = PrivateCopies(nn.LayerNorm(3).parameters())
    assert list(private.parameters()) == []
    assert list(private.state_dict()) == ["copies"]
