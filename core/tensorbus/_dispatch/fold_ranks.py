"""Kernels that take few dimensions: operands of more are laid out row-major and folded.

For backends whose trait ``max_rank`` is below what tensors have. A pointwise op folds to one
dimension, a reduction to two, whatever works along one dimension to three: those before it, it,
those behind it. A product folds its batches to one. So three dimensions are enough for any kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus.plugin import shape_rules
from tensorbus.plugin.faults import IndexFault
from tensorbus.rows.registry import Row

Entry = Callable[..., Any]
Shape = tuple[int, ...]


def fold_ranks(kind: Any, row: Row, kernel: Entry) -> Entry:
    """The entry of a primitive whose kernel takes no more than the backend's ``max_rank``."""
    fold = _FOLDS.get(row.shape)
    if fold is None:  # no operands
        return kernel
    if row.writes:
        fold = _written
    folds = _Folds(kind, row)

    def entry(*operands: Any, out: Any = None) -> Any:
        if all(len(x.shape) <= folds.most for x in operands if hasattr(x, "shape")):
            return kernel(*operands) if out is None else kernel(*operands, out=out)
        made = fold(folds, kernel, *operands)
        if out is None or made is NotImplemented:
            return made
        return folds.result.copy_(out, made)

    return entry


class _Folds:
    """The kinds of an op's operands and of its result, and how arrays of them are folded."""

    def __init__(self, kind: Any, row: Row):
        self.kind = kind
        self.operands = [row.operand_kind(name, kind) for name in row.tensors]
        self.result = row.result_kind(kind)
        self.most: int = kind.backend.traits.max_rank

    def unfold(self, made: Any, shape: Shape) -> Any:
        """A result in the shape that it has; ``NotImplemented`` as it is."""
        if made is NotImplemented:
            return made
        return self.result.reshape(self.result.as_array(made), shape)


def _as(kind: Any, x: Any, shape: Shape) -> Any:
    """The elements of *x* in another shape: a view where *x* is row-major."""
    return kind.reshape(kind.contiguous(x), shape)


def _around(shape: Shape, dim: int) -> Shape:
    """The three dimensions that *shape* has around *dim*."""
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def _pointwise(f: _Folds, kernel: Entry, *operands: Any) -> Any:
    shape = shape_rules.broadcast(*operands)
    flat = [
        _as(k, k.expand(x, shape), (math.prod(shape),)) if hasattr(x, "shape") else x
        for k, x in zip(f.operands, operands, strict=True)
    ]
    return f.unfold(kernel(*flat), shape)


def _reduction(f: _Folds, kernel: Entry, x: Any, dims: Any, *more: Any) -> Any:
    shape: Shape = tuple(x.shape)
    gone = dims if isinstance(dims, tuple) else (dims,)
    kept = tuple(d for d in range(len(shape)) if d not in gone)
    left = tuple(shape[d] for d in kept)
    rows = math.prod(left), math.prod(shape[d] for d in gone)
    made = kernel(
        _as(f.kind, f.kind.permute(x, (*kept, *gone)), rows),
        (1,) if isinstance(dims, tuple) else 1,
        *more,
    )
    return f.unfold(made, left)


def _along(f: _Folds, kernel: Entry, x: Any, dim: int, *more: Any) -> Any:
    shape: Shape = tuple(x.shape)
    return f.unfold(kernel(_as(f.kind, x, _around(shape, dim)), 1, *more), shape)


def _product(f: _Folds, kernel: Entry, a: Any, b: Any, *more: Any) -> Any:
    *batch, m, n = shape_rules.product(a, b)
    factors = []
    for x in (a, b):
        last = tuple(x.shape[-2:])
        whole = f.kind.expand(x, (*batch, *last))
        factors.append(_as(f.kind, whole, (math.prod(batch), *last)))
    return f.unfold(kernel(*factors, *more), (*batch, m, n))


def _taken(f: _Folds, kernel: Entry, x: Any, dim: int, i: Any, *more: Any) -> Any:
    shape = shape_rules.taken(x, dim, i)
    folded = _as(f.kind, x, _around(tuple(x.shape), dim))
    return f.unfold(_named(dim, kernel, folded, 1, i, *more), shape)


def _gathered(f: _Folds, kernel: Entry, x: Any, dim: int, i: Any) -> Any:
    folded = _as(f.kind, x, _around(tuple(x.shape), dim))
    at = _as(f.kind.i64, i, _around(tuple(i.shape), dim))
    return f.unfold(_named(dim, kernel, folded, 1, at), tuple(i.shape))


def _written(f: _Folds, kernel: Entry, x: Any, dim: int, i: Any, src: Any, *more: Any) -> Any:
    shape: Shape = tuple(x.shape)
    picked = (*shape[:dim], i.shape[min(dim, len(i.shape) - 1)], *shape[dim + 1 :])
    if len(i.shape) > 1:
        i = _as(f.kind.i64, i, _around(picked, dim))
    if hasattr(src, "shape"):
        src = _as(f.kind, f.kind.expand(src, picked), _around(picked, dim))
    rows = f.kind.contiguous(x)
    made = _named(dim, kernel, f.kind.reshape(rows, _around(shape, dim)), 1, i, src, *more)
    if made is NotImplemented:
        return made
    return x if rows is x else f.kind.copy_(x, rows)


def _named(dim: int, kernel: Entry, *operands: Any) -> Any:
    """The kernel's result; a fault that it raises names the dimension that the caller gave."""
    try:
        return kernel(*operands)
    except IndexFault as fault:
        raise IndexFault(fault.value, dim, fault.n) from None


_FOLDS: dict[Any, Callable[..., Any]] = {
    shape_rules.broadcast: _pointwise,
    shape_rules.reduced: _reduction,
    shape_rules.same: _along,
    shape_rules.product: _product,
    shape_rules.taken: _taken,
    shape_rules.of_index: _gathered,
}
