"""Values added at their indices, one after the other, by loops of SciPy's sparse matrices.

A matrix with a single one in each column adds each row of values to the row that its index names:
memory is read in its order, and no index is sorted. NumPy's ``add.at`` takes twice as long for
elements, and twenty times for rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array

_MANY = 1 << 14
"""Fewer values are not worth the import of SciPy's package."""


@functools.cache
def loops() -> Any:
    """The module with SciPy's loops; None where it is not installed, or they are not as known."""
    try:
        from scipy.sparse import _sparsetools as found

        i, values, rows = np.array([1, 0, 1]), np.arange(6.0), np.ones((2, 2))
        _add_rows(found, rows, i, values.reshape(3, 2))
        elements = np.ones(2)
        _add_elements(found, elements, i, values[:3])
        lines = np.ones((2, 2))
        _add_to_lines(found, lines, i.reshape(-1, 1)[:2], values[:2])
        sums, ends = np.zeros((2, 2)), np.array([0, 1, 3])
        found.csr_matvecs(2, 2, 2, ends, i, values[:3], rows.reshape(-1), sums.reshape(-1))
        scaled = np.ones(3)
        found.csr_scale_rows(2, 2, ends, ends, scaled, values[1:3])
        turned = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3)
        found.csr_tocsc(2, 2, ends, i, values[:3], *turned)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    known = np.array_equal(rows, [[3, 4], [5, 7]]) and np.array_equal(elements, [2, 3])
    known = known and np.array_equal(lines, [[1, 1], [2, 1]])
    known = known and np.array_equal(sums, [[0, 0], [13, 18]])
    known = known and np.array_equal(scaled, [1, 2, 2])
    known = known and [x.tolist() for x in turned] == [[0, 1, 3], [1, 0, 1], [1, 0, 2]]
    return found if known else None


def add(out: Array, i: Array, values: Array) -> bool:
    """Add each of *values* to the row, or the element, of *out* at its index; False: not done."""
    return _add(_add_elements if out.ndim == 1 else _add_rows, out, i, values)


def add_to_lines(out: Array, i: Array, values: Array) -> bool:
    """Add each of *values* to the element at its index in its line of *out*; False: not done."""
    return _add(_add_to_lines, out, i, values)


def _add(way: Callable[..., None], out: Array, i: Array, values: Array) -> bool:
    if values.size < _MANY or out.dtype != values.dtype or out.dtype.name not in _DTYPES:
        return False
    if not out.flags.carray or i.dtype != np.int64:
        return False
    found = loops()
    if found is None:
        return False
    if np.may_share_memory(out, values):
        values = values.copy()
    way(found, out, np.ascontiguousarray(i), np.ascontiguousarray(values))
    return True


_DTYPES = ("float32", "float64")
"""Each value is multiplied with one, which spoils infinities of complex numbers."""


def _add_rows(found: Any, rows: Array, i: Array, values: Array) -> None:
    n, width = len(i), math.prod(rows.shape[1:])
    ones = np.ones(n, rows.dtype)
    shape = len(rows), n, width
    found.csc_matvecs(*shape, np.arange(n + 1), i, ones, values.reshape(-1), rows.reshape(-1))


def _add_elements(found: Any, out: Array, i: Array, values: Array) -> None:
    """As a product of a matrix of one column, which names its rows alone, and a single one."""
    one, ends = np.ones(1, out.dtype), np.array([0, len(i)])
    found.csc_matvec(len(out), 1, ends, i, values, one, out)


def _add_to_lines(found: Any, out: Array, i: Array, values: Array) -> None:
    """As a sparse matrix that is added to a dense one."""
    n, m = out.shape[-1], i.shape[-1]
    ends = np.arange(0, i.size + 1, m)
    found.csr_todense(len(ends) - 1, n, ends, i.reshape(-1), values.reshape(-1), out.reshape(-1))
