"""Differences between two versions of a model: only the slices of a tensor that changed.

A task claims some units of the network and leaves all others as they were, so a version is a small file beside the one
before it. Differences are exact: applied one after another they give back every bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
_WHOLE, _ROWS, _COLUMNS, _APPENDED = "whole", "rows", "columns", "appended"


def difference(new: dict[str, Tensor], old: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors to store so that `apply(old, ...)` gives ``new``; names are "<kind>/<name>", "<kind>.at/<name>"."""
    if lost := old.keys() - new.keys():
        raise ValueError(f"a version cannot lose tensors: {sorted(lost)[:3]}")
    stored: dict[str, Tensor] = {}
    for name, tensor in new.items():
        before = old.get(name)
        if before is None or before.dtype != tensor.dtype or before.dim() != tensor.dim():
            stored[f"{_WHOLE}/{name}"] = tensor
        elif before.shape != tensor.shape:
            stored |= _grown(name, tensor, before)
        elif not torch.equal(_raw(tensor), _raw(before)):
            stored |= _changed(name, tensor, before)
    return {name: tensor.detach().cpu().contiguous() for name, tensor in stored.items()}


def apply(old: dict[str, Tensor], stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of `difference`: a new dictionary, nothing of ``old`` changed in place."""
    new = dict(old)
    for key, tensor in stored.items():
        kind, _, name = key.partition("/")
        if kind == _WHOLE:
            new[name] = tensor
        elif kind == _APPENDED:
            new[name] = torch.cat([old[name], tensor])
        elif kind in (_ROWS, _COLUMNS):
            where = stored[f"{kind}.at/{name}"].long()
            new[name] = old[name].index_copy(0 if kind == _ROWS else 1, where, tensor)
        elif kind not in (f"{_ROWS}.at", f"{_COLUMNS}.at"):
            raise ValueError(f"{key!r} is no part of a difference")
    return new


def _grown(name: str, tensor: Tensor, before: Tensor) -> dict[str, Tensor]:
    grew = tensor.dim() > 0 and tensor.shape[1:] == before.shape[1:] and len(tensor) > len(before)
    if grew and torch.equal(_raw(tensor[: len(before)]), _raw(before)):
        return {f"{_APPENDED}/{name}": tensor[len(before) :]}
    return {f"{_WHOLE}/{name}": tensor}


def _changed(name: str, tensor: Tensor, before: Tensor) -> dict[str, Tensor]:
    if tensor.dim() == 0:
        return {f"{_WHOLE}/{name}": tensor}
    differs = _raw(tensor) != _raw(before)
    rows = differs.reshape(len(tensor), -1).any(dim=1).nonzero().squeeze(1)
    best, kind, where = len(rows) / len(tensor), _ROWS, rows
    if tensor.dim() == 2:
        columns = differs.any(dim=0).nonzero().squeeze(1)
        if len(columns) / tensor.shape[1] < best:
            best, kind, where = len(columns) / tensor.shape[1], _COLUMNS, columns
    if best > 0.9:  # the index would cost more than it saves
        return {f"{_WHOLE}/{name}": tensor}
    values = tensor.index_select(0 if kind == _ROWS else 1, where)
    return {f"{kind}/{name}": values, f"{kind}.at/{name}": where.to(torch.int32)}


def _raw(tensor: Tensor) -> Tensor:
    """The bits: 0.0 and -0.0 are not the same, NaN is the same as itself."""
    return tensor.contiguous().view(_BITS[tensor.dtype]) if tensor.dtype in _BITS else tensor
