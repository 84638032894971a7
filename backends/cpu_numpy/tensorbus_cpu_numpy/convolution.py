"""Convolution as matrix products, forward and backward, without a loop over pixels or images.

Groups, and large images with some channels, go by lines (``lines.py``) where windows move by one
pixel. Else there are two layouts of the windows, both seen to win where the other loses:

- *columns*: each image's windows as the columns of a matrix, one product for each image. Threads
  share the batch. Best for very few channels; also does groups and any geometry.
- *rows*: the batch is the innermost dimension and only the horizontal taps are copied out. The
  vertical ones are rows of the same memory, which BLAS reads through an overlapping view, so a
  kernel of height 5 copies a fifth. Best for many channels and small images.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT
from tensorbus_cpu_numpy import lines
from tensorbus_cpu_numpy.depthwise import depthwise, depthwise_input, depthwise_weight, suits
from tensorbus_cpu_numpy.threads import buffer, spread
from tensorbus_cpu_numpy.windows import Pair, Windows, padded, taps, windows

TABLE = Table()

_IMAGES = 16
"""Images in one block at most: enough to keep the interpreter out."""
_TOGETHER = 1 << 19
"""Elements of the columns, or rows, of the images in one block."""
_ONE_THREAD = 1 << 18
"""OpenBLAS runs products of fewer multiplications in one thread, so several may run at a time."""
_CACHED = 1 << 19
"""Elements of one image's columns at most."""
_FEW_PIXELS = 16
"""Fewer are multiplied with those of other images together."""


def _prefers_rows(at: Windows, channels: int, filters: int, groups: int) -> bool:
    """Whether transposing images and results costs less than copying every window's runs."""
    if groups != 1 or at.dilation[0] != 1:
        return False
    (h, w), (kh, kw), (oh, ow) = at.image, at.kernel, at.output
    return 5 * channels * kh * kw * oh > channels * h * w + filters * oh * ow


def _one_to_one(at: Windows) -> bool:
    """Whether each window is one pixel of the padded image, and each pixel a window."""
    return at.kernel == (1, 1) and at.stride == (1, 1)


def _row_step(at: Windows, filters: int, size: int) -> int:
    """Output rows per product: few enough for one thread, or for the cache if one is too many."""
    one = filters * size * at.output[1]
    room = _ONE_THREAD // one if one <= _ONE_THREAD else _CACHED // (size * at.output[1])
    return max(1, min(at.output[0], room))


def _images(each: int) -> int:
    """Images in one block, of so many elements each."""
    images = _IMAGES
    while images > 1 and images * each > _TOGETHER:
        images //= 2
    return images


def _images_by_rows(at: Windows, channels: int) -> int:
    return _images(at.image[0] * at.kernel[1] * channels * at.output[1])


def _rows_of(at: Windows, start: int, stop: int) -> Windows:
    return at._replace(output=(stop - start, at.output[1]))


