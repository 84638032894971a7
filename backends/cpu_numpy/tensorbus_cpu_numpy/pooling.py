"""Pooling: vertical taps first, then horizontal ones, each over whole arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT, REAL
from tensorbus_cpu_numpy.indexing import apply
from tensorbus_cpu_numpy.windows import Pair, Windows, padded, windows

TABLE = Table()


def _lines(x: Array, at: Windows, i: int) -> Array:
    """The rows that the vertical tap *i* meets."""
    start, step = i * at.dilation[0], at.stride[0]
    return x[..., start : start + (at.output[0] - 1) * step + 1 : step, :]


def _points(x: Array, at: Windows, j: int) -> Array:
    """The columns that the horizontal tap *j* meets."""
    start, step = j * at.dilation[1], at.stride[1]
    return x[..., start : start + (at.output[1] - 1) * step + 1 : step]


def _folded(function: np.ufunc, x: Array, at: Windows) -> Array:
    """*function* over every window of the padded *x*."""
    lines = _lines(x, at, 0).copy()
    for i in range(1, at.kernel[0]):
        function(lines, _lines(x, at, i), out=lines)
    result = _points(lines, at, 0).copy()
    for j in range(1, at.kernel[1]):
        function(result, _points(lines, at, j), out=result)
    return result


def _least(dtype: np.dtype) -> float | int:
    return -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def max_pool2d(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> Array:
    """The largest value of each window of (..., H, W); NaN wins."""
    at = windows(x.shape[-2:], kernel, stride, padding, dilation, ceil_mode)
    return _folded(np.maximum, padded(x, at, _least(x.dtype)), at)


def max_pool2d_indices(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> Array:
    """Where the largest value of each window lies: ``row * W + column``, int64.

    The first of equals; among several NaN the last.
    """
    at = windows(x.shape[-2:], kernel, stride, padding, dilation, ceil_mode)
    image = padded(x, at, _least(x.dtype))
    best = _folded(np.maximum, image, at)
    kh, kw = kernel
    views = [_points(_lines(image, at, i), at, j) for i in range(kh) for j in range(kw)]
    small = np.uint8 if len(views) < 256 else np.int64
    # The number of taps before the first that equals the best.
    tap = np.zeros(best.shape, small)
    behind = np.ones(best.shape, np.bool_)
    for view in views[:-1]:
        behind &= view != best
        tap += behind.view(np.uint8)
    if x.dtype.kind == "f":
        missing = np.isnan(best)
        if missing.any():
            for number, view in enumerate(views):
                tap[np.isnan(view)] = number
    if padding != (0, 0) or ceil_mode:
        _keep_inside(tap, best, x.dtype, at)
    (dv, dh), (sv, sh), (ph, pw), width = at.dilation, at.stride, at.padding, x.shape[-1]
    steps = np.array([i * dv * width + j * dh for i in range(kh) for j in range(kw)])
    rows = np.arange(at.output[0]) * sv - ph
    columns = np.arange(at.output[1]) * sh - pw
    result = steps.take(tap)
    result += rows[:, None] * width + columns
    return result


def _keep_inside(tap: Array, best: Array, dtype: np.dtype, at: Windows) -> None:
    """Where all of a window is the least value, padding may have come first: take the image's."""
    least = best == _least(dtype)
    if not least.any():
        return
    kw, (dv, dh), (sv, sh) = at.kernel[1], at.dilation, at.stride
    first_row = -((np.arange(at.output[0]) * sv - at.padding[0]) // dv)
    first_column = -((np.arange(at.output[1]) * sh - at.padding[1]) // dh)
    inside = np.maximum(first_row, 0)[:, None] * kw + np.maximum(first_column, 0)
    np.copyto(tap, np.broadcast_to(inside, tap.shape).astype(tap.dtype), where=least)


def max_pool2d_backward(g: Array, indices: Array, input_shape: tuple[int, ...]) -> Array:
    """The gradient of ``max_pool2d``: each element of *g* added where its value came from."""
    plane = math.prod(input_shape[-2:])
    planes = math.prod(input_shape[:-2])
    flat = indices.reshape(planes, -1) + np.arange(0, planes * plane, plane)[:, None]
    result = np.zeros(planes * plane, np.float32 if g.dtype.itemsize == 2 else g.dtype)
    apply(result, flat.reshape(-1), g.reshape(-1), "add", half=False)
    return result.astype(g.dtype, copy=False).reshape(input_shape)


def _divisor(
    at: Windows, count_include_pad: bool, divisor_override: int | None, dtype: np.dtype
) -> Array:
    """What each window's sum is divided by: 0-d where it is the same for all."""
    if divisor_override is not None:
        return np.array(divisor_override, dtype)
    if all(_inside(at, axis, count_include_pad) for axis in range(2)):
        return np.array(math.prod(at.kernel), dtype)
    sides = []
    for axis in range(2):
        n, p, k = at.image[axis], at.padding[axis], at.kernel[axis]
        start = np.arange(at.output[axis]) * at.stride[axis] - p
        stop = np.minimum(start + k, n + p)
        if not count_include_pad:
            start, stop = np.maximum(start, 0), np.minimum(stop, n)
        sides.append(stop - start)
    return np.multiply.outer(*sides).astype(dtype)


def _inside(at: Windows, axis: int, count_include_pad: bool) -> bool:
    """Whether all windows have as many counted elements as their kernel."""
    p, stop = at.padding[axis], (at.output[axis] - 1) * at.stride[axis] + at.kernel[axis]
    if count_include_pad:
        return stop <= at.image[axis] + 2 * p
    return p == 0 and stop <= at.image[axis]


def avg_pool2d(
    x: Array,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The mean of each window of (..., H, W)."""
    at = windows(x.shape[-2:], kernel, stride, padding, (1, 1), ceil_mode)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    result = _folded(np.add, padded(wide, at), at)
    result /= _divisor(at, count_include_pad, divisor_override, result.dtype)
    return result.astype(x.dtype, copy=False)


def avg_pool2d_backward(
    g: Array,
    input_hw: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The gradient of ``avg_pool2d`` with respect to its input."""
    at = windows(input_hw, kernel, stride, padding, (1, 1), ceil_mode)
    wide = np.dtype(np.float32) if g.dtype.itemsize == 2 else g.dtype
    share = np.true_divide(g, _divisor(at, count_include_pad, divisor_override, wide), dtype=wide)
    height, width = at.reach()
    lines = np.zeros((*g.shape[:-1], width), wide)
    for j in range(kernel[1]):
        target = _points(lines, at, j)
        np.add(target, share, target)
    result = np.zeros((*g.shape[:-2], height, width), wide)
    for i in range(kernel[0]):
        target = _lines(result, at, i)
        np.add(target, lines, target)
    (ph, pw), (h, w) = padding, input_hw
    return result[..., ph : ph + h, pw : pw + w].astype(g.dtype)


def _offer(op: str, function: Kernel, *categories: str) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        return quiet(function)

    TABLE.add(op, categories, maker)


_offer("max_pool2d", max_pool2d, *REAL)
_offer("max_pool2d_indices", max_pool2d_indices, *REAL)
_offer("max_pool2d_backward", max_pool2d_backward, *REAL)
_offer("avg_pool2d", avg_pool2d, FLOAT)
_offer("avg_pool2d_backward", avg_pool2d_backward, FLOAT)
