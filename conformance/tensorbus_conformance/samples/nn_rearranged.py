"""Reorderings of pixels and channels, and borders."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.op import ANY, NUMBERS, E, Op, S, T

_F = "nn.functional."


def pixel_shuffle(x: np.ndarray, r: int) -> np.ndarray:
    """Channel c r^2 + i r + j goes to the pixels at (i, j) of each block of channel c."""
    *lead, c, h, w = x.shape
    out: Any = np.zeros((*lead, c // r**2, h * r, w * r), x.dtype)
    for channel in range(c):
        i, j = channel % r**2 // r, channel % r
        out[..., channel // r**2, i::r, j::r] = x[..., channel, :, :]
    return out


def pixel_unshuffle(x: np.ndarray, r: int) -> np.ndarray:
    """The reverse of ``pixel_shuffle``."""
    *lead, c, h, w = x.shape
    out: Any = np.zeros((*lead, c * r**2, h // r, w // r), x.dtype)
    for channel in range(c * r**2):
        i, j = channel % r**2 // r, channel % r
        out[..., channel, :, :] = x[..., channel // r**2, i::r, j::r]
    return out


def channel_shuffle(x: np.ndarray, groups: int) -> np.ndarray:
    """Channel c is the one that stands at c // groups of the group c % groups."""
    n = x.shape[1] // groups
    return x[:, [c % groups * n + c // groups for c in range(x.shape[1])]]


def pad(
    x: np.ndarray, widths: tuple[int, ...], mode: str = "constant", value: float | None = None
) -> np.ndarray:
    """Borders dimension by dimension, the last one first; negative widths cut."""
    for at in range(len(widths) // 2):
        d = x.ndim - 1 - at
        a, b = widths[2 * at], widths[2 * at + 1]
        if mode == "circular":
            x = x.take(range(max(-a, 0), x.shape[d] - max(-b, 0)), axis=d)
            a, b = max(a, 0), max(b, 0)
        line = [_source(i - a, x.shape[d], mode) for i in range(x.shape[d] + a + b)]
        moved = np.moveaxis(x, d, 0)
        blank = np.full(moved.shape[1:], 0 if value is None else value, x.dtype)
        rows = [blank if i is None else moved[i] for i in line]
        x = np.moveaxis(np.stack(rows), 0, d) if rows else np.moveaxis(moved[:0], 0, d)
    return np.ascontiguousarray(x)


def _source(i: int, n: int, mode: str) -> int | None:
    """The row that an index shows, counted from the first; None for the constant."""
    if 0 <= i < n:
        return i
    if mode == "constant":
        return None
    if mode == "replicate":
        return min(max(i, 0), n - 1)
    if mode == "circular":
        return i % n
    return -i if i < 0 else 2 * (n - 1) - i


OPS = [
    Op(
        _F + "pixel_shuffle",
        pixel_shuffle,
        [
            S("plain", T(2, 4, 2, 3), 2),
            S("three", T(1, 9, 1, 2), 3),
            S("unbatched", T(8, 2, 2), 2),
            S("empty", T(0, 4, 2, 3), 2),
        ],
        dtypes=ANY,
        ulp=0,
        errors=[
            E(
                "channels",
                RuntimeError,
                "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                r"square of upscale_factor, but input\.size\(-3\)=3 is not divisible by 4",
                T(3, 2, 2),
                2,
            )
        ],
        family="nn",
    ),
    Op(
        _F + "channel_shuffle",
        channel_shuffle,
        [
            S("plain", T(2, 6, 2, 3), 2),
            S("line", T(1, 6, 4), 3),
            S("empty", T(0, 4, 2, 3), 2),
        ],
        dtypes=ANY,
        ulp=0,
        errors=[
            E(
                "channels",
                RuntimeError,
                r"Number of channels must be divisible by groups\. Got 4 channels and 3 groups\.",
                T(2, 4, 2),
                3,
            ),
            E(
                "groups",
                RuntimeError,
                "Number of groups to divide channels in must be positive. Value of groups:0",
                T(2, 4, 2),
                0,
            ),
            E(
                "dimensions",
                RuntimeError,
                r"channel_shuffle expects input with > 2 dims, but got input with sizes \[2, 4\]",
                T(2, 4),
                2,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "pixel_unshuffle",
        pixel_unshuffle,
        [
            S("plain", T(2, 2, 4, 6), 2),
            S("three", T(1, 1, 3, 6), 3),
            S("unbatched", T(2, 4, 4), 2),
            S("empty", T(0, 2, 4, 6), 2),
        ],
        dtypes=ANY,
        ulp=0,
        errors=[
            E(
                "height",
                RuntimeError,
                r"pixel_unshuffle expects height to be divisible by downscale_factor, but "
                r"input\.size\(-2\)=3 is not divisible by 2",
                T(1, 3, 4),
                2,
            ),
            E(
                "width",
                RuntimeError,
                r"pixel_unshuffle expects width to be divisible by downscale_factor, but "
                r"input\.size\(-1\)=3 is not divisible by 2",
                T(1, 4, 3),
                2,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "pad",
        pad,
        [
            S("plain", T(3, 4), (1, 2)),
            S("both", T(3, 4), (1, 2, 3, 0)),
            S("value", T(3, 4), (1, 2), "constant", 1),
            S("negative", T(3, 4), (-1, 2, 1, -2)),
            S("three", T(2, 3, 2), [1, 0, 0, 2, 1, 1], value=1),
            S("none", T(3, 4), (0, 0)),
            S("empty", T(0, 4), (1, 1, 1, 1)),
            S("reflect1", T(2, 3, 4), (2, 3), "reflect").only(*NUMBERS),
            S("reflect2", T(1, 2, 3, 4), (1, 2, 2, 0), mode="reflect").only(*NUMBERS),
            S("replicate1", T(2, 3, 4), (2, 5), "replicate").only(*NUMBERS),
            S("replicate2", T(1, 2, 3, 4), (1, 0, 2, 3), "replicate").only(*NUMBERS),
            S("circular1", T(2, 3, 4), (4, 3), "circular"),
            S("circular2", T(1, 2, 3, 4), (1, 2, 3, 0), "circular"),
            S("circular-negative", T(1, 2, 5), (-1, 2), "circular"),
            S("circular-both", T(1, 2, 4, 5), (3, -1, -2, 2), "circular"),
            S("circular-nothing", T(1, 2, 5), (-2, -3), "circular"),
        ],
        dtypes=ANY,
        ulp=0,
        grad_ulp=4,
        errors=[
            E("odd", RuntimeError, "Padding length must be divisible by 2", T(3, 4), (1, 2, 3)),
            E(
                "reflect",
                RuntimeError,
                r"Argument #4: Padding size should be less than the corresponding input dimension, "
                r"but got: padding \(4, 0\) at dimension 2 of input \[2, 3, 4\]",
                T(2, 3, 4),
                (4, 0),
                "reflect",
            ),
            E(
                "circular-left",
                RuntimeError,
                r"Padding value causes wrapping around more than once\.",
                T(1, 1, 5),
                (-3, 3),
                "circular",
            ),
            E(
                "too-small",
                RuntimeError,
                r"input \(W: 5\) is too small\. Calculated output W: 0",
                T(1, 2, 5),
                (-2, -3),
                "replicate",
            ),
            E(
                "circular",
                RuntimeError,
                r"Padding value causes wrapping around more than once\.",
                T(2, 3, 4),
                (5, 0),
                "circular",
            ),
            E(
                "mode",
                NotImplementedError,
                "Unrecognised padding mode mirror",
                T(2, 3, 4),
                (1, 0),
                "mirror",
            ),
        ],
        family="nn",
    ),
]
