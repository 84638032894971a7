"""Rows of views and reshaping, and of their derivatives."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.rows.layouts import contiguous_strides
from tensorbus.rows.registry import row

Shape = tuple[int, ...]

# fmt: off
row("view", "x:T, shape", "view",
    doc="The elements of *x* in another *shape*, without a copy.",
    x=lambda F, g, x_shape: F.reshape(g, tuple(x_shape)))
row("permute", "x:T, dims", "view",
    doc="*x* with its dimensions in the order *dims*.",
    x=lambda F, g, dims: F.permute(g, inverse(dims)))
row("expand", "x:T, shape", "view",
    doc="*x* with its dimensions of size 1 repeated, and new leading ones, to *shape*.",
    x=lambda F, g, x_shape: F.sum_to(g, tuple(x_shape)))
SLICE = row("slice", "x:T, dim, start, stop, step", "view",
    doc="The elements of *x* along *dim* from *start* to before *stop*, by *step*.",
    node_name="SliceBackward0",
    x=lambda F, g, x_shape, dim, start, stop, step:
        F.slice_backward(g, tuple(x_shape), dim, start, stop, step))
SELECT = row("select", "x:T, dim, i", "view",
    doc="The element *i* of *x* along *dim*, a dimension less.",
    x=lambda F, g, x_shape, dim, i: F.select_backward(g, tuple(x_shape), dim, i))
UNSQUEEZE = row("unsqueeze", "x:T, dim", "view",
    doc="*x* with a new dimension of size 1 at *dim*.",
    x=lambda F, g, dim: F.select(g, dim, 0))
row("strided", "x:T, shape, strides, offset", "view",
    doc="The storage of *x* seen with *shape*, *strides* and *offset*, in elements.",
    node_name="AsStridedBackward0",
    composite=lambda F, x, shape, strides, offset: F.as_strided(x, shape, strides, offset),
    x=lambda F, g, x_shape, shape, strides, offset:
        F.strided_backward(g, tuple(x_shape), strides, offset))
row("restrided", "x:T, shape, strides, offset, layout", "view",
    doc="``strided`` of a tensor whose own offset and strides in its storage are *layout*.",
    node_name="AsStridedBackward0",
    composite=lambda F, x, shape, strides, offset, layout: F.as_strided(x, shape, strides, offset),
    x=lambda F, g, x_shape, strides, offset, layout:
        _restrided_backward(F, g, tuple(x_shape), strides, offset, layout))
row("diagonal", "x:T, offset, dim0, dim1", "view",
    doc="The diagonal *offset* of the dimensions *dim0* and *dim1*, as the last dimension.",
    composite=lambda F, x, offset, dim0, dim1: _diagonal(F, x, offset, dim0, dim1),
    x=lambda F, g, x_shape, offset, dim0, dim1:
        F.diagonal_backward(g, tuple(x_shape), offset, dim0, dim1))
row("windows", "x:T, dim, size, step", "view",
    doc="The windows of *size* elements along *dim*, *step* apart, each along a new last "
        "dimension.",
    node_name="UnfoldBackward0",
    composite=lambda F, x, dim, size, step: _windows(F, x, dim, size, step),
    x=lambda F, g, x_shape, dim, size, step:
        F.windows_backward(g, tuple(x_shape), dim, size, step))
row("view_as_real", "x:T", "view", domain="complex", result="real",
    doc="The real and imaginary parts of *x*, in a new last dimension of 2.",
    composite=lambda F, x: _as_real(F, x),
    x=lambda F, g: F.view_as_complex(F.contiguous(g)))
row("view_as_complex", "x:T", "view", domain="ordered float", result="complex",
    doc="The pairs in the last dimension of *x* as complex numbers.",
    composite=lambda F, x: _as_complex(F, x),
    x=lambda F, g: F.view_as_real(g))
row("alias", "x:T", "view",
    doc="*x* itself, as another tensor.",
    composite=lambda F, x: x, x=lambda F, g: g)

# Whether it is a view or a copy is decided here, not by a backend.
row("reshape", "x:T, shape",
    doc="The elements of *x* in another *shape*, copied where no view has it.",
    kernel=None, composite=lambda F, x, shape: _reshape(F, x, shape))
row("clone", "x:T",
    doc="A copy of *x*.",
    composite=lambda F, x: _copy(F, x), x=lambda F, g: g)
row("sum_to", "x:T, shape",
    doc="The derivative of ``expand``: *x* summed over what broadcasting repeats of *shape*.",
    composite=lambda F, x, shape: _sum_to(F, x, shape),
    x=lambda F, g, x_shape: F.expand(g, tuple(x_shape)))
row("slice_backward", "g:T, shape, dim, start, stop, step",
    doc="The derivative of ``slice``: zeros of *shape* with *g* in that part.",
    composite=lambda F, g, shape, dim, start, stop, step:
        _write(F, shape, lambda z: F.slice(z, dim, start, stop, step), g),
    g=lambda F, g, dim, start, stop, step: F.slice(g, dim, start, stop, step))
row("select_backward", "g:T, shape, dim, i",
    doc="The derivative of ``select``: zeros of *shape* with *g* at index *i* of *dim*.",
    composite=lambda F, g, shape, dim, i: _write(F, shape, lambda z: F.select(z, dim, i), g),
    g=lambda F, g, dim, i: F.select(g, dim, i))
row("diagonal_backward", "g:T, shape, offset, dim0, dim1",
    doc="The derivative of ``diagonal``: zeros of *shape* with *g* on that diagonal.",
    composite=lambda F, g, shape, offset, dim0, dim1:
        _write(F, shape, lambda z: F.diagonal(z, offset, dim0, dim1), g),
    g=lambda F, g, offset, dim0, dim1: F.diagonal(g, offset, dim0, dim1))
row("windows_backward", "g:T, shape, dim, size, step",
    doc="The derivative of ``windows``: zeros of *shape*, with *g* added where each window lies.",
    in_float32=True,
    composite=lambda F, g, shape, dim, size, step: _windows_backward(F, g, shape, dim, size, step),
    g=lambda F, g, dim, size, step: F.windows(g, dim, size, step))
row("strided_backward", "g:T, shape, strides, offset",
    doc="The derivative of ``strided``: zeros of *shape*, with *g* added where each element was "
        "read.",
    in_float32=True,
    composite=lambda F, g, shape, strides, offset: _strided_backward(F, g, shape, strides, offset),
    g=lambda F, g, g_shape, strides, offset:
        F.strided(F.clone(g), tuple(g_shape), strides, offset))
# fmt: on


def inverse(dims: Shape) -> Shape:
    """The permutation that undoes another."""
    return tuple(dims.index(d) for d in range(len(dims)))


def _as_real(F: Any, x: Any) -> Any:
    _, offset, strides = F.layout(x)
    strides = (*(2 * s for s in strides), 1)
    return F.backend.as_strided(x, (*x.shape, 2), strides, 2 * offset, F.dtype, F.real.dtype)


def _as_complex(F: Any, x: Any) -> Any:
    _, offset, strides = F.layout(x)
    shape, strides = tuple(x.shape[:-1]), tuple(s // 2 for s in strides[:-1])
    return F.backend.as_strided(x, shape, strides, offset // 2, F.dtype, F.complex.dtype)


def _copy(F: Any, x: Any) -> Any:
    out = F.empty(x.shape)
    F.copy_(out, x)
    return out


def _write(F: Any, shape: Shape, view: Any, g: Any) -> Any:
    """Zeros with *g* written into one view of them."""
    out = F.zeros(shape)
    F.copy_(view(out), g)
    return out


def _strided_backward(F: Any, g: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """Each element's gradient goes where it was read, summed where it was read more than once."""
    if 0 in shape or 0 in g.shape:  # a view may read beyond an operand of no elements
        return F.zeros(shape)
    F64 = F.i64
    index = F64.full((), offset)
    for d, (n, stride) in enumerate(zip(g.shape, strides, strict=True)):
        steps = F64.mul(F64.arange(n, 0, 1), stride)
        index = F64.add(index, F64.view(steps, (1,) * d + (n,) + (1,) * (len(g.shape) - d - 1)))
    flat = F.zeros((math.prod(shape),))
    index = F64.reshape(F64.expand(index, tuple(g.shape)), (math.prod(g.shape),))
    F.scatter(flat, 0, index, F.reshape(g, (math.prod(g.shape),)), "add")
    return F.view(flat, shape)


