"""The domain reader: a class is believed as far as the domains that have it are likely."""

from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from classic.modules.domain_map import DomainMap
from classic.modules.domain_reader import _SHARPNESS, DomainReader, KnownDomain

ALL, TWO = [0.5, 0.3, 0.2], [0.6, 0.4, 0.0]


def two_domains() -> DomainMap:
    """One around -3, one around +3, of spread 1, in four dimensions."""
    torch.manual_seed(0)
    domains = DomainMap(4)
    for centre in (-3.0, 3.0):
        domains.add(torch.randn(200, 4) + centre, torch.randn(20, 4) + centre)
    return domains


def test_neutral_is_believed_where_a_domain_knows_it_and_doubted_elsewhere() -> None:
    reader = DomainReader(two_domains(), torch.tensor([ALL, TWO]))
    logits = torch.tensor([[0.5, 0.0, 2.0]]).expand(2, 3)
    answers = reader(logits, torch.tensor([[-3.0] * 4, [3.0] * 4]))
    assert answers.argmax(dim=1).tolist() == [2, 0]


def test_it_is_the_sum_over_domains() -> None:
    domains = two_domains()
    reader = DomainReader(domains, torch.tensor([ALL, TWO]))
    logits, surfaces = torch.randn(5, 3), torch.randn(5, 4)
    domain = (_SHARPNESS * domains.distances(surfaces).square() / -2).softmax(dim=1)
    three = logits.softmax(dim=1)
    two = torch.cat([logits[:, :2].softmax(dim=1), torch.zeros(5, 1)], dim=1)
    expected = domain[:, :1] * three + domain[:, 1:] * two
    torch.testing.assert_close(reader(logits, surfaces).exp(), expected, atol=1e-5, rtol=1e-4)


def test_shares_that_are_believed_tip_the_scales() -> None:
    logits, surface = torch.tensor([[0.0, 0.1, -9.0]]), torch.tensor([[3.0] * 4])
    shares = torch.tensor([ALL, [0.9, 0.1, 0.0]])
    assert int(DomainReader(two_domains(), shares)(logits, surface).argmax()) == 1
    assert int(DomainReader(two_domains(), shares, belief=0.5)(logits, surface).argmax()) == 0
    assert int(KnownDomain(shares[1], belief=0.5)(logits, surface).argmax()) == 0


def test_a_class_that_the_last_domains_lacked_is_raised() -> None:
    logits, surface = torch.tensor([[0.0, 0.1, -0.1]]), torch.tensor([[-3.0] * 4])
    shares = torch.tensor([ALL, TWO])
    assert int(DomainReader(two_domains(), shares)(logits, surface).argmax()) == 1
    raised = DomainReader(two_domains(), shares, faded=0.5)
    assert int(raised(logits, surface).argmax()) == 2
    torch.testing.assert_close(raised.expected[0], torch.tensor([0.0, 0.0, 0.5 * math.log(2)]))


def test_a_class_the_newest_domain_has_is_not_raised() -> None:
    fresh = DomainReader(two_domains(), torch.tensor([TWO, ALL]), faded=0.5)
    assert fresh.expected[1].tolist() == [0.0, 0.0, 0.0]


@given(st.lists(st.floats(-30, 30), min_size=3, max_size=3), st.lists(st.floats(-50, 50), min_size=4, max_size=4))
def test_answers_are_probabilities(logits: list[float], surface: list[float]) -> None:
    reader = DomainReader(two_domains(), torch.tensor([ALL, TWO]))
    found = reader(torch.tensor([logits]), torch.tensor([surface])).exp()
    assert torch.isfinite(found).all()
    assert abs(float(found.sum()) - 1) < 1e-3


def test_domains_that_have_everything_change_no_answer() -> None:
    reader = DomainReader(two_domains(), torch.tensor([ALL, ALL]))
    logits = torch.randn(6, 3)
    torch.testing.assert_close(reader(logits, torch.randn(6, 4)), logits.log_softmax(dim=1))


def test_a_known_domain_has_only_its_classes() -> None:
    found = KnownDomain(torch.tensor(TWO))(torch.tensor([[0.0, 1.0, 9.0]]), torch.zeros(1, 4))
    assert int(found.argmax()) == 1
    assert found[0, :2].tolist() == [0.0, 1.0]
