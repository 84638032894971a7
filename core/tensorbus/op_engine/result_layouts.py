"""The strides of results: pointwise ones whose operands differ in shape or layout, and matrices."""

from __future__ import annotations

from typing import Any

from tensorbus._base.size import Size, size_of
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import PERMUTED, Tensor
from tensorbus.op_engine.history import edge_of
from tensorbus.rows.layouts import (
    broadcast_shapes,
    column_major_strides,
    contiguous_strides,
    empty_in_layout,
    pointwise_strides,
)
from tensorbus.rows.registry import Row


def pointwise(row: Row, k: Kind, *operands: Any) -> tuple[Any, Size, Any]:
    """(array, Size, base mark) of a pointwise op whose operands differ in shape or layout."""
    entry = getattr(k, row.name)
    tensors = [o for o in operands if isinstance(o, Tensor)]
    for t in tensors:
        if t._b is not None and t._b is not PERMUTED:
            t._e = edge_of(t)
    arrays = [o._a if isinstance(o, Tensor) else o for o in operands]
    if all(t._b is None or k.is_contiguous(t._a) for t in tensors):
        r = entry(*arrays)
        base = None
        if 1 in r.shape and _stretched(row, operands):
            r, base = laid_out(row.result_kind(k), r, *tensors)
        return r, size_of(r.shape), base
    shape = tuple(broadcast_shapes(*(t._s for t in tensors)))
    laid = [(tuple(t._s), tuple(t._k.strides(t._a))) for t in tensors]
    strides = pointwise_strides(shape, *laid)
    out = empty_in_layout(row.result_kind(k), shape, strides)
    entry(*arrays, out=out)
    return out, size_of(shape), None if strides == contiguous_strides(shape) else PERMUTED


def _stretched(row: Row, operands: tuple[Any, ...]) -> bool:
    """Whether views and operands of other shapes meet: strides of sizes of 1 are kept then."""
    if row.form != "binary":
        return False
    views = [o for o in operands if isinstance(o, Tensor) and o._b is not None and 1 in o._s]
    if all(tuple(v._k.strides(v._a)) == contiguous_strides(v._s) for v in views):
        return False  # row-major operands have a row-major result
    shapes = [o._s if isinstance(o, Tensor) else () for o in operands]
    return any(s != shapes[0] for s in shapes)


def laid_out(k: Kind, r: Any, *tensors: Tensor) -> tuple[Any, Any]:
    """(array, base mark) of a pointwise result, in the layout that its operands ask for."""
    shape = tuple(r.shape)
    laid = [(tuple(t._s), tuple(t._k.strides(t._a))) for t in tensors]
    return _moved(k, r, pointwise_strides(shape, *laid))


def by_columns(k: Kind, r: Any) -> tuple[Any, Any]:
    """(array, base mark) of a result whose matrices lie column by column."""
    return _moved(k, r, column_major_strides(tuple(r.shape)))


def _moved(k: Kind, r: Any, strides: tuple[int, ...]) -> tuple[Any, Any]:
    """(array, base mark) of a result, in memory with these strides."""
    shape = tuple(r.shape)
    if tuple(k.strides(r)) != strides:
        out = empty_in_layout(k, shape, strides)
        k.copy_(out, r)
        r = out
    return r, None if strides == contiguous_strides(shape) else PERMUTED