def _restrided_backward(
    F: Any, g: Any, shape: Shape, strides: Shape, offset: int, layout: tuple[int, Shape]
) -> Any:
    """The gradient of the storage between the two views, as the operand lies in it."""
    own_offset, own = layout
    first = min(offset, own_offset)
    size = max(_end(tuple(g.shape), strides, offset), _end(shape, own, own_offset)) - first
    flat = F.strided_backward(g, (max(size, 0),), strides, offset - first)
    found = F.clone(F.strided(flat, shape, own, own_offset - first))
    if not _may_overlap(shape, own):
        return found
    # Elements of the operand that share an address have equal parts of its gradient.
    ones = F.full(shape, 1)
    count = F.strided_backward(ones, (max(size, 0),), own, own_offset - first)
    return F.div(found, F.clone(F.strided(count, shape, own, own_offset - first)))


def _may_overlap(shape: Shape, strides: Shape) -> bool:
    """Whether two elements of a view may share an address; where false, none do."""
    reached = 0
    for step, n in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if step <= reached:
            return True
        reached += step * (n - 1)
    return False


def _end(shape: Shape, strides: Shape, offset: int) -> int:
    """The offset after the last element of a view; its offset where it has none."""
    if 0 in shape:
        return offset
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _diagonal(F: Any, x: Any, offset: int, dim0: int, dim1: int) -> Any:
    _, start, strides = F.layout(x)
    rows, columns = x.shape[dim0], x.shape[dim1]
    n = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    rest = [d for d in range(len(x.shape)) if d not in (dim0, dim1)]
    shape = (*(x.shape[d] for d in rest), n)
    if 0 not in shape:
        start += offset * strides[dim1] if offset >= 0 else -offset * strides[dim0]
    steps = (*(strides[d] for d in rest), strides[dim0] + strides[dim1])
    return F.as_strided(x, shape, steps, start)


