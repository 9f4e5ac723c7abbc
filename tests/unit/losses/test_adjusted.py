"""Label shares set aside: nothing of them is learned, and nothing of a class the domain lacks is unlearned."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy as torch_cross_entropy

from classic.losses.adjusted import adjusted_cross_entropy

THIRDS = torch.full((3,), 1 / 3)


def test_equal_shares_change_nothing() -> None:
    logits, labels = torch.randn(7, 3), torch.randint(0, 3, (7,))
    torch.testing.assert_close(adjusted_cross_entropy(logits, labels, THIRDS), torch_cross_entropy(logits, labels))


def test_knowing_only_the_shares_is_knowing_nothing() -> None:
    """A logit that is the same for all examples is at rest at 0: the shares are in the loss, not in the weights."""
    labels = torch.tensor([0] * 6 + [1] * 3 + [2])
    shares = torch.tensor([0.6, 0.3, 0.1])
    bias = torch.zeros(3, requires_grad=True)
    adjusted_cross_entropy(bias.expand(10, 3), labels, shares).backward()
    assert bias.grad is not None
    torch.testing.assert_close(bias.grad, torch.zeros(3), atol=1e-6, rtol=0)
    plain = torch.zeros(3, requires_grad=True)
    torch_cross_entropy(plain.expand(10, 3), labels).backward()
    assert plain.grad is not None
    assert float(plain.grad.abs().max()) > 0.2


@pytest.mark.parametrize("height", [0.0, 5.0, 20.0])
def test_a_class_the_domain_lacks_takes_no_part(height: float) -> None:
    logits = torch.tensor([[0.3, -0.2, height]], requires_grad=True)
    loss = adjusted_cross_entropy(logits, torch.tensor([1]), torch.tensor([0.5, 0.5, 0.0]))
    loss.backward()
    assert logits.grad is not None
    assert float(logits.grad[0, 2]) == 0.0
    torch.testing.assert_close(loss.detach(), torch_cross_entropy(logits.detach()[:, :2], torch.tensor([1])))
