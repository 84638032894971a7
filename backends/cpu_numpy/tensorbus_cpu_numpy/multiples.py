"""Depthwise convolution by multiples: each tap adds a part of a line, times a number.

The padded planes that a channel has in some images are one line, of which BLAS reads each tap's
part where it is: none is copied. Where rows and planes end, windows hang over into the next; what
these give is left out.
"""

from __future__ import annotations

import functools
import math
from itertools import product
from typing import Any

import numpy as np

from tensorbus.plugin import Array
from tensorbus_cpu_numpy.threads import buffer, count
from tensorbus_cpu_numpy.windows import Windows

_PIECE = 10_000
"""OpenBLAS adds a multiple of so many elements at most in one thread."""
_PAYING = 1 << 12
"""For shorter lines the calls take longer than products of many lines at a time."""
_TOGETHER = 1 << 16
"""Elements of the lines in one block, of which both sides stay in the cache."""
_MANY = 1 << 16
"""Fewer pixels are not worth the import of SciPy's package."""


@functools.cache
def _adder(dtype: str) -> Any:
    """BLAS's sum of a vector and a multiple of another, in place; None without SciPy."""
    try:
        from scipy.linalg import blas
    except ImportError:
        return None
    return {"float32": blas.saxpy, "float64": blas.daxpy}.get(dtype)


def suits(x: Array, at: Windows) -> bool:
    """Whether lines are long, and one thread works: SciPy's calls keep others out of Python."""
    if count() > 1 or x.size < _MANY:
        return False
    plane = math.prod(at.reach())
    return _images(len(x), plane) * plane >= _PAYING and _adder(x.dtype.name) is not None


def _images(n: int, plane: int) -> int:
    """Images in one line: as many as one thread adds at a time, in lines of like length."""
    most = max(1, _PIECE // plane)
    return -(-n // -(-n // most))


def conv2d(x: Array, w: Array, at: Windows) -> Array:
    """The planes *x* (N, C, H, W), each with its filter of *w* (C, 1, kh, kw)."""
    n, c = x.shape[:2]
    (h, width), (top, left), (oh, ow), reach = at.image, at.padding, at.output, at.reach()
    y = np.empty((n, c, oh, ow), x.dtype)
    images = _images(n, math.prod(reach))
    channels = max(1, min(c, _TOGETHER // (images * math.prod(reach))))
    planes = buffer("padded", (channels, images, *reach), x.dtype)
    planes[...] = 0
    sums = buffer("product", planes.shape, x.dtype)
    inside, kept = planes[:, :, top : top + h, left : left + width], sums[:, :, :oh, :ow]
    lines = list(zip(planes.reshape(channels, -1), sums.reshape(channels, -1), strict=True))
    taps = _adding_taps(w, at, images * math.prod(reach))
    for a, first in product(range(0, n, images), range(0, c, channels)):
        source = x[a : a + images, first : first + channels].swapaxes(0, 1)
        target = y[a : a + images, first : first + channels].swapaxes(0, 1)
        part = slice(len(source)), slice(source.shape[1])
        inside[part] = source
        for channel, (line, total) in enumerate(lines[: len(source)], first):
            taps(channel, line, total)
        target[...] = kept[part]
    return y


def _adding_taps(w: Array, at: Windows, size: int) -> Any:
    """A function that writes the sums of a channel's taps for a line of *size* elements."""
    add, weights = _adder(w.dtype.name), w.reshape(len(w), -1)
    first, numbers, starts = list(weights[:, 0]), weights.tolist(), at.starts()
    length = size - starts[-1]
    step = -(-length // -(-length // _PIECE))
    pieces = [(start, min(step, length - start)) for start in range(0, length, step)]
    taps = list(enumerate(starts))[1:]

    def run(channel: int, line: Array, total: Array) -> None:
        number = numbers[channel]
        for start, size in pieces:
            piece = total[start : start + size]
            np.multiply(line[start : start + size], first[channel], piece)
            for k, tap in taps:
                if number[k]:
                    add(line, total, size, number[k], start + tap, 1, start)
                else:  # BLAS would leave out what is not finite
                    piece += line[start + tap : start + tap + size] * weights[channel, k]

    return run