def _windows(F: Any, x: Any, dim: int, size: int, step: int) -> Any:
    _, offset, strides = F.layout(x)
    if not x.shape:
        return F.as_strided(x, (size,), (1,), offset)
    shape = (*x.shape[:dim], (x.shape[dim] - size) // step + 1, *x.shape[dim + 1 :], size)
    steps = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim])
    return F.as_strided(x, shape, steps, offset)


def _windows_backward(F: Any, g: Any, shape: Shape, dim: int, size: int, step: int) -> Any:
    if size <= step:
        return _write(F, shape, lambda z: F.windows(z, dim, size, step), g)
    strides = contiguous_strides(shape)
    windows = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim])
    return F.strided_backward(g, shape, windows, 0)


def _reshape(F: Any, x: Any, shape: Shape) -> Any:
    try:
        return F.view(x, shape)
    except OSError:  # of the handler of a signal
        raise
    except Exception:  # no view of that shape: a backend says so in its own way
        return F.view(F.contiguous(x), shape)


def _sum_to(F: Any, x: Any, shape: Shape) -> Any:
    own = tuple(x.shape)
    if own == tuple(shape):
        return x
    lead = len(own) - len(shape)
    dims = tuple(range(lead)) + tuple(
        d + lead for d, n in enumerate(shape) if n == 1 and own[d + lead] != 1
    )
    if dims:
        x = F.sum(x, dims)
    return F.view(F.contiguous(x), tuple(shape)) if tuple(x.shape) != tuple(shape) else x
