"""Randomness by name and place."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from classic.seeding import Seeds

paths = st.lists(st.one_of(st.sampled_from(["shuffle", "dropout", "gates"]), st.integers(0, 20)), max_size=3)


def test_numbers_are_fixed_forever() -> None:
    """Stored results name their seed; these numbers must never change."""
    assert Seeds(0).number("shuffle", 0, "train", 0) == 4397336265720546580
    assert Seeds(7).number("backbone") == 7194570646838719702


@given(st.integers(-5, 5), paths, paths)
def test_equal_paths_give_equal_seeds_and_others_do_not(root: int, first: list, second: list) -> None:
    assert (Seeds(root).number(*first) == Seeds(root).number(*second)) == (first == second)
    assert Seeds(root).number(*first) != Seeds(root + 1).number(*first)
    assert 0 <= Seeds(root).number(*first) < 2**63


def test_generators_do_not_depend_on_what_was_drawn_before() -> None:
    seeds = Seeds(3)
    first = torch.rand(4, generator=seeds.generator("shuffle", 1))
    torch.rand(100)
    torch.rand(4, generator=seeds.generator("shuffle", 2))
    assert torch.equal(torch.rand(4, generator=seeds.generator("shuffle", 1)), first)


def test_dropout_is_seeded() -> None:
    def dropped(*place: int) -> torch.Tensor:
        Seeds(3).seed_dropout(*place)
        return torch.nn.functional.dropout(torch.ones(64), 0.5)

    assert torch.equal(dropped(1, 2), dropped(1, 2))
    assert not torch.equal(dropped(1, 2), dropped(1, 3))
