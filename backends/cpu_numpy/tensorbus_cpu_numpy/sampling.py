"""Planes sampled at any places, as bags of the rows that the channels of an element are.

So the elements that a place takes from are read once for all channels. Without SciPy's loops the
composition is as quick.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import Array, IndexFault, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import sparse
from tensorbus_cpu_numpy.bags import Bags, product

TABLE = Table()

_MANY = 1 << 12
"""Below so many products the steps of the composition cost no more."""
_CACHED = 1 << 15
"""What a few arrays of so many elements take fits into the cache."""


def _few(x: Array, i: Array) -> bool:
    return i.size * x.shape[1] < _MANY or sparse.loops() is None


def _by_element(x: Array, zeros: int = 0) -> Array:
    """Of planes (N, C, P) a row for each element, and after those of each plane further *zeros*."""
    n, c, size = x.shape
    made = np.empty((n, size + zeros, c), x.dtype)
    made[:, :size] = x.transpose(0, 2, 1)
    made[:, size:] = 0
    return made.reshape(-1, c)


def _rows(i: Array, size: int) -> Iterator[Array]:
    """For each of the K indices (K, N, Q) of all sums which of the rows of all planes they name,
    of which each plane has *size* and a zero."""
    if np.minimum.reduce(i, None) < 0 or np.maximum.reduce(i, None) > size:
        raise IndexFault(int(i[(i < 0) | (i > size)][0]), 0, size + 1)
    planes = np.arange(0, i.shape[1] * (size + 1), size + 1)[:, None]
    for own in i:
        yield (own + planes).reshape(-1)


def _add_products(loop: str, x: Array, made: Array, i: Array, f: Array | None, size: int) -> None:
    """Add the product of *x* and of a matrix with an element in each row, or of its transpose."""
    n = i[0].size
    factors = itertools.repeat(None) if f is None else np.ascontiguousarray(f).reshape(-1, n)
    for rows, own in zip(_rows(i, size), factors, strict=False):
        product(loop, x, made, Bags(np.arange(n + 1), rows, own))


def sampled(x: Array, i: Array, f: Array | None) -> Any:
    """The sums of the elements that *i* names."""
    if _few(x, i):
        return NotImplemented
    (n, c, size), q = x.shape, i.shape[2]
    made = np.zeros((n * q, c), x.dtype)
    _add_products("csr_matvecs", _by_element(x, 1), made, i, f, size)
    return np.ascontiguousarray(made.reshape(n, q, c).transpose(0, 2, 1))


def sampled_spread(x: Array, i: Array, f: Array | None, size: int) -> Any:
    """Each element of *x* added to those that *i* names in its place."""
    if _few(x, i):
        return NotImplemented
    n, c, _ = x.shape
    made = np.zeros((n * (size + 1), c), x.dtype)
    _add_products("csc_matvecs", _by_element(x), made, i, f, size)
    return np.ascontiguousarray(made.reshape(n, size + 1, c)[:, :size].transpose(0, 2, 1))


def sampled_products(x: Array, w: Array, i: Array) -> Any:
    """For each element of *i* the products of *x* in its place and of what it names in *w*, summed
    over the channels."""
    if _few(w, i):
        return NotImplemented
    c = x.shape[1]
    of_w, of_x = _by_element(w, 1), _by_element(x)
    made, ones = np.empty((len(i), len(of_x)), x.dtype), np.ones(c, x.dtype)
    size = min(len(of_x), max(1, _CACHED // c))
    taken = np.empty((size, c), x.dtype)
    for rows, sums in zip(_rows(i, w.shape[2]), made, strict=True):
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            both = taken[: len(rows) - start]
            of_w.take(rows[part], 0, both, "clip")
            np.multiply(both, of_x[part], both)
            np.dot(both, ones, sums[part])
    return made.reshape(i.shape)


def _offer(function: Kernel) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(may_decline(function)) if dtype.itemsize > 2 else None

    TABLE.add(function.__name__, (FLOAT,), maker)


for _function in (sampled, sampled_spread, sampled_products):
    _offer(_function)
