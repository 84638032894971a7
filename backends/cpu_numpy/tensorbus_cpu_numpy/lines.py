"""Convolution by lines: the horizontal taps are copied out, as lines of the result's length.

The vertical taps are parts of these lines, one product for each, which BLAS reads where they are.
Nothing is transposed, and each pixel is copied once for each column of the filters.
"""

from __future__ import annotations

import numpy as np

from tensorbus.plugin import Array
from tensorbus_cpu_numpy.threads import buffer, spread
from tensorbus_cpu_numpy.windows import Pair, Windows, padded, windows

_FEW = 1 << 14
"""The windows of fewer elements are copied as quickly."""
_TOGETHER = 1 << 18
"""Elements of the lines of the images in one block."""
_ONE_THREAD = 1 << 18
"""OpenBLAS runs products of fewer multiplications in one thread, so several may run at a time."""
_WIDE = 8
"""Products of fewer filters, or channels, have too little work for each vertical tap,"""
_LONG = 256
"""and so have those of shorter lines."""
_MANY = 64
"""So many channels are multiplied long enough that it does not count how many are copied."""


def suits(x: Array, filters: int, groups: int, stride: Pair, pixels: int) -> bool:
    """Whether lines are quicker than whole windows: for groups, whose windows cost as much as those
    of all channels and are used for fewer filters, and where lines are long."""
    if stride != (1, 1) or x.size < _FEW or x.dtype.kind != "f":
        return False
    return groups > 1 or (min(filters, x.shape[1]) >= _WIDE and pixels >= _LONG)


def suits_input(g: Array, channels: int, groups: int, stride: Pair, pixels: int) -> bool:
    """Whether they are for the gradient of images: other ways copy no taps of a result's."""
    few = groups > 1 or min(g.shape[1], _MANY) <= channels
    return few and suits(g, channels, groups, stride, pixels)


def horizontal_taps(planes: Array, at: Windows) -> Array:
    """Planes (N, H, W) as lines (N, kernel width, padded height * output width)."""
    (kw, ow), dh, height = (at.kernel[1], at.output[1]), at.dilation[1], at.reach()[0]
    taps = buffer("rows", (len(planes), kw, height, ow), planes.dtype)
    if _keeps_width(at):
        _shift(planes, at, taps)
    else:
        image = padded(planes, at)
        for j in range(kw):
            taps[:, j] = image[:, :, j * dh : j * dh + ow]
    return taps.reshape(len(planes), kw, height * ow)


def _keeps_width(at: Windows) -> bool:
    """Whether each horizontal tap is the plane moved by less than a row."""
    left, right = at.padding[1], (at.kernel[1] - 1) * at.dilation[1] - at.padding[1]
    return at.output[1] == at.image[1] > max(left, right)


def _shift(planes: Array, at: Windows, taps: Array) -> None:
    """The horizontal taps (N, kw, H, W) of padded planes, each copied as one line.

    A line that is moved brings pixels from one end of a row to the other, where zeros belong.
    """
    (h, width), (top, left), dilation = at.image, at.padding, at.dilation[1]
    height = min(h, taps.shape[2] - top)
    lines = planes.reshape(len(planes), -1)
    taps[:, :, :top] = 0
    taps[:, :, top + height :] = 0
    for j in range(taps.shape[1]):
        move = j * dilation - left
        within = taps[:, j, top : top + height]
        before, after = max(0, -move), max(0, move)
        line = within.reshape(len(planes), -1)
        line[:, before : height * width - after] = lines[:, after : height * width - before]
        within[..., :before] = 0
        within[..., width - after :] = 0


def turned(at: Windows) -> Windows | None:
    """The windows that bring a result's gradient back to the image.

    None where there is more padding than windows reach.
    """
    over = zip(at.kernel, at.dilation, at.padding, strict=True)
    top, left = (d * (k - 1) - p for k, d, p in over)
    if top < 0 or left < 0:
        return None
    return windows(at.output, at.kernel, (1, 1), (top, left), at.dilation)


def conv2d(x: Array, w: Array, at: Windows, groups: int) -> Array:
    """The images *x* (N, C, H, W) with the filters *w* (O, C / groups, kh, kw)."""
    n, o, pixels = len(x), len(w), at.output[0] * at.output[1]
    matrices = [w[:, :, i].reshape(groups, o // groups, -1) for i in range(at.kernel[0])]
    y = np.empty((n, o, *at.output), x.dtype)
    grouped = y.reshape(n, groups, o // groups, pixels)

    def block(a: int, b: int) -> None:
        total = grouped[a:b]
        term = buffer("product", total.shape, x.dtype)
        for i, part in enumerate(_parts(x[a:b], at, groups)):
            np.matmul(matrices[i], part, term if i else total)
            if i:
                np.add(total, term, total)

    spread(block, n, _images(x, at), matrices[0][0].size * pixels <= _ONE_THREAD)
    return y


def conv2d_weight(g: Array, x: Array, at: Windows, groups: int) -> Array:
    """The gradient for the filters."""
    n, o = g.shape[:2]
    c, (kh, kw), pixels = x.shape[1] // groups, at.kernel, at.output[0] * at.output[1]
    grouped = g.reshape(n, groups, o // groups, pixels)
    sums: dict[int, Array] = {}

    def block(a: int, b: int) -> None:
        gradient = grouped[a:b]
        products = [np.matmul(gradient, p.swapaxes(2, 3)) for p in _parts(x[a:b], at, groups)]
        sums[a] = np.add.reduce(products, 1)

    spread(block, n, _images(x, at), o // groups * c * kw * pixels <= _ONE_THREAD)
    # In the batch's order, so that threads do not change the last bits.
    total = np.add.reduce([sums[a] for a in sorted(sums)], 0)
    return np.ascontiguousarray(total.reshape(kh, o, c, kw).transpose(1, 2, 0, 3))


def conv2d_input(g: Array, w: Array, at: Windows, groups: int) -> Array | None:
    """The gradient for the images, a convolution with the turned filters; None if it can't be."""
    back = turned(at)
    if back is None:
        return None
    o, c, kh, kw = w.shape
    filters = w[:, :, ::-1, ::-1].reshape(groups, o // groups, c, kh, kw).swapaxes(1, 2)
    return conv2d(g, filters.reshape(groups * c, o // groups, kh, kw), back, groups)


def _parts(x: Array, at: Windows, groups: int) -> list[Array]:
    """For each vertical tap what of the lines it takes: (N, groups, C / groups * kw, pixels)."""
    n, c = x.shape[:2]
    oh, ow = at.output
    lines = horizontal_taps(x.reshape(n * c, *x.shape[2:]), at)
    lines = lines.reshape(n, groups, c // groups * at.kernel[1], -1)
    starts = [i * at.dilation[0] * ow for i in range(at.kernel[0])]
    return [lines[..., start : start + oh * ow] for start in starts]


def _images(x: Array, at: Windows) -> int:
    """Images in one block."""
    return max(1, _TOGETHER // (x.shape[1] * at.kernel[1] * at.reach()[0] * at.output[1]))
