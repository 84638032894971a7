"""Sums and maxima of bags of rows, and their derivatives.

Sums are the product with one sparse matrix, which has a row for each bag, and in it what each index
counts; its bounds, indices and factors are the operands as they come, and its transpose in another
format has the same three. Of a table larger than the cache each row is fetched once, for all bags
that name it. Without SciPy's loops, and for maxima, the first rows of all bags are picked at once,
then the second ones, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorbus.plugin import Array, IndexFault, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy import sparse
from tensorbus_cpu_numpy.ordering import counted_order

TABLE = Table()

_MANY = 1 << 12
"""Below so many elements the steps of the composition cost no more than these checks."""
_CACHED = 1 << 15
"""What a few arrays of so many elements take fits into the cache."""
_LARGE = 1 << 20
"""A table of more bytes does not stay in a core's own cache."""
_TOGETHER = 8
"""How many bags have to have a further row on average, so that these are picked at once."""


# -- operands ----------------------------------------------------------------------------------
class Bags(NamedTuple):
    """Where bags begin and end in what their indices and factors are."""

    bounds: Array
    i: Array
    f: Array | None


def _bags(i: Array, bounds: Array, f: Array | None, padding: int, n: int) -> Bags | None:
    """The bags without padding; None for bounds that do not ascend, and IndexFault for what is
    outside of *n* rows."""
    if bounds[0] or bounds[-1] > len(i) or (bounds[1:] < bounds[:-1]).any():
        return None
    if np.minimum.reduce(i) < 0 or np.maximum.reduce(i) >= n:
        raise IndexFault(int(i[(i < 0) | (i >= n)][0]), 0, n)
    if padding >= 0:
        counts = i != padding
        bounds = np.concatenate(([0], np.cumsum(counts)))[bounds]
        i, f = i[counts], f if f is None else f[counts]
    return Bags(np.ascontiguousarray(bounds), np.ascontiguousarray(i), f)


def _few(x: Array, i: Array, bounds: Array) -> bool:
    return i.size * x.shape[1] < _MANY or len(bounds) < 2