def _columns(x: Array, at: Windows, groups: int, start: int, stop: int) -> Array:
    """(images, groups, channels * taps, pixels): the windows of output rows *start* to *stop*."""
    n, c = x.shape[:2]
    pixels = (stop - start) * at.output[1]
    if _one_to_one(at):
        return x[:, :, start:stop].reshape(n, groups, c // groups, pixels)
    part = taps(x[:, :, start * at.stride[0] :], _rows_of(at, start, stop))
    columns = buffer("columns", part.shape, x.dtype)
    columns[...] = part
    return columns.reshape(n, groups, c // groups * at.kernel[0] * at.kernel[1], pixels)


def _image_rows(x: Array, at: Windows) -> Array:
    """(output rows, horizontal taps * channels * kernel rows, pixels), overlapping."""
    n, c, h, w = x.shape
    kh, kw = at.kernel
    oh, ow = at.output
    turned = buffer("turned", (h, c, w, n), x.dtype)
    turned[...] = x.transpose(2, 1, 3, 0)
    v, s, p, i = turned.strides
    dh, sh = at.dilation[1], at.stride[1]
    rows = buffer("rows", (h, kw, c, ow, n), x.dtype)
    rows[...] = as_strided(turned, rows.shape, (v, p * dh, s, p * sh, i))
    step, size = rows.strides[0], x.itemsize
    return as_strided(rows, (oh, kh * kw * c, ow * n), (step * at.stride[0], ow * n * size, size))


def conv2d(x: Array, w: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Array:
    """The cross-correlation of images (N, C, H, W) with filters (O, C / groups, kh, kw)."""
    n, c = x.shape[:2]
    o = w.shape[0]
    at = windows(x.shape[2:], w.shape[2:], stride, padding, dilation)
    oh, ow = at.output
    if suits(x, o, groups, stride):
        return depthwise(x, w, at)
    if not _one_to_one(at) and lines.suits(x, o, groups, stride, oh * ow):
        return lines.conv2d(x, w, at, groups)
    y = np.empty((n, o, oh, ow), x.dtype)
    if _prefers_rows(at, c, o, groups):
        matrix = w.transpose(0, 2, 3, 1).reshape(o, -1)

        def by_rows(a: int, b: int) -> None:
            part = buffer("product", (oh, o, ow * (b - a)), x.dtype)
            np.matmul(matrix, _image_rows(padded(x[a:b], at), at), part)
            y[a:b] = part.reshape(oh, o, ow, b - a).transpose(3, 1, 0, 2)

        spread(by_rows, n, _images_by_rows(at, c), small=False)
        return y
    matrix = w.reshape(groups, o // groups, -1)
    grouped = y.reshape(n, groups, o // groups, oh * ow)
    step = _row_step(at, o // groups, matrix.shape[2])

    def by_columns(a: int, b: int) -> None:
        image = padded(x[a:b], at)
        for start in range(0, oh, step):
            stop = min(oh, start + step)
            columns = _columns(image, at, groups, start, stop)
            np.matmul(matrix, columns, grouped[a:b, :, :, start * ow : stop * ow])

    images = _images(groups * matrix.shape[2] * step * ow)
    spread(by_columns, n, images, matrix.shape[1] * matrix.shape[2] * ow <= _ONE_THREAD)
    return y


def conv2d_weight(
    g: Array,
    x: Array,
    kernel_hw: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """The gradient of ``conv2d`` with respect to the filters, from that of its result, *g*."""
    n, c = x.shape[:2]
    o = g.shape[1]
    kh, kw = kernel_hw
    at = windows(x.shape[2:], kernel_hw, stride, padding, dilation)
    oh, ow = at.output
    if suits(x, o, groups, stride):
        result = depthwise_weight(g, x, at)
        if result is not None:
            return result
    elif not _one_to_one(at) and lines.suits(x, o, groups, stride, oh * ow):
        return lines.conv2d_weight(g, x, at, groups)
    parts: dict[Pair, Array] = {}
    if _prefers_rows(at, c, o, groups):

        def by_rows(a: int, b: int) -> None:
            turned = buffer("product", (oh, o, ow, b - a), x.dtype)
            turned[...] = g[a:b].transpose(2, 1, 3, 0)
            turned = turned.reshape(oh, o, -1).transpose(0, 2, 1)
            products = np.matmul(_image_rows(padded(x[a:b], at), at), turned)
            parts[a, 0] = np.add.reduce(products, 0)

        spread(by_rows, n, _images_by_rows(at, c), small=False)
        total = _in_order(parts).reshape(kh, kw, c, o)
        return np.ascontiguousarray(total.transpose(3, 2, 0, 1))
    size = c // groups * kh * kw
    grouped = g.reshape(n, groups, o // groups, oh * ow)
    step = _row_step(at, o // groups, size)

    def by_columns(a: int, b: int) -> None:
        image = padded(x[a:b], at)
        for start in range(0, oh, step):
            stop = min(oh, start + step)
            columns = _columns(image, at, groups, start, stop).transpose(0, 1, 3, 2)
            each = np.matmul(grouped[a:b, :, :, start * ow : stop * ow], columns)
            parts[a, start] = np.add.reduce(each, 0)

    images = _images(groups * size * step * ow)
    spread(by_columns, n, images, o // groups * size * ow <= _ONE_THREAD)
    return _in_order(parts).reshape(o, c // groups, kh, kw)


def _in_order(parts: dict[Pair, Array]) -> Array:
    """The sum of the parts in the batch's order, so that threads do not change its last bits."""
    return np.add.reduce([parts[key] for key in sorted(parts)], 0)


def conv2d_input(
    g: Array,
    w: Array,
    input_hw: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """The gradient of ``conv2d`` with respect to the images, from that of its result, *g*."""
    n, o = g.shape[:2]
    c = w.shape[1] * groups
    at = windows(input_hw, w.shape[2:], stride, padding, dilation)
    if suits(g, c, groups, stride):
        found = depthwise_input(g, w, at)
        if found is not None:
            return found
    elif not _one_to_one(at) and lines.suits_input(g, c, groups, stride, math.prod(input_hw)):
        found = lines.conv2d_input(g, w, at, groups)
        if found is not None:
            return found
    result = np.empty((n, c, *input_hw), g.dtype)
    if _one_to_one(at) and padding == (0, 0) and math.prod(input_hw) >= _FEW_PIXELS:
        block, size = _input_by_pixels(g, w, groups, result)
        spread(block, n, _IMAGES, size <= _ONE_THREAD)
    elif groups == 1 and stride[0] == 1 and dilation[0] == 1:
        block = _input_by_rows(g, w, at, result)
        spread(block, n, _images_by_rows(at, c), small=False)
    else:
        block = _input_by_columns(g, w, at, groups, result)
        spread(block, n, _IMAGES, o // groups * w[0].size * at.output[1] <= _ONE_THREAD)
    return result


def _input_by_pixels(g: Array, w: Array, groups: int, result: Array) -> tuple[Any, int]:
    """One product for each image, and its multiplications."""
    n, o = g.shape[:2]
    matrix = w.reshape(groups, o // groups, -1).transpose(0, 2, 1)
    grouped = g.reshape(n, groups, o // groups, -1)
    target = result.reshape(n, groups, w.shape[1], -1)

    def block(a: int, b: int) -> None:
        np.matmul(matrix, grouped[a:b], target[a:b])

    return block, o // groups * w.shape[1] * grouped.shape[3]


def _input_by_rows(g: Array, w: Array, at: Windows, result: Array) -> Any:
    """Rows of *g*, flipped filters: the vertical taps are one product, the horizontal added."""
    o, c, kh, kw = w.shape
    (h, width), (ph, pw), (oh, ow) = at.image, at.padding, at.output
    reach = (ow - 1) * at.stride[1] + (kw - 1) * at.dilation[1] + 1
    matrix = w[:, :, ::-1].transpose(3, 1, 2, 0).reshape(kw * c, kh * o)
    # Rows of the padded image that lie in the image; zeros around g make all sums alike.
    tall = oh + 2 * (kh - 1)
    rows = min(ph + h, oh + kh - 1) - ph

    def block(a: int, b: int) -> None:
        n = b - a
        around = buffer("around", (tall, o, ow, n), g.dtype)
        around[: kh - 1] = 0
        around[kh - 1 + oh :] = 0
        around[kh - 1 : kh - 1 + oh] = g[a:b].transpose(2, 1, 3, 0)
        step, size = around.strides[0], g.itemsize
        view = as_strided(around[ph:], (rows, kh * o, ow * n), (step, ow * n * size, size))
        each = buffer("rows", (rows, kw * c, ow * n), g.dtype)
        np.matmul(matrix, view, each)
        each = each.reshape(rows, kw, c, ow, n)
        total = buffer("turned", (h, c, max(reach, pw + width), n), g.dtype)
        total[...] = 0
        for j in range(kw):
            first = j * at.dilation[1]
            target = total[:rows, :, first : first + (ow - 1) * at.stride[1] + 1 : at.stride[1]]
            np.add(target, each[:, j], target)
        result[a:b] = total[:, :, pw : pw + width].transpose(3, 1, 0, 2)

    return block


def _input_by_columns(g: Array, w: Array, at: Windows, groups: int, result: Array) -> Any:
    """One product for each image, then each tap added where it came from."""
    o, c, kh, kw = w.shape
    (h, width), (ph, pw), (oh, ow) = at.image, at.padding, at.output
    (sv, sh), (dv, dh) = at.stride, at.dilation
    matrix = w.reshape(groups, o // groups, -1).transpose(0, 2, 1)
    step = _row_step(at, o // groups, matrix.shape[1])

    def block(a: int, b: int) -> None:
        n = b - a
        grouped = g[a:b].reshape(n, groups, o // groups, oh * ow)
        total = buffer("turned", (n, groups * c, *at.reach()), g.dtype)
        total[...] = 0
        for start in range(0, oh, step):
            stop = min(oh, start + step)
            m = stop - start
            columns = buffer("columns", (n, groups, c * kh * kw, m * ow), g.dtype)
            np.matmul(matrix, grouped[:, :, :, start * ow : stop * ow], columns)
            each = columns.reshape(n, groups * c, kh, kw, m, ow)
            for i in range(kh):
                top = start * sv + i * dv
                lines = total[:, :, top : top + (m - 1) * sv + 1 : sv]
                for j in range(kw):
                    target = lines[..., j * dh : j * dh + (ow - 1) * sh + 1 : sh]
                    np.add(target, each[:, :, i, j], target)
        result[a:b] = total[:, :, ph : ph + h, pw : pw + width]

    return block


def _offer(op: str, function: Kernel) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel:
        return _in_float32(function) if dtype.name == "float16" else quiet(function)

    TABLE.add(op, (FLOAT, COMPLEX), maker)


def _in_float32(function: Kernel) -> Kernel:
    def run(first: Array, second: Array, *parameters: Any) -> Array:
        result = function(first.astype(np.float32), second.astype(np.float32), *parameters)
        return result.astype(np.float16)

    return quiet(run)


_offer("conv2d", conv2d)
_offer("conv2d_weight", conv2d_weight)
_offer("conv2d_input", conv2d_input)
