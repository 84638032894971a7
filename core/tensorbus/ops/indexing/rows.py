"""Rows of picking and writing elements by index, and of their derivatives."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import row

# fmt: off
row("take", "x:T, dim, i:int64, wrap",
    doc="The slices of *x* along *dim* that the vector *i* selects; with *wrap* -1 is the last.",
    x=lambda F, g, x_shape, dim, i, wrap: F.index_add_zeros(g, tuple(x_shape), dim, i, wrap))
row("picked_along", "x:T, dim, i:int64",
    doc="``take(x, dim, i, False)``, as the reductions that pick an element along *dim* use it.",
    piecewise_linear=True,
    composite=lambda F, x, dim, i: F.take(x, dim, i, False),
    x=lambda F, g, x_shape, dim, i: F.index_add_zeros(g, tuple(x_shape), dim, i, False))
row("gather", "x:T, dim, i:int64",
    doc="One element of *x* along *dim* for each element of *i*, in the shape of *i*.",
    x=lambda F, g, x_shape, dim, i: F.scatter_add_zeros(g, tuple(x_shape), dim, i))
row("put", "x:T, dim, i:int64, src:T, op, wrap",
    doc="Writes the slices of *src* to those that the vector *i* selects in *x* along *dim*, "
        "joined by *op*.",
    writes=True)
row("scatter", "x:T, dim, i:int64, src:T, op",
    doc="Writes the elements of *src* to those that *i* selects in *x* along *dim*, joined by "
        "*op*.",
    writes=True)
row("index_add_zeros", "g:T, shape, dim, i:int64, wrap",
    doc="The derivative of ``take``: zeros of *shape*, with the slices of *g* added where *i* "
        "selects.",
    composite=lambda F, g, shape, dim, i, wrap: F.put(F.zeros(shape), dim, i, g, "add", wrap),
    g=lambda F, g, dim, i, wrap: F.take(g, dim, i, wrap))
row("scatter_add_zeros", "g:T, shape, dim, i:int64",
    doc="The derivative of ``gather``: zeros of *shape*, with *g* added where *i* selects.",
    composite=lambda F, g, shape, dim, i:
        F.scatter(F.zeros(shape), dim, i, narrowed(F, g, i.shape), "add"),
    g=lambda F, g, dim, i: F.gather(narrowed_but(F, g, tuple(i.shape), dim), dim, i))
# fmt: on


def narrowed(F: Any, x: Any, shape: Any) -> Any:
    """The leading corner of *x* that has the given shape."""
    for dim, n in enumerate(shape):
        if x.shape[dim] != n:
            x = F.slice(x, dim, 0, n, 1)
    return x


def narrowed_but(F: Any, x: Any, shape: Any, dim: int) -> Any:
    """The leading corner of *x* that has the given shape in all dimensions but one."""
    return narrowed(F, x, (*shape[:dim], x.shape[dim], *shape[dim + 1 :]))
