"""Two-dimensional pools."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.ops.nn.convolution import Pair, folded, padded, windows
from tensorbus.rows.registry import row

# fmt: off
row("max_pool2d", "x:T, kernel, stride, padding, dilation, ceil_mode",
    doc="The largest element of each window of the planes *x*.",
    node_name="MaxPool2DWithIndicesBackward0",
    piecewise_linear=True,
    composite=lambda F, x, kernel, stride, padding, dilation, ceil_mode: F.amax(
        _windows(F, x, kernel, stride, padding, dilation, ceil_mode), (2, 3)),
    x=lambda F, g, x, kernel, stride, padding, dilation, ceil_mode: F.max_pool2d_backward(
        g, F.max_pool2d_indices(x, kernel, stride, padding, dilation, ceil_mode),
        tuple(x.shape)))
row("max_pool2d_indices", "x:T, kernel, stride, padding, dilation, ceil_mode",
    doc="The index, in its plane, of the largest element of each window of the planes *x*.",
    result="int64",
    composite=lambda F, x, kernel, stride, padding, dilation, ceil_mode:
        _indices(F, x, kernel, stride, padding, dilation, ceil_mode))
row("max_pool2d_backward", "g:T, i:int64, shape",
    doc="The derivative of ``max_pool2d``: zeros of *shape*, with *g* added at the indices *i*.",
    in_float32=True,
    composite=lambda F, g, i, shape: _scattered(F, g, i, shape),
    g=lambda F, g, g_shape, i: F.picked(g, i))
row("picked", "x:T, i:int64",
    doc="The elements of the planes *x* at the indices *i*, which count through a plane.",
    composite=lambda F, x, i: _picked(F, x, i),
    x=lambda F, g, x_shape, i: F.max_pool2d_backward(g, i, tuple(x_shape)))
row("unpooled", "x:T, i:int64, length",
    doc="Lines of *length* zeros, with the elements of the lines *x* at the indices *i*.",
    composite=lambda F, x, i, length: F.scatter(F.zeros((x.shape[0], length)), 1, i, x, "set"),
    x=lambda F, g, i: F.gather(g, 1, i))
row("avg_pool2d", "x:T, kernel, stride, padding, ceil_mode, count_include_pad, divisor",
    doc="The mean of each window of the planes *x*, or its sum divided by *divisor*.",
    piecewise_linear=True,
    in_float32=True,
    composite=lambda F, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor:
        _average(F, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor),
    x=lambda F, g, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor:
        F.avg_pool2d_backward(g, tuple(x_shape[2:]), kernel, stride, padding, ceil_mode,
                              count_include_pad, divisor))
row("avg_pool2d_backward",
    "g:T, size, kernel, stride, padding, ceil_mode, count_include_pad, divisor",
    doc="The derivative of ``avg_pool2d``: *g* spread evenly over the windows, in planes of "
        "*size*.",
    in_float32=True,
    composite=lambda F, g, size, kernel, stride, padding, ceil_mode, count_include_pad, divisor:
        _average_backward(F, g, size, kernel, stride, padding, ceil_mode, count_include_pad,
                          divisor),
    g=lambda F, g, kernel, stride, padding, ceil_mode, count_include_pad, divisor:
        F.avg_pool2d(g, kernel, stride, padding, ceil_mode, count_include_pad, divisor))
# fmt: on


def pooled_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """The size of a pool's result; with *ceil* a last window may hang over the edge."""
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    size = (span + (stride - 1 if ceil else 0)) // stride + 1
    if ceil and (size - 1) * stride >= n + padding:
        size -= 1  # a window that starts in the padding behind holds nothing
    return size


