"""Heads in both scenarios."""

from __future__ import annotations

import pytest
import torch

from classic.modules.heads import Head
from classic.types import POLARITIES, Polarity, Scenario


def make(scenario: Scenario, dropout: float = 0.0) -> Head:
    return Head(8, scenario, dropout, torch.Generator().manual_seed(0))


FEATURES = torch.randn(5, 8, generator=torch.Generator().manual_seed(9))


def test_dil_shares_one_head_of_three_logits() -> None:
    head = make(Scenario.DIL)
    before = head(FEATURES)
    head.start_task(POLARITIES[:2], torch.Generator().manual_seed(1))
    head.start_task(POLARITIES, torch.Generator().manual_seed(2))
    assert len(head.linears) == 1
    assert before.shape == (5, 3)
    for task in (None, 0, 1, 7):
        assert torch.equal(head(FEATURES, task), before)


@pytest.mark.parametrize(
    ("classes", "closed"),
    [(POLARITIES[:2], [2]), (POLARITIES, []), ((Polarity.NEGATIVE, Polarity.NEUTRAL), [0]), (POLARITIES[1:2], [0, 2])],
)
def test_til_logits_stand_in_the_columns_of_their_polarities(classes: tuple[Polarity, ...], closed: list[int]) -> None:
    head = make(Scenario.TIL)
    head.start_task(classes, torch.Generator().manual_seed(1))
    logits = head(FEATURES)
    own = head.current(FEATURES)
    assert own.shape == (5, len(classes))
    assert torch.equal(logits[:, [polarity.column for polarity in classes]], own)
    assert bool((logits[:, closed] < -1e30).all())
    assert bool(torch.isfinite(logits).all())
    assert set(logits.argmax(dim=1).tolist()).isdisjoint(closed)
    assert bool((logits.softmax(dim=1)[:, closed] == 0).all())


def test_til_has_a_head_per_task_and_no_task_means_the_newest() -> None:
    head = make(Scenario.TIL)
    head.start_task(POLARITIES[:2], torch.Generator().manual_seed(1))
    first = head(FEATURES, 0)
    head.start_task(POLARITIES, torch.Generator().manual_seed(2))
    assert torch.equal(head(FEATURES, 0), first)
    assert torch.equal(head(FEATURES), head(FEATURES, 1))
    assert not torch.equal(head(FEATURES, 1), first)
    assert head.columns == [(0, 1), (0, 1, 2)]


def test_a_closed_column_gives_no_gradient_to_the_head() -> None:
    head = make(Scenario.TIL)
    head.start_task(POLARITIES[:2], torch.Generator().manual_seed(1))
    torch.nn.functional.cross_entropy(head(FEATURES), torch.tensor([0, 1, 0, 1, 1])).backward()
    assert bool(torch.isfinite(head.current.weight.grad).all())
    assert float(head.current.weight.grad.abs().sum()) > 0


def test_dropout_only_in_training() -> None:
    head = make(Scenario.DIL, dropout=0.5)
    torch.manual_seed(0)
    assert not torch.equal(head(FEATURES), head(FEATURES))
    head.eval()
    assert torch.equal(head(FEATURES), head(FEATURES))


def test_restored_heads_have_the_saved_shapes() -> None:
    head = make(Scenario.TIL)
    head.restore_heads([(0, 1), (0, 1, 2), (1,)])
    assert [linear.out_features for linear in head.linears] == [2, 3, 1]
    assert head.columns == [(0, 1), (0, 1, 2), (1,)]
    head.restore_heads(head.columns)
    assert len(head.linears) == 3
