"""Rows of bags: slices of a table, picked by indices, and joined over runs of these.

``i`` are the N indices, ``bounds`` the B + 1 bounds of the bags in it, which ascend from 0; what
lies behind the last one is in no bag. An index that is *padding* counts as not there; -1: none is.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus.rows.registry import row

# fmt: off
row("bag_sum", "w:T, i:int64, bounds:int64, f:T?, padding", domain="ordered float",
    doc="The sum over each bag, between neighbouring *bounds*, of the rows of *w* that *i* names "
        "but *padding*, each times its factor in *f*.",
    composite=lambda F, w, i, bounds, f, padding: _sum(F, w, i, bounds, f, padding),
    w=lambda F, g, w_shape, i, bounds, f, padding:
        F.bag_spread(g, i, bounds, f, padding, w_shape[0]),
    f=lambda F, g, w, i, bounds, padding: F.bag_products(g, w, i, bounds, padding))
row("bag_spread", "x:T, i:int64, bounds:int64, f:T?, padding, size", domain="ordered float",
    doc="The derivative of ``bag_sum``: *size* rows of zeros, with the row of *x* of each bag, "
        "between neighbouring *bounds*, added to those that *i* names but *padding*, times *f*.",
    composite=lambda F, x, i, bounds, f, padding, size:
        _spread(F, x, i, bounds, f, padding, size),
    x=lambda F, g, i, bounds, f, padding: F.bag_sum(g, i, bounds, f, padding),
    f=lambda F, g, x, i, bounds, padding: F.bag_products(x, g, i, bounds, padding))
row("bag_rows", "x:T, i:int64, bounds:int64, f:T?, padding", domain="ordered float",
    doc="For each index in *i* but *padding* the row of *x* of its bag, between neighbouring "
        "*bounds*, times its factor in *f*; zeros for those that are in no bag.",
    composite=lambda F, x, i, bounds, f, padding: _rows(F, x, i, bounds, f, padding))
row("bag_products", "x:T, w:T, i:int64, bounds:int64, padding", domain="ordered float",
    doc="For each index in *i* but *padding* the inner product of its row of *w* and of the row of "
        "*x* of its bag, between neighbouring *bounds*.",
    composite=lambda F, x, w, i, bounds, padding: _products(F, x, w, i, bounds, padding),
    x=lambda F, g, w, i, bounds, padding: F.bag_sum(w, i, bounds, g, padding),
    w=lambda F, g, x, w_shape, i, bounds, padding:
        F.bag_spread(x, i, bounds, g, padding, w_shape[0]))
row("bag_max", "w:T, i:int64, bounds:int64, padding", domain="ordered float",
    results="y:same at:int64", node_name="EmbeddingBagBackward0",
    doc="The maximum *y* over each bag, between neighbouring *bounds*, of the rows of *w* that *i* "
        "names but *padding*, 0 where there is none, and *at* which row it is, -1 for none.",
    composite=lambda F, w, i, bounds, padding: _max(F, w, i, bounds, padding),
    w=lambda F, g, w_shape, at: F.bag_max_backward(g[0], at, w_shape[0]))
row("bag_max_backward", "x:T, at:int64, size", domain="ordered float",
    doc="The derivative of ``bag_max``: *size* rows of zeros, to which *x* is added where *at* "
        "says.",
    composite=lambda F, x, at, size: _max_backward(F, x, at, size),
    x=lambda F, g, at: _max_picked(F, g, at))
# fmt: on


def _owners(F: Any, i: Any, bounds: Any, padding: int) -> tuple[Any, Any]:
    """The bag of each index, and whether it counts; bags that do not ascend are an index fault."""
    J, n, bags = F.i64, i.shape[0], bounds.shape[0] - 1
    ends, starts = J.slice(bounds, 0, 1, bags + 1, 1), J.slice(bounds, 0, 0, bags, 1)
    ends = J.where(J.lt(ends, starts), J.full((), -1), ends)
    marks = J.zeros((n + 1,))
    J.put(marks, 0, J.slice(bounds, 0, 0, 1, 1), J.full((1,), 1), "add", False)
    J.put(marks, 0, ends, J.full((bags,), 1), "add", False)
    owner = J.sub(J.cumsum(J.slice(marks, 0, 0, n, 1), 0), 1)
    counts = J.lt(owner, bags)
    if padding >= 0:
        counts = F.bool.bitwise_and(counts, J.ne(i, padding))
    return J.where(counts, owner, J.full((), 0)), counts


def _nothing(i: Any, bounds: Any) -> bool:
    return 0 in (i.shape[0], bounds.shape[0] - 1)


def _weighted(F: Any, rows: Any, f: Any, counts: Any) -> Any:
    if f is not None:
        rows = F.mul(rows, F.unsqueeze(f, 1))
    return F.where(F.bool.unsqueeze(counts, 1), rows, F.full((), 0))


def _sum(F: Any, w: Any, i: Any, bounds: Any, f: Any, padding: int) -> Any:
    made = F.zeros((bounds.shape[0] - 1, w.shape[1]))
    if _nothing(i, bounds):
        return made
    owner, counts = _owners(F, i, bounds, padding)
    rows = _weighted(F, F.take(w, 0, i, False), f, counts)
    return F.put(made, 0, owner, rows, "add", False)


def _spread(F: Any, x: Any, i: Any, bounds: Any, f: Any, padding: int, size: int) -> Any:
    made = F.zeros((size, x.shape[1]))
    if _nothing(i, bounds):
        return made
    return F.put(made, 0, i, _rows(F, x, i, bounds, f, padding), "add", False)


def _rows(F: Any, x: Any, i: Any, bounds: Any, f: Any, padding: int) -> Any:
    if _nothing(i, bounds):
        return F.zeros((i.shape[0], x.shape[1]))
    owner, counts = _owners(F, i, bounds, padding)
    return _weighted(F, F.take(x, 0, owner, False), f, counts)


def _products(F: Any, x: Any, w: Any, i: Any, bounds: Any, padding: int) -> Any:
    if _nothing(i, bounds):
        return F.zeros(tuple(i.shape))
    owner, counts = _owners(F, i, bounds, padding)
    both = F.mul(F.take(x, 0, owner, False), F.take(w, 0, i, False))
    return F.where(counts, F.sum(both, (1,)), F.full((), 0))


def _max(F: Any, w: Any, i: Any, bounds: Any, padding: int) -> tuple[Any, Any]:
    J, n, shape = F.i64, i.shape[0], (bounds.shape[0] - 1, w.shape[1])
    if _nothing(i, bounds):
        return F.zeros(shape), J.full(shape, -1)
    owner, counts = _owners(F, i, bounds, padding)
    counts, owned = F.bool.unsqueeze(counts, 1), F.take(w, 0, i, False)
    rows = F.where(counts, owned, F.full((), -math.inf))
    top = F.put(F.full(shape, -math.inf), 0, owner, rows, "amax", False)
    reached = F.bool.bitwise_or(F.eq(rows, F.take(top, 0, owner, False)), F.ne(rows, rows))
    reached = F.bool.bitwise_and(reached, counts)
    place = J.where(reached, J.unsqueeze(J.arange(n, 0, 1), 1), J.full((), n))
    first = J.put(J.full(shape, n), 0, owner, place, "amin", False)
    none = J.le(J.full((), n), first)
    picked = J.reshape(J.where(none, J.full((), 0), first), (shape[0] * shape[1],))
    at = J.reshape(J.take(i, 0, picked, False), shape)
    return F.where(none, F.full((), 0), top), J.where(none, J.full((), -1), at)


def _picked(F: Any, at: Any) -> tuple[Any, Any]:
    there = F.i64.le(F.i64.full((), 0), at)
    return there, F.i64.where(there, at, F.i64.full((), 0))


def _max_backward(F: Any, g: Any, at: Any, size: int) -> Any:
    there, index = _picked(F, at)
    values = F.where(there, g, F.full((), 0))
    return F.scatter(F.zeros((size, g.shape[1])), 0, index, values, "add")


def _max_picked(F: Any, g: Any, at: Any) -> Any:
    there, index = _picked(F, at)
    return F.where(there, F.gather(g, 0, index), F.full((), 0))
