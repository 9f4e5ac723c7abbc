"""Differences between versions: exact to the bit, and small."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from classic.store.delta import apply, difference

Tensors = dict[str, Tensor]
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool)
ODD = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan)


def bits(tensors: Tensors) -> dict[str, tuple[torch.dtype, tuple[int, ...], bytes]]:
    return {
        name: (tensor.dtype, tuple(tensor.shape), tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        for name, tensor in tensors.items()
    }


def round_trip(new: Tensors, old: Tensors) -> Tensors:
    before = bits(old)
    stored = difference(new, old)
    assert bits(apply(old, stored)) == bits(new)
    assert bits(old) == before, "the old tensors were changed in place"
    return stored


def test_nothing_changed_stores_nothing() -> None:
    old = {"a": torch.randn(3, 4), "b": torch.tensor(math.nan), "c": torch.zeros(0, 5)}
    assert difference({name: tensor.clone() for name, tensor in old.items()}, old) == {}


def test_changed_rows_and_columns_are_all_that_is_stored() -> None:
    old = {"rows": torch.randn(20, 6), "columns": torch.randn(6, 20), "cube": torch.randn(10, 2, 3)}
    new = {name: tensor.clone() for name, tensor in old.items()}
    new["rows"][[3, 7]] += 1
    new["columns"][:, [0, 19]] += 1
    new["cube"][4] += 1
    stored = round_trip(new, old)
    assert {name: tuple(tensor.shape) for name, tensor in stored.items()} == {
        "rows/rows": (2, 6),
        "rows.at/rows": (2,),
        "columns/columns": (6, 2),
        "columns.at/columns": (2,),
        "rows/cube": (1, 2, 3),
        "rows.at/cube": (1,),
    }


def test_a_tensor_that_changed_everywhere_is_stored_whole_without_an_index() -> None:
    old = {"a": torch.zeros(4, 4), "scalar": torch.zeros(())}
    assert set(round_trip({"a": torch.ones(4, 4), "scalar": torch.ones(())}, old)) == {"whole/a", "whole/scalar"}


def test_a_grown_buffer_stores_what_was_appended() -> None:
    old = {"means": torch.randn(2, 8), "first": torch.zeros(0, 3)}
    new = {"means": torch.cat([old["means"], torch.randn(1, 8)]), "first": torch.ones(1, 3)}
    stored = round_trip(new, old)
    assert {name: len(tensor) for name, tensor in stored.items()} == {"appended/means": 1, "appended/first": 1}


@pytest.mark.parametrize(
    "new",
    [torch.randn(3, 8), torch.randn(1, 8), torch.randn(2, 9), torch.randn(2), torch.randn(2, 8, dtype=torch.float64)],
    ids=["grown and changed", "shrunk", "wider", "fewer dimensions", "other type"],
)
def test_any_other_shape_or_type_is_stored_whole(new: Tensor) -> None:
    assert set(round_trip({"a": new}, {"a": torch.randn(2, 8)})) == {"whole/a"}


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=str)
def test_the_sign_of_zero_and_nan_are_kept(dtype: torch.dtype) -> None:
    old = {"a": torch.tensor([0.0, -0.0, math.nan, 1.0, 1.0, 1.0], dtype=dtype)}
    new = {"a": torch.tensor([-0.0, 0.0, math.nan, math.nan, 1.0, 1.0], dtype=dtype)}
    assert round_trip(new, old)["rows.at/a"].tolist() == [0, 1, 3]


def test_a_slice_of_a_larger_tensor_is_stored_by_itself() -> None:
    large = torch.randn(10, 10)
    stored = round_trip({"a": large[:, 2:4]}, {})
    assert stored["whole/a"].is_contiguous()


def test_a_version_cannot_lose_a_tensor() -> None:
    with pytest.raises(ValueError, match="lose"):
        difference({}, {"a": torch.zeros(1)})


@pytest.mark.parametrize("key", ["code/a", "a", "", "rows/a", "columns/a", "appended/b"])
def test_what_is_no_difference_is_refused(key: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        apply({"a": torch.zeros(2, 2)}, {key: torch.zeros(1, 2)})


def values(dtype: torch.dtype, count: int) -> st.SearchStrategy[list[float]]:
    one = st.sampled_from(ODD) if dtype.is_floating_point else st.integers(0, 1)
    return st.lists(one, min_size=count, max_size=count)


@st.composite
def histories(draw: st.DrawFn) -> list[Tensors]:
    """A few versions of a few tensors: changed here and there, grown, new ones added."""
    shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
    first: Tensors = {}
    for number in range(draw(st.integers(1, 3))):
        shape, dtype = draw(shapes), draw(st.sampled_from(DTYPES))
        first[f"part.{number}/w"] = torch.tensor(draw(values(dtype, math.prod(shape))), dtype=dtype).reshape(shape)
    found = [first]
    for step in range(draw(st.integers(1, 3))):
        new = {name: tensor.clone() for name, tensor in found[-1].items()}
        for name, tensor in list(new.items()):
            if tensor.dim() and draw(st.booleans()):
                new[name] = torch.cat([tensor, tensor[:1]])
            flat = new[name].view(-1)
            for place in draw(st.lists(st.integers(0, max(0, flat.numel() - 1)), max_size=3)):
                if flat.numel():
                    flat[place] = draw(values(tensor.dtype, 1))[0]
        new[f"new.{step}"] = torch.randn(2, 2)
        found.append(new)
    return found


@given(histories())
def test_a_chain_of_differences_gives_back_every_bit(history: list[Tensors]) -> None:
    built: Tensors = {}
    for new in history:
        built = apply(built, difference(new, built))
        assert bits(built) == bits(new)
