"""Rows of the primitives that users reach through other ops only, and of their derivatives."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import row

# fmt: off
row("where", "c:T, x:T, y:T", keeps_order=True,
    x=lambda F, g, c, x_shape: F.sum_to(F.where(c, g, F.number(0)), tuple(x_shape)),
    y=lambda F, g, c, y_shape: F.sum_to(F.where(c, F.number(0), g), tuple(y_shape)))
row("matmul", "x:T, y:T", domain="number",
    x=lambda F, g, y, x_shape: _matmul_x(F, g, y, x_shape),
    y=lambda F, g, x, y_shape: _matmul_y(F, g, x, y_shape))
row("take", "x:T, dim, i:T, wrap",
    x=lambda F, g, x_shape, dim, i, wrap: F.index_add_zeros(g, tuple(x_shape), dim, i, wrap))
row("picked_along", "x:T, dim, i:T", piecewise_linear=True,
    composite=lambda F, x, dim, i: F.take(x, dim, i, False),
    x=lambda F, g, x_shape, dim, i: F.index_add_zeros(g, tuple(x_shape), dim, i, False))
row("gather", "x:T, dim, i:T",
    x=lambda F, g, x_shape, dim, i: F.scatter_add_zeros(g, tuple(x_shape), dim, i))
row("put", "x:T, dim, i:T, src:T, op, wrap")
row("scatter", "x:T, dim, i:T, src:T, op")
row("index_add_zeros", "g:T, shape, dim, i:T, wrap",
    composite=lambda F, g, shape, dim, i, wrap: F.put(F.zeros(shape), dim, i, g, "add", wrap),
    g=lambda F, g, dim, i, wrap: F.take(g, dim, i, wrap))
row("scatter_add_zeros", "g:T, shape, dim, i:T",
    composite=lambda F, g, shape, dim, i:
        F.scatter(F.zeros(shape), dim, i, narrowed(F, g, i.shape), "add"),
    g=lambda F, g, dim, i: F.gather(narrowed_but(F, g, tuple(i.shape), dim), dim, i))
row("argsort", "x:T, dim", result="int64")
row("arange", "n, start, step:T")
row("random_bits", "key, offset, n:T")
row("cat", "x:T, y:T, dim", composite=lambda F, x, y, dim: join(F, (x, y), dim),
    x=lambda F, g, x_shape, dim: F.slice(g, dim, 0, x_shape[dim], 1),
    y=lambda F, g, x_shape, dim: F.slice(g, dim, x_shape[dim], g.shape[dim], 1))
row("concatenate", "x:T, dim", composite=lambda F, x, dim: join(F, x, dim))  # raw: a list
row("flip", "x:T, dims", keeps_order=True, composite=lambda F, x, dims: _flip(F, x, dims),
    x=lambda F, g, dims: F.flip(g, dims))
# fmt: on


def _swap_last(F: Any, x: Any) -> Any:
    rank = len(x.shape)
    return F.permute(x, (*range(rank - 2), rank - 1, rank - 2))


def _matmul_x(F: Any, g: Any, y: Any, x_shape: Any) -> Any:
    return F.sum_to(F.matmul(g, _swap_last(F, y)), tuple(x_shape))


def _matmul_y(F: Any, g: Any, x: Any, y_shape: Any) -> Any:
    return F.sum_to(F.matmul(_swap_last(F, x), g), tuple(y_shape))


def narrowed(F: Any, x: Any, shape: Any) -> Any:
    """The leading corner of *x* that has the given shape."""
    for dim, n in enumerate(shape):
        if x.shape[dim] != n:
            x = F.slice(x, dim, 0, n, 1)
    return x


def narrowed_but(F: Any, x: Any, shape: Any, dim: int) -> Any:
    """The leading corner of *x* that has the given shape in all dimensions but one."""
    return narrowed(F, x, (*shape[:dim], x.shape[dim], *shape[dim + 1 :]))


def join(F: Any, arrays: Any, dim: int) -> Any:
    """Arrays one after another along a dimension, in a new array."""
    shape = list(arrays[0].shape)
    shape[dim] = sum(x.shape[dim] for x in arrays)
    out = F.empty(tuple(shape))
    at = 0
    for x in arrays:
        n = x.shape[dim]
        if n:
            F.copy_(F.slice(out, dim, at, at + n, 1), x)
        at += n
    return out


def _flip(F: Any, x: Any, dims: Any) -> Any:
    shape = x.shape
    if F.backend.traits.negative_strides:
        for d in dims:
            if shape[d] > 1:
                x = F.slice(x, d, shape[d] - 1, None, -1)
        return F.clone(x)
    for d in dims:
        if shape[d] > 1:
            x = F.take(x, d, F.i64.arange(shape[d], shape[d] - 1, -1), False)
    return F.clone(x)
