"""The geometry of sliding windows, shared by convolution and pooling."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from numpy.lib.stride_tricks import as_strided

from tensorbus.plugin import Array
from tensorbus_cpu_numpy import threads

Pair = tuple[int, int]


class Windows(NamedTuple):
    """Where the windows of a 2-d operation lie; every pair is (vertical, horizontal)."""

    image: Pair
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    output: Pair

    def reach(self) -> Pair:
        """The size of the padded image that the windows cover, or the image if larger."""
        covered = [
            (o - 1) * s + (k - 1) * d + 1
            for o, s, k, d in zip(self.output, self.stride, self.kernel, self.dilation, strict=True)
        ]
        padded = [n + 2 * p for n, p in zip(self.image, self.padding, strict=True)]
        return max(covered[0], padded[0]), max(covered[1], padded[1])

    def starts(self) -> list[int]:
        """Where the part of each tap begins in a padded plane, seen as one line."""
        width, (kh, kw), (dv, dh) = self.reach()[1], self.kernel, self.dilation
        return [i * dv * width + j * dh for i, j in product(range(kh), range(kw))]


def windows(
    image: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool = False,
) -> Windows:
    """The windows over *image*; with *ceil_mode* the last may hang over the edge."""
    output = []
    for n, k, s, p, d in zip(image, kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        count = (-(-span // s) if ceil_mode else span // s) + 1
        # A window must begin inside the image or its left padding.
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        output.append(count)
    return Windows(image, kernel, stride, padding, dilation, (output[0], output[1]))


def padded(x: Array, at: Windows, fill: float | int = 0) -> Array:
    """*x* with *fill* around its last two dimensions; *x* itself where nothing is added."""
    (h, w), (ph, pw), (rh, rw) = at.image, at.padding, at.reach()
    if (rh, rw) == (h, w):
        return x
    result = threads.buffer("padded", (*x.shape[:-2], rh, rw), x.dtype)
    inside = (slice(ph, ph + h), slice(pw, pw + w))
    result[..., :ph, :] = fill
    result[..., ph + h :, :] = fill
    result[..., ph : ph + h, :pw] = fill
    result[..., ph : ph + h, pw + w :] = fill
    result[(..., *inside)] = x
    return result


def taps(x: Array, at: Windows) -> Array:
    """A view of the padded *x* as (..., kernel height, kernel width, output height, width)."""
    v, h = x.strides[-2:]
    (sv, sh), (dv, dh) = at.stride, at.dilation
    strides = (*x.strides[:-2], v * dv, h * dh, v * sv, h * sh)
    return as_strided(x, (*x.shape[:-2], *at.kernel, *at.output), strides)
