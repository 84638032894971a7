"""NumPy's loops over rows as they lie in memory.

Where operands broadcast, or have gaps, NumPy copies them into buffers of 8,192 elements, so that
its loops are longer. For rows of some hundred elements the copies cost more than the loops: with
buffers no longer than such a row it computes twice as fast.
"""

from __future__ import annotations

import contextvars
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import FLOAT

_ROW = 256
"""The length of short buffers. Rows of up to so many elements are quicker in the usual ones, many
together: alone each is too little work for a loop."""


_FEW = 1 << 15
"""For fewer elements compositions are as quick."""


def are_many(x: Array) -> bool:
    """Whether an array has so many elements that blocks of it are quicker than the whole."""
    return x.size >= _FEW


def of_many(kernel: Kernel) -> Kernel:
    """*kernel* where its first operand has many elements; else the op's composition runs."""

    @may_decline
    @functools.wraps(kernel)
    def run(x: Array, *args: Any) -> Any:
        return kernel(x, *args) if x.size >= _FEW else NotImplemented

    return run


def offer_of_many(table: Table, op: str, kernel: Kernel) -> None:
    """Offer *kernel* in float32 and float64, for operands of many elements."""

    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(of_many(kernel)) if dtype.itemsize > 2 else None

    table.add(op, (FLOAT,), maker)


def by_rows(function: Callable[..., Any], rows: Array, *args: Any) -> Any:
    """The result of *function* of a matrix and *args*, in short buffers where its rows are long."""
    if rows.shape[1] <= _ROW:
        return function(rows, *args)
    return in_short_buffers(function, rows, *args)


def in_short_buffers(function: Callable[..., Any], *args: Any) -> Any:
    """The result of *function*, in which NumPy's buffers are short.

    Their length is a part of the context, as the caller's treatment of floating point errors is,
    and ends with it, also where an interrupt ends it. It costs 7 microseconds.
    """
    return contextvars.copy_context().run(_with_short_buffers, function, args)


def _with_short_buffers(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    np.setbufsize(_ROW)
    return function(*args)


_LOOP = 1 << 13
"""So long, NumPy's loops cost no more than their elements."""


def by_line(function: Callable[..., Any], rows: Array, line: Array, out: Array) -> None:
    """Write *function* of each of the *rows* and *line*, by longer rows with repeated lines."""
    times = math.gcd(len(rows), _LOOP // len(line) or 1)
    repeated = np.empty((times, len(line)), line.dtype)
    repeated[...] = line
    length = repeated.size
    function(rows.reshape(-1, length), repeated.reshape(length), out.reshape(-1, length))


_ELEMENTS = 1 << 15
"""What several arrays of so many elements take fits into the cache."""


Step = Callable[..., None]
"""``step(x, ..., out, *scratch)``: what is done to a piece of each operand."""


def pieces(step: Step, *arrays: Array, rows: int = 1) -> None:
    """Call *step* on flat pieces of arrays of one shape and dtype, the last for the results.

    It gets as long *rows* of scratch as well. Arrays that are not contiguous are copied.
    """
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    scratch = np.empty((rows, min(_ELEMENTS, flat[-1].size)), flat[-1].dtype)
    for start in range(0, flat[-1].size, _ELEMENTS):
        few = [a[start : start + _ELEMENTS] for a in flat]
        step(*few, *scratch[:, : few[-1].size])


def by_pieces(step: Step, rows: int = 1) -> Kernel:
    """The kernel of one operand that calls ``step(x, out, *scratch)`` on pieces."""

    def kernel(x: Array, out: Array | None = None) -> Array:
        made = np.empty(x.shape, x.dtype)
        pieces(step, x, made, rows=rows)
        return into(out, made)

    return quiet(kernel)


_OF_ROWS = 1 << 18
"""Elements of the rows in one block. A block of a norm takes a dozen calls of NumPy, which are some
30 microseconds: blocks a quarter as large were slower by a third, although the second cache of
that processor has 512 KiB."""


def blocks(rows: Array) -> Iterator[slice]:
    """Slices of a matrix's rows that have some hundred thousand elements each."""
    count, n = rows.shape
    step = max(1, _OF_ROWS // max(1, n))
    for start in range(0, count, step):
        yield slice(start, start + step)
