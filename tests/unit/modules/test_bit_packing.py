"""Masks as bits."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from classic.modules.bits import pack_bits, unpack_bits


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_packing_is_numpys_and_comes_back(mask: list[bool]) -> None:
    packed = pack_bits(torch.tensor(mask))
    assert packed.dtype == torch.uint8
    assert packed.tolist() == np.packbits(np.array(mask)).tolist()
    assert unpack_bits(packed, len(mask)).tolist() == mask


def test_the_first_unit_is_the_highest_bit() -> None:
    assert pack_bits(torch.tensor([True] + [False] * 8 + [True])).tolist() == [128, 64]
