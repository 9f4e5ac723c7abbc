"""The domain map: which learned domain a text resembles, and whether it resembles any."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from classic.modules.domain_map import DomainMap

WIDTH = 12


def cloud(centre: float, count: int, seed: int, spread: float = 1.0) -> Tensor:
    """Texts of a domain: directions of very different spread around a centre."""
    generator = torch.Generator().manual_seed(seed)
    scale = torch.linspace(0.1, 2.0, WIDTH) * spread
    middle = torch.zeros(WIDTH)
    middle[0] = centre
    return middle + scale * torch.randn(count, WIDTH, generator=generator)


@pytest.fixture
def three() -> DomainMap:
    found = DomainMap(WIDTH)
    for number in range(3):
        found.add(cloud(3.0 * number, 200, number), cloud(3.0 * number, 50, 10 + number))
    return found


def test_texts_are_found_in_their_domain(three: DomainMap) -> None:
    for number in range(3):
        nearest, unfamiliar = three.locate(cloud(3.0 * number, 100, 20 + number))
        assert (nearest == number).float().mean() > 0.95
        assert unfamiliar.float().mean() < 0.05


def test_a_text_far_from_every_domain_is_unfamiliar(three: DomainMap) -> None:
    nearest, unfamiliar = three.locate(cloud(30.0, 100, 40))
    assert unfamiliar.all()
    assert (nearest == 2).all()


def test_distance_counts_in_spreads_not_in_lengths() -> None:
    """A step along a narrow direction is farther than the same step along a wide one."""
    found = DomainMap(WIDTH)
    found.add(cloud(0.0, 2000, 1), cloud(0.0, 100, 2))
    narrow, wide = torch.zeros(WIDTH), torch.zeros(WIDTH)
    narrow[0] = wide[-1] = 2.0
    distances = found.distances(torch.stack([narrow, wide]) + found.means)
    assert distances[0] > 2 * distances[1]


def test_distances_are_mahalanobis_under_the_shrunk_covariance() -> None:
    train = cloud(0.0, 300, 1)
    found = DomainMap(WIDTH)
    found.add(train, cloud(0.0, 10, 2))
    covariance = torch.cov(train.T, correction=0)
    shrunk = 0.9 * covariance + 0.1 * covariance.diagonal().mean() * torch.eye(WIDTH)
    texts = cloud(1.0, 5, 3)
    gaps = texts - train.mean(dim=0)
    expected = torch.einsum("ni,ij,nj->n", gaps, torch.linalg.inv(shrunk), gaps).sqrt()
    torch.testing.assert_close(found.distances(texts)[:, 0], expected, rtol=1e-4, atol=1e-4)


def test_what_is_kept_does_not_grow_with_the_number_of_texts() -> None:
    sizes = []
    for count in (50, 500):
        found = DomainMap(WIDTH)
        found.add(cloud(0.0, count, 1), cloud(0.0, 10, 2))
        found.add(cloud(3.0, count, 3), cloud(3.0, 10, 4))
        sizes.append({name: tuple(tensor.shape) for name, tensor in found.state_dict().items()})
    assert sizes[0] == sizes[1] == {"means": (2, WIDTH), "scatter": (WIDTH, WIDTH), "count": (), "reach": (2,)}


def test_a_new_domain_leaves_the_means_and_reaches_of_the_old_ones(three: DomainMap) -> None:
    means, reach = three.means.clone(), three.reach.clone()
    three.add(cloud(-9.0, 100, 50), cloud(-9.0, 20, 51))
    assert torch.equal(three.means[:3], means)
    assert torch.equal(three.reach[:3], reach)


@pytest.mark.parametrize("held_out", [0, 1])
def test_too_few_held_out_texts_are_replaced_by_the_training_texts(held_out: int) -> None:
    found, other = DomainMap(WIDTH), DomainMap(WIDTH)
    train = cloud(0.0, 60, 1)
    found.add(train, cloud(0.0, held_out, 2))
    other.add(train, train)
    assert torch.equal(found.reach, other.reach)


def test_few_texts_or_all_the_same_text_are_no_trouble() -> None:
    found = DomainMap(WIDTH)
    same = cloud(0.0, 1, 1).repeat(3, 1)
    found.add(same, same)
    nearest, unfamiliar = found.locate(torch.cat([same, cloud(50.0, 1, 2)]))
    assert nearest.tolist() == [0, 0, 0, 0]
    assert unfamiliar.tolist() == [False, False, False, True]
    found.add(cloud(5.0, 2, 3), torch.zeros(0))
    assert torch.isfinite(found.distances(cloud(5.0, 4, 4))).all()
