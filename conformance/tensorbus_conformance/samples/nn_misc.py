"""Products with weights, look-ups, borders, reorderings of pixels, dropout where it is certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.op import ANY, COMPLEX, FLOATING, NUMBERS, E, I, Op, S, T

_F = "nn.functional."


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    """The product with each row of the weight, summed term by term."""
    y = (x[..., None, :] * weight).sum(-1)
    if weight.ndim == 1:
        y = y[..., 0]
    return y if bias is None else y + bias


def _linear_terms(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    return linear(np.abs(x), np.abs(weight), None if bias is None else np.abs(bias))


def bilinear(
    a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> Any:
    """The sum over both features of a[i] w[o, i, j] b[j]."""
    terms = a[..., None, :, None] * weight * b[..., None, None, :]
    y = terms.sum((-1, -2))
    return y if bias is None else y + bias


def _bilinear_terms(
    a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> Any:
    shift = None if bias is None else np.abs(bias)
    return bilinear(np.abs(a), np.abs(b), np.abs(weight), shift)


def _embedding(i: np.ndarray, weight: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    out = np.zeros((*i.shape, *weight.shape[1:]), weight.dtype)
    for at in np.ndindex(*i.shape):
        out[at] = weight[i[at]]
    return out


def embedding_max_norm(
    i: np.ndarray, weight: np.ndarray, max_norm: float, norm_type: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """(rows, weight afterwards): rows that are looked up get at most the norm."""
    weight = weight.copy()
    for row in set(i.reshape(-1).tolist()):
        norm = (np.abs(weight[row]) ** norm_type).sum() ** (1 / norm_type)
        if norm > max_norm:
            weight[row] *= max_norm / (norm + 1e-7)
    return _embedding(i, weight), weight


def _call_max_norm(i: Any, weight: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    weight = weight.clone()
    rows = _functional("embedding")(i, weight, None, max_norm, norm_type)
    return rows, weight


def _functional(name: str) -> Callable[..., Any]:
    import tensorbus.nn.functional

    found: Callable[..., Any] = getattr(tensorbus.nn.functional, name)
    return found


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


PRODUCTS = [
    Op(
        _F + "linear",
        linear,
        [
            S("plain", T(3, 4), T(2, 4), T(2)),
            S("no-bias", T(3, 4), T(2, 4)),
            S("vector", T(4), T(2, 4), T(2)),
            S("batch", T(2, 3, 4), T(5, 4), T(5)),
            S("one-row", T(1, 4), T(3, 4), T(3)),
            S("one-output", T(3, 4), T(1, 4), T(1)),
            S("vector-weight", T(3, 4), T(4)),
            S("empty", T(0, 4), T(2, 4), T(2)),
            S("no-features", T(3, 0), T(2, 0), T(2)),
        ],
        dtypes=(*FLOATING, *COMPLEX),
        scale=_linear_terms,
        ulp=2,
        grad_ulp=8,
        errors=[
            E(
                "bias-dtype",
                RuntimeError,
                "self and mat2 must have the same dtype, but got Long and Float",
                T(3, 4),
                T(2, 4),
                I([0, 1]),
            ),
            E(
                "weight-dtype",
                RuntimeError,
                "expected m1 and m2 to have the same dtype, but got: float != long int",
                T(3, 4),
                I([[1, 2, 3, 4]]),
            ),
            E(
                "shapes",
                RuntimeError,
                r"mat1 and mat2 shapes cannot be multiplied \(3x4 and 5x2\)",
                T(3, 4),
                T(2, 5),
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "bilinear",
        bilinear,
        [
            S("plain", T(3, 2), T(3, 4), T(2, 2, 4), T(2)),
            S("no-bias", T(3, 2), T(3, 4), T(2, 2, 4)),
            S("batch", T(2, 3, 2), T(2, 3, 3), T(2, 2, 3), T(2)),
            S("vector", T(2), T(3), T(2, 2, 3), T(2)),
        ],
        (*FLOATING, *COMPLEX),
        scale=_bilinear_terms,
        ulp=3,
        grad_ulp=8,
        family="nn",
    ),
    Op(
        _F + "embedding",
        _embedding,
        [
            S("plain", I([1, 0, 3, 1]), T(4, 3)),
            S("matrix", I([[1, 0], [2, 2]]), T(3, 4)),
            S("scalar", I(2), T(3, 4)),
            S("padding", I([1, 0, 2]), T(3, 4, grad=False), 0),
            S("padding-behind", I([1, 0, 2]), T(3, 4, grad=False), padding_idx=-1),
            S("empty", I(np.zeros((0, 2), np.int64)), T(3, 4)),
        ],
        ulp=0,
        errors=[
            E(
                "dtype",
                RuntimeError,
                "Expected tensor for argument #1 'indices' to have one of the following scalar "
                r"types: Long, Int; but got torch\.(\w+\.)?FloatTensor instead "
                r"\(while checking arguments for embedding\)",
                T(3),
                T(3, 4),
            ),
            E(
                "range",
                IndexError,
                "index 3 is out of bounds for dimension 0 with size 3",
                I([3]),
                T(3, 4),
            ),
            E(
                "padding",
                AssertionError,
                "Padding_idx must be within num_embeddings",
                I([1]),
                T(3, 4),
                3,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "embedding-max_norm",
        embedding_max_norm,
        [
            S("plain", I([1, 0, 1]), T(4, 3, grad=False), 1.0),
            S("p1", I([[1, 3]]), T(4, 3, grad=False), 1.0, 1.0),
        ],
        ulp=6,
        gradient=False,
        call=_call_max_norm,
        family="nn",
    ),
]

REARRANGED = [
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

OPS = [*PRODUCTS, *REARRANGED]