def _overhang(
    shape: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool
) -> Pair:
    """How far the last windows reach beyond the padded planes."""
    extra = []
    for d in (0, 1):
        n = shape[2 + d]
        size = pooled_size(n, kernel[d], stride[d], padding[d], dilation[d], ceil)
        reach = (size - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1
        extra.append(max(reach - n - 2 * padding[d], 0))
    return extra[0], extra[1]


def _lowest(F: Any) -> float:
    if F.is_float:
        return -math.inf
    return -(2 ** (F.dtype.bits - 1)) if F.dtype.is_signed else 0


def _windows(
    F: Any, x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool
) -> Any:
    extra = _overhang(x.shape, kernel, stride, padding, dilation, ceil)
    view = windows(F, padded(F, x, padding, _lowest(F), extra), kernel, stride, dilation)
    return F.slice(F.slice(view, 4, 0, _size(x, 0, kernel, stride, padding, dilation, ceil), 1),
                   5, 0, _size(x, 1, kernel, stride, padding, dilation, ceil), 1)  # fmt: skip


def _size(
    x: Any, d: int, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool
) -> int:
    return pooled_size(x.shape[2 + d], kernel[d], stride[d], padding[d], dilation[d], ceil)


def _indices(
    F: Any, x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool
) -> Any:
    """The index of each maximum in its plane, counted row by row."""
    view = _windows(F, x, kernel, stride, padding, dilation, ceil)
    n, c, kh, kw, oh, ow = view.shape
    I = F.i64  # noqa: E741
    taps = F.view(F.clone(view), (n, c, kh * kw, oh, ow))
    tap = F.argmax(taps, 2)
    i, j = I.floor_divide(tap, kw), I.fmod(tap, kw)
    rows = I.view(I.arange(oh, -padding[0], stride[0]), (1, 1, oh, 1))
    columns = I.view(I.arange(ow, -padding[1], stride[1]), (1, 1, 1, ow))
    at_row = I.add(I.mul(i, dilation[0]), rows)
    at_column = I.add(I.mul(j, dilation[1]), columns)
    return I.add(I.mul(at_row, x.shape[3]), at_column)


def _scattered(F: Any, g: Any, i: Any, shape: Any) -> Any:
    n, c, h, w = shape
    length = g.shape[2] * g.shape[3]
    flat = F.scatter(
        F.zeros((n, c, h * w)), 2, F.i64.reshape(i, (n, c, length)), F.reshape(g, (n, c, length)),
        "add",
    )  # fmt: skip
    return F.view(flat, (n, c, h, w))


def _picked(F: Any, x: Any, i: Any) -> Any:
    n, c, h, w = x.shape
    oh, ow = i.shape[2:]
    flat = F.gather(F.reshape(x, (n, c, h * w)), 2, F.i64.reshape(i, (n, c, oh * ow)))
    return F.view(F.contiguous(flat), (n, c, oh, ow))


def _average(
    F: Any,
    x: Any,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil: bool,
    include: bool,
    divisor: Any,
) -> Any:
    extra = _overhang(x.shape, kernel, stride, padding, (1, 1), ceil)
    planes = padded(F, x, padding, 0.0, extra)
    oh, ow = (_size(x, d, kernel, stride, padding, (1, 1), ceil) for d in (0, 1))
    total = F.zeros((x.shape[0], x.shape[1], oh, ow))
    for i in range(kernel[0]):
        rows = F.slice(planes, 2, i, i + (oh - 1) * stride[0] + 1, stride[0])
        for j in range(kernel[1]):
            tap = F.slice(rows, 3, j, j + (ow - 1) * stride[1] + 1, stride[1])
            F.add(total, tap, out=total)
    return _divided(F, total, x.shape[2:], kernel, stride, padding, include, divisor)


def _divided(
    F: Any,
    total: Any,
    size: Any,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    include: bool,
    divisor: Any,
) -> Any:
    oh, ow = total.shape[2:]
    if divisor is not None:
        return _quotient(F, total, divisor)
    counts = []
    for d, n in enumerate((oh, ow)):
        limit = size[d] + padding[d]
        line = []
        for at in range(n):
            start = at * stride[d] - padding[d]
            end = min(start + kernel[d], limit)
            line.append(end - start if include else min(end, size[d]) - max(start, 0))
        counts.append(line)
    if len(set(counts[0])) == 1 and len(set(counts[1])) == 1:
        return _quotient(F, total, counts[0][0] * counts[1][0])
    for d, line in enumerate(counts):
        along = F.empty((len(line),))
        for at, count in enumerate(line):
            F.copy_(F.select(along, 0, at), float(count) if F.is_float else count)
        shape = (1, 1, len(line), 1) if d == 0 else (1, 1, 1, len(line))
        total = _quotient(F, total, F.view(along, shape))
    return total


def _quotient(F: Any, total: Any, count: Any) -> Any:
    """The mean; of integers rounded towards 0."""
    if not F.is_float:
        return F.floor_divide(F.sub(total, F.fmod(total, count)), count)
    return F.div(total, float(count) if isinstance(count, int) else count)


def _average_backward(
    F: Any, g: Any, size: Pair, kernel: Pair, stride: Pair, padding: Pair, ceil: bool,
    include: bool, divisor: Any,
) -> Any:  # fmt: skip
    share = _divided(F, g, size, kernel, stride, padding, include, divisor)
    n, c, oh, ow = share.shape
    taps = F.expand(F.view(F.contiguous(share), (n, c, 1, 1, oh, ow)), (n, c, *kernel, oh, ow))
    extra = _overhang((n, c, *size), kernel, stride, padding, (1, 1), ceil)
    whole = (size[0] + extra[0], size[1] + extra[1])
    out = folded(F, taps, whole, stride, padding, (1, 1))
    out = F.slice(out, 2, 0, size[0], 1)
    return F.slice(out, 3, 0, size[1], 1)
