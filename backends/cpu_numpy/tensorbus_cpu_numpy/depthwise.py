"""Convolution of each channel with a filter of its own, without copying whole windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array
from tensorbus_cpu_numpy import multiples
from tensorbus_cpu_numpy.lines import horizontal_taps, turned
from tensorbus_cpu_numpy.loops import in_short_buffers
from tensorbus_cpu_numpy.sums import dots
from tensorbus_cpu_numpy.threads import buffer, spread
from tensorbus_cpu_numpy.windows import Pair, Windows, padded

_BLOCK = 1 << 17
"""Elements of padded planes in one block: few calls, and most of it stays in the cache."""
_FEW = 1 << 14
"""The windows of fewer elements are copied as quickly."""
_LINE = 256
"""Shorter lines are quicker in NumPy's long buffers."""


def suits(x: Array, filters: int, groups: int, stride: Pair) -> bool:
    """Whether each channel has one filter, which moves by one pixel, and there are many pixels."""
    single = groups == x.shape[1] == filters and groups > 1
    return single and stride == (1, 1) and x.size >= _FEW and x.dtype.kind == "f"


def depthwise(x: Array, w: Array, at: Windows) -> Array:
    """The planes *x* (N, C, H, W), each with its filter of *w* (C, 1, kh, kw).

    The horizontal taps are copied out, in lines as long as the result's. The vertical ones are
    parts of these, one product for each. One thread is quicker by multiples of longer lines.
    """
    if multiples.suits(x, at):
        return multiples.conv2d(x, w, at)
    n, c = x.shape[:2]
    (oh, ow), kh, dv = at.output, at.kernel[0], at.dilation[0]
    planes = x.reshape(n * c, *x.shape[2:])
    lines = [np.tile(w[:, :, i], (n, 1, 1)) for i in range(kh)]
    y = np.empty((n, c, oh, ow), x.dtype)
    flat = y.reshape(n * c, 1, oh * ow)

    def block(a: int, b: int) -> None:
        rows, total = horizontal_taps(planes[a:b], at), flat[a:b]
        term = buffer("product", total.shape, x.dtype)
        for i, weights in enumerate(lines):
            start = i * dv * ow
            part = rows[:, :, start : start + oh * ow]
            np.matmul(weights[a:b], part, out=term if i else total)
            if i:
                np.add(total, term, out=total)

    spread(block, n * c, _planes(at), small=True)
    return y


def depthwise_input(g: Array, w: Array, at: Windows) -> Array | None:
    """The gradient for the planes, which is a convolution with the turned filter.

    None where there is more padding than windows reach.
    """
    back = turned(at)
    return None if back is None else depthwise(g, w[:, :, ::-1, ::-1], back)


def depthwise_weight(g: Array, x: Array, at: Windows) -> Array | None:
    """The gradient for the filters; None where a value is not finite.

    A padded plane is seen as one line, of which each tap is a part. Where a line of the plane ends,
    windows hang over into the next; zeros meet what they have there, which must be finite.
    """
    n, c = x.shape[:2]
    (oh, ow), (_, width) = at.output, at.reach()
    planes, gradients = x.reshape(n * c, *x.shape[2:]), g.reshape(n * c, oh, ow)
    length = (oh - 1) * width + ow
    sums = np.empty((n * c, at.kernel[0] * at.kernel[1]))

    def block(a: int, b: int) -> None:
        lines = padded(planes[a:b], at).reshape(b - a, -1)
        spaced = buffer("product", (b - a, oh, width), x.dtype)
        spaced[:, :, :ow] = gradients[a:b]
        spaced[:, :, ow:] = 0
        gradient = spaced.reshape(b - a, -1)[:, :length]
        for number, start in enumerate(at.starts()):
            sums[a:b, number] = dots(lines[:, start : start + length], gradient)

    _spread(block, at, n * c, length)
    result = np.add.reduce(sums.reshape(n, c, -1), 0)
    if not np.isfinite(result).all():
        return None
    return result.astype(x.dtype, copy=False).reshape(c, 1, *at.kernel)


def _planes(at: Windows) -> int:
    """Planes in one block."""
    height, width = at.reach()
    return max(1, _BLOCK // (height * width))


def _spread(block: Any, at: Windows, planes: int, length: int) -> None:
    if length < _LINE:
        spread(block, planes, _planes(at), small=True)
    else:
        in_short_buffers(spread, block, planes, _planes(at), True)