def _owners(bounds: Array) -> Array:
    """The bag of each index."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


# -- step by step ------------------------------------------------------------------------------
def _steps(bags: Bags, width: int) -> Iterator[tuple[Array, Iterator[Array]]] | None:
    """Some bags at a time, of which none is empty: which they are, and where their first rows lie,
    then the second ones of those that have one, and so on; None where few bags have many rows."""
    counts = np.diff(bags.bounds)
    if not counts.size or bags.bounds[-1] < _TOGETHER * np.maximum.reduce(counts):
        return None
    return _some_at_once(bags, counts, max(_TOGETHER, _CACHED // max(1, width)))


def _some_at_once(bags: Bags, counts: Array, most: int) -> Iterator[tuple[Array, Iterator[Array]]]:
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    for first in range(0, len(order), most):
        chosen = order[first : first + most]
        yield chosen, _places(bags.bounds[chosen], counts[chosen])


def _places(starts: Array, counts: Array) -> Iterator[Array]:
    """Of bags that get shorter."""
    lefts = np.searchsorted(-counts, -np.arange(counts[0])).tolist()
    for step, left in enumerate(lefts):
        yield starts[:left] + step


def _added(x: Array, bags: Bags, made: Array) -> Any:
    """*made*, with the rows of *x* that each bag names added to its row."""
    steps = _steps(bags, x.shape[1])
    if steps is None:
        return NotImplemented
    for chosen, places in steps:
        total = np.zeros((len(chosen), x.shape[1]), x.dtype)
        scratch = np.empty_like(total)
        for at in places:
            rows, now = scratch[: len(at)], total[: len(at)]
            x.take(bags.i[at], 0, rows, "clip")
            if bags.f is not None:
                rows *= bags.f[at, None]
            np.add(now, rows, now)
        made[chosen] = total
    return made


def _turned(bags: Bags) -> tuple[Array, Bags]:
    """The rows that bags name, and for each of these the bags that name it."""
    i = bags.i[: bags.bounds[-1]]
    order = counted_order(i, int(np.maximum.reduce(i)) + 1) if i.size else i
    found = i[order]
    starts = np.flatnonzero(np.concatenate(([True], found[1:] != found[:-1]))) if i.size else i
    f = None if bags.f is None else bags.f[order]
    return found[starts], Bags(np.append(starts, len(i)), _owners(bags.bounds)[order], f)


# -- sums --------------------------------------------------------------------------------------
def product(loop: str, x: Array, made: Array, bags: Bags) -> None:
    """Add to *made* the product of *x* and the matrix that bags are, or of its transpose."""
    f = np.ones(len(bags.i), x.dtype) if bags.f is None else np.ascontiguousarray(bags.f)
    shape = len(made), len(x), x.shape[1]
    operands = (bags.bounds, bags.i, f, x.reshape(-1), made.reshape(-1))
    getattr(sparse.loops(), loop)(*shape, *operands)


def _by_rows(rows: int, x: Array, bags: Bags) -> bool:
    """Whether what bags name is most of a large table of *rows* as wide as *x*, so that it is
    better passed from its first row to its last."""
    large = rows * x.itemsize * x.shape[1] > _LARGE
    return large and len(bags.bounds) <= rows <= 2 * bags.bounds[-1]


def _by_row(bags: Bags, n: int, dtype: Any) -> Bags:
    """For each of *n* rows the bags that name it, and with which factors."""
    f = np.ones(len(bags.i), dtype) if bags.f is None else np.ascontiguousarray(bags.f)
    count = bags.bounds[-1]
    bounds, owners = np.empty(n + 1, np.int64), np.empty(count, np.int64)
    factors = np.empty(count, dtype)
    operands = (bags.bounds, bags.i, f, bounds, owners, factors)
    sparse.loops().csr_tocsc(len(bags.bounds) - 1, n, *operands)
    return Bags(bounds, owners, factors)


def bag_sum(w: Array, i: Array, bounds: Array, f: Array | None, padding: int) -> Any:
    """The sum of the rows of *w* in each bag."""
    if _few(w, i, bounds):
        return NotImplemented
    bags = _bags(i, bounds, f, padding, len(w))
    if bags is None:
        return NotImplemented
    w = np.ascontiguousarray(w)
    made = np.zeros((len(bounds) - 1, w.shape[1]), w.dtype)
    if sparse.loops() is None:
        return _added(w, bags, made)
    if _by_rows(len(w), w, bags):
        product("csc_matvecs", w, made, _by_row(bags, len(w), w.dtype))
    else:
        product("csr_matvecs", w, made, bags)
    return made


def bag_spread(x: Array, i: Array, bounds: Array, f: Array | None, padding: int, size: int) -> Any:
    """Each row of *x* added to the rows that its bag names."""
    if _few(x, i, bounds):
        return NotImplemented
    bags = _bags(i, bounds, f, padding, size)
    if bags is None:
        return NotImplemented
    x = np.ascontiguousarray(x)
    made = np.zeros((size, x.shape[1]), x.dtype)
    if sparse.loops() is not None:
        if _by_rows(size, x, bags):
            product("csr_matvecs", x, made, _by_row(bags, size, x.dtype))
        else:
            product("csc_matvecs", x, made, bags)
        return made
    named, turned = _turned(bags)
    sums = _added(x, turned, np.zeros((len(named), x.shape[1]), x.dtype))
    if sums is NotImplemented:
        return sums
    made[named] = sums
    return made


def bag_rows(x: Array, i: Array, bounds: Array, f: Array | None, padding: int) -> Any:
    """For each index the row of *x* of its bag."""
    if _few(x, i, bounds):
        return NotImplemented
    if bounds[0] or bounds[-1] > len(i) or (bounds[1:] < bounds[:-1]).any():
        return NotImplemented
    last = int(bounds[-1])
    made = np.empty((len(i), x.shape[1]), x.dtype)
    x.take(_owners(bounds), 0, made[:last], "clip")
    made[last:] = 0
    if f is not None:
        made[:last] *= f[:last, None]
    if padding >= 0:
        made[i == padding] = 0
    return made


def _products(x: Array, w: Array, i: Array, made: Array, owners: Array, size: int) -> None:
    """Some rows at a time, beside those of their bags."""
    of_x, of_w = (np.empty((min(size, len(i)), w.shape[1]), w.dtype) for _ in range(2))
    for start in range(0, len(owners), size):
        part = slice(start, start + size)
        own = owners[part]
        a, b = of_x[: len(own)], of_w[: len(own)]
        x.take(own, 0, a, "clip")
        w.take(i[: len(owners)][part], 0, b, "clip")
        np.vecdot(a, b, out=made[part])


def _even_products(x: Array, w: Array, i: Array, made: Array, size: int) -> None:
    """Of bags with equally many rows: a matrix for each bag."""
    each = made.shape[1]
    count = size // each
    of_w = np.empty((count * each, w.shape[1]), w.dtype)
    for start in range(0, len(x), count):
        own, found = x[start : start + count, :, None], made[start : start + count, :, None]
        rows = of_w[: found.size]
        w.take(i[start * each :][: found.size], 0, rows, "clip")
        np.matmul(rows.reshape(-1, each, w.shape[1]), own, found)


def bag_products(x: Array, w: Array, i: Array, bounds: Array, padding: int) -> Any:
    """For each index the inner product of its row of *w* and of its bag's row of *x*."""
    if _few(w, i, bounds):
        return NotImplemented
    bags = _bags(i, bounds, None, -1, len(w))
    if bags is None:
        return NotImplemented
    x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
    made, size = np.zeros(len(i), w.dtype), max(1, _CACHED // w.shape[1])
    found = made[: bounds[-1]]
    if 1 < bounds[1] <= size and (bounds == np.arange(len(bounds)) * bounds[1]).all():
        _even_products(x, w, bags.i, found.reshape(len(x), bounds[1]), size)
    else:
        _products(x, w, bags.i, found, _owners(bounds), size)
    if padding >= 0:
        made[i == padding] = 0
    return made


# -- maxima ------------------------------------------------------------------------------------
def bag_max(w: Array, i: Array, bounds: Array, padding: int) -> Any:
    """The maximum over each bag of the rows of *w*, and which row it is of."""
    if _few(w, i, bounds):
        return NotImplemented
    bags = _bags(i, bounds, None, padding, len(w))
    steps = None if bags is None else _steps(bags, w.shape[1])
    if bags is None or steps is None:
        return NotImplemented
    w = np.ascontiguousarray(w)
    made = np.zeros((len(bounds) - 1, w.shape[1]), w.dtype)
    at = np.full(made.shape, -1)
    for chosen, places in steps:
        top, step = _greatest(w, bags.i, places)
        if np.isnan(np.maximum.reduce(top, None)):  # which of the rows it is says the composition
            return NotImplemented
        made[chosen] = top
        at[chosen] = bags.i[bags.bounds[chosen, None] + step]
    return made, at


def _greatest(w: Array, i: Array, places: Iterator[Array]) -> tuple[Array, Array]:
    """The maxima of some bags, and the first step in which each is found.

    The last step that has more than all before it is the largest that has: so no element is chosen.
    """
    top = w.take(i[next(places)], 0)
    rows, more = np.empty_like(top), np.empty(top.shape, bool)
    steps, best = np.empty(top.shape, np.uint8), np.zeros(top.shape, np.uint8)
    for number, at in enumerate(places, 1):
        n = len(at)
        if number == 256:
            steps, best = np.empty(top.shape, np.uint32), best.astype(np.uint32)
        w.take(i[at], 0, rows[:n], "clip")
        np.greater(rows[:n], top[:n], more[:n])
        np.maximum(rows[:n], top[:n], out=top[:n])
        np.multiply(more[:n].view(np.uint8), steps.dtype.type(number), steps[:n])
        np.maximum(steps[:n], best[:n], out=best[:n])
    return top, best


def bag_max_backward(x: Array, at: Array, size: int) -> Any:
    """Each element of *x* added to its column of the row that *at* says."""
    if x.size < _MANY:
        return NotImplemented
    width = x.shape[1]
    if np.maximum.reduce(at, None) >= size:
        return NotImplemented
    made = np.zeros((size, width), x.dtype)
    places, values = (at * width + np.arange(width)).reshape(-1), x.reshape(-1)
    if np.minimum.reduce(at, None) < 0:
        there = at.reshape(-1) >= 0
        places, values = places[there], values[there]
    if not sparse.add(made.reshape(-1), places, values):
        np.add.at(made.reshape(-1), places, values)
    return made


def _offer(function: Kernel) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(may_decline(function)) if dtype.itemsize > 2 else None

    TABLE.add(function.__name__, (FLOAT,), maker)


for _function in (bag_sum, bag_spread, bag_rows, bag_products, bag_max, bag_max_backward):
    _offer(_function)
