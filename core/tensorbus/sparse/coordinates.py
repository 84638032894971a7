"""Arithmetic of coordinates: one number for each, sorting, duplicates, look-up, rows and counts."""

from __future__ import annotations

import math
from typing import Any

import tensorbus
from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.rows.layouts import contiguous_strides
from tensorbus.sparse.deferred import BagRows
from tensorbus.sparse.tensor import Coo

_FEW_PLACES = 8
"""A mark for each place costs less than sorting, where there are so many for each number."""


def flat_indices(indices: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """One number for each column of *indices*: its place in a row-major array of these sizes."""
    if math.prod(sizes) >= 2**63:
        raise RuntimeError(
            f"the sparse dimensions {list(sizes)} have more places than int64 can count"
        )
    if len(sizes) == 1:
        return indices[0]
    found = tensorbus.zeros(indices.shape[1], dtype=dtypes.int64, device=indices.device)
    for row, stride in zip(indices.unbind(0), contiguous_strides(sizes), strict=True):
        found = found + row * stride
    return found


def unflattened(flat: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The coordinates that the numbers of ``flat_indices`` stand for."""
    rows = []
    for size, stride in zip(sizes, contiguous_strides(sizes), strict=True):
        rows.append((flat // max(stride, 1)) % max(size, 1))
    if not rows:
        return tensorbus.zeros(0, flat.shape[0], dtype=dtypes.int64, device=flat.device)
    return tensorbus.stack(rows)


def sparse_sizes(a: Coo) -> tuple[int, ...]:
    """The sizes of the sparse dimensions."""
    return tuple(a.shape)[: a.indices._s[0]]


def dense_sizes(a: Coo) -> tuple[int, ...]:
    """The sizes of the dense dimensions."""
    return tuple(a.shape)[a.indices._s[0] :]


def added_up(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """The sums of the rows of *values* that belong to each of *count* groups."""
    if values.dtype is dtypes.bool:
        return added_up(values.to(dtypes.int64), groups, count) != 0
    start = tensorbus.zeros(
        count, *tuple(values.shape)[1:], dtype=values.dtype, device=values.device
    )
    return start.index_add(0, groups, values)


def sums_of(a: Coo, groups: Tensor, count: int) -> Tensor:
    """The sums of the values that belong to each of *count* groups."""
    if type(a.given) is BagRows:
        return a.given.added_up(groups, count)
    return added_up(a.values, groups, count)


def _sorted(flat: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers in order, that order, and whether each is the first of its equals."""
    ordered, order = tensorbus.sort(flat, stable=True)
    first = tensorbus.ones(flat.shape[0], dtype=dtypes.bool, device=flat.device)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered, order, first


def _groups(first: Tensor) -> Tensor:
    return first.to(dtypes.int64).cumsum(0) - 1


def grouped(flat: Tensor, places: int) -> tuple[Tensor, Tensor]:
    """The different numbers in order, all below *places*, and which of these each is."""
    if places > _FEW_PLACES * flat._s[0]:
        ordered, order, first = _sorted(flat)
        return ordered[first], tensorbus.empty_like(order).index_copy_(0, order, _groups(first))
    there = tensorbus.zeros(places, dtype=dtypes.bool, device=flat.device)
    there.index_fill_(0, flat, True)
    return there.nonzero()[:, 0], _groups(there).index_select(0, flat)


def groups_of(flat: Tensor, places: int) -> tuple[Tensor, int]:
    """A group for each number below *places*, equal ones alike, and a bound of the groups.

    Unlike ``grouped`` this reads no value: there are at most as many groups as numbers.
    """
    if places <= flat._s[0]:
        return flat, places
    _, order, first = _sorted(flat)
    return tensorbus.empty_like(order).index_copy_(0, order, _groups(first)), flat._s[0]


def coalesced(a: Coo) -> Coo:
    """The same tensor with each coordinate once, in row-major order; duplicates are added up."""
    if a.coalesced:
        return a
    sizes = sparse_sizes(a)
    flat, groups = grouped(flat_indices(a.indices, sizes), math.prod(sizes))
    if flat._s[0] < groups._s[0]:
        values = sums_of(a, groups, flat._s[0])
    else:
        numbers = tensorbus.arange(groups._s[0], device=groups.device)
        order = tensorbus.empty_like(groups).index_copy_(0, groups, numbers)
        values = a.values.index_select(0, order)
    return Coo(unflattened(flat, sizes), values, a.shape, True)


def places(flat: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Where each of *wanted* stands among the ordered numbers *flat*, and whether it does."""
    if not flat._s[0]:
        return tensorbus.zeros_like(wanted), tensorbus.zeros_like(wanted, dtype=dtypes.bool)
    at = tensorbus.searchsorted(flat, wanted).clamp(max=flat._s[0] - 1)
    return at, flat[at] == wanted


def counts_of(indices: Tensor, size: int) -> Tensor:
    """How often each number below *size* occurs."""
    ones = tensorbus.ones_like(indices)
    return added_up(ones, indices, size)


def starts_of(indices: Tensor, size: int) -> Tensor:
    """Where the elements of each row begin, and in the end their number; of ordered rows."""
    counts = counts_of(indices, size)
    zero = tensorbus.zeros(1, dtype=dtypes.int64, device=indices.device)
    return tensorbus.cat([zero, counts.cumsum(0)])


def rows_of(starts: Tensor) -> Tensor:
    """The row of each element, from where the rows begin; *starts* is of one dimension."""
    counts = starts[1:] - starts[:-1]
    rows = tensorbus.arange(counts.shape[0], device=starts.device)
    return tensorbus.repeat_interleave(rows, counts)


def to_strided(a: Coo) -> Tensor:
    """The dense tensor."""
    sizes = sparse_sizes(a)
    flat = flat_indices(a.indices, sizes)
    made = sums_of(a, flat, math.prod(sizes))
    return made if len(sizes) == 1 else made.reshape(tuple(a.shape))


def values_at(x: Tensor, indices: Tensor) -> Tensor:
    """The values of a dense tensor at coordinates of its first dimensions."""
    n = indices._s[0]
    sizes = tuple(x.shape)
    flat = flat_indices(indices, sizes[:n])
    return x.reshape(math.prod(sizes[:n]), *sizes[n:]).index_select(0, flat)


def empty_indices(n: int, device: Any) -> Tensor:
    """Coordinates of no elements."""
    return tensorbus.zeros(n, 0, dtype=dtypes.int64, device=device)
