"""The standard's functions that search, sort and find what is unique."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorbus
from tensorbus import Tensor
from tensorbus.array_api._operands import both, dims


class UniqueAll(NamedTuple):
    """What ``unique_all`` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What ``unique_counts`` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What ``unique_inverse`` returns."""

    values: Tensor
    inverse_indices: Tensor


def _extreme(function: Any, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if axis is None:
        made = function(x.flatten())
        return made.reshape((1,) * x.ndim) if keepdims else made
    return function(x, dims(axis, x)[0], keepdim=keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first greatest element along an axis, or of all."""
    return _extreme(tensorbus.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first least element along an axis, or of all."""
    return _extreme(tensorbus.argmin, x, axis, keepdims)


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that sort x along an axis."""
    return tensorbus.argsort(x, dim=axis, descending=descending, stable=stable)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Which elements of x1 are, or with invert are not, elements of x2."""
    return tensorbus.isin(*both(x1, x2), invert=invert)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, an array for each dimension."""
    if not x.ndim:
        raise ValueError("nonzero(): an array without dimensions has no indices")
    return tuple(tensorbus.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where the values x2 go into the sorted x1, or into x1 in the order of sorter."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(): side must be 'left' or 'right', but got {side!r}")
    x1, x2 = both(x1, x2)
    if sorter is not None:
        x1 = tensorbus.index_select(x1, 0, sorter.to(tensorbus.int64))
    return tensorbus.searchsorted(x1.contiguous(), x2.contiguous(), side=side)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """x sorted along an axis."""
    return tensorbus.sort(x, dim=axis, descending=descending, stable=stable)[0]


def unique_all(x: Tensor, /) -> UniqueAll:
    """Each value once; where it is first; which value each element is; how often it occurs."""
    values, inverse, counts = _unique(x)
    places = tensorbus.arange(x.numel(), device=x.device)
    first = tensorbus.full((values.numel(),), x.numel(), dtype=places.dtype, device=x.device)
    first = first.scatter_reduce(0, inverse.flatten(), places, "amin")
    return UniqueAll(values, first, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Each value once, and how often it occurs."""
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Each value once, and which of them each element is."""
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """Each value once."""
    return _unique(x)[0]


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if not x.is_complex():
        return tensorbus.unique(x, return_inverse=True, return_counts=True)
    pairs = tensorbus.view_as_real(x.flatten())
    values, inverse, counts = tensorbus.unique(
        pairs, return_inverse=True, return_counts=True, dim=0
    )
    return tensorbus.view_as_complex(values), inverse.reshape(x.shape), counts


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """x1 where the condition holds, else x2."""
    return tensorbus.where(condition, *both(x1, x2))


__all__ = [
    "argmax", "argmin", "argsort", "isin", "nonzero", "searchsorted", "sort", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "where",
]  # fmt: skip
