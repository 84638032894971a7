"""Windows as columns, and planes from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.formats import INT64
from tensorbus_conformance.op import BOOL, COMPLEX, FLOATING, E, Op, S, T

_F = "nn.functional."


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _pixels(h: int, w: int, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """For each tap and each window the pixel of the padded planes, as rows and columns."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(_pair, (kernel, dilation, padding, stride))
    down = range(0, h + 2 * ph - dh * (kh - 1), sh)
    across = range(0, w + 2 * pw - dw * (kw - 1), sw)
    rows = [[y + i * dh for y in down for _ in across] for i in range(kh) for _ in range(kw)]
    columns = [[x + j * dw for _ in down for x in across] for _ in range(kh) for j in range(kw)]
    return np.array(rows), np.array(columns), ph, pw


def unfold(
    x: np.ndarray, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> np.ndarray:
    """Pixel by pixel."""
    *lead, c, h, w = x.shape
    rows, columns, ph, pw = _pixels(h, w, kernel_size, dilation, padding, stride)
    border = [(0, 0)] * (x.ndim - 2) + [(ph, ph), (pw, pw)]
    taken = np.pad(x, border)[..., rows, columns]
    return np.asarray(taken.reshape(*lead, c * rows.shape[0], rows.shape[1]))


def fold(
    x: np.ndarray,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> np.ndarray:
    """Each element added to its pixel."""
    *lead, n, length = x.shape
    h, w = _pair(output_size)
    rows, columns, ph, pw = _pixels(h, w, kernel_size, dilation, padding, stride)
    planes: Any = np.zeros((*lead, n // len(rows), h + 2 * ph, w + 2 * pw), x.dtype)
    taps = x.reshape(*planes.shape[:-2], len(rows), length)
    for at in np.ndindex(*rows.shape):
        planes[..., rows[at], columns[at]] += taps[(..., *at)]
    return np.ascontiguousarray(planes[..., ph : ph + h, pw : pw + w])


def _magnitudes(x: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
    return fold(np.abs(x), *args, **kwargs)


def _fold(*args: Any, **kwargs: Any) -> Any:
    import tensorbus.nn.functional

    return tensorbus.nn.functional.fold(*args, **kwargs)


OPS = [
    Op(
        _F + "unfold",
        unfold,
        [
            S("plain", T(2, 3, 4, 5), 2),
            S("dilation", T(1, 2, 5, 6), (2, 3), (3, 2)),
            S("padding", T(1, 2, 3, 3), 2, 1, (2, 1)),
            S("stride", T(1, 2, 5, 7), (1, 2), stride=(3, 2)),
            S("one", T(1, 2, 3, 4), (3, 4)),
            S("all", T(1, 2, 6, 7), (2, 3), (1, 2), (2, 1), (3, 2)),
            S("long-stride", T(1, 1, 4, 4), 2, 1, 0, 2**62),
            S("unbatched", T(2, 4, 3), (2, 1)),
            S("no-batch", T(0, 2, 3, 3), 2),
        ],
        dtypes=(*FLOATING, *COMPLEX, *BOOL),
        ulp=0,
        grad_ulp=8,
        errors=[
            E(
                "dimensions",
                RuntimeError,
                r"Expected 3D or 4D \(batch mode\) tensor with possibly 0 batch size and other "
                r"non-zero dimensions for input, but got: \[2, 0, 4, 4\]",
                T(2, 0, 4, 4),
                2,
            ),
            E(
                "large",
                RuntimeError,
                r"Given input with spatial size \(4, 3\), kernel_size=\(4, 4\), "
                r"dilation=\(1, 1\), padding=\(0, 0\), calculated shape of the array of sliding "
                r"blocks as \(1, 0\), but its components must be at least one\.",
                T(1, 2, 4, 3),
                4,
            ),
            E(
                "integers",
                NotImplementedError,
                "\"im2col_out_cpu\" not implemented for 'Long'",
                T(1, 2, 3, 3),
                2,
                dtype=INT64,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "fold",
        fold,
        [
            S("plain", T(2, 8, 6), (3, 4), 2),
            S("dilation", T(1, 4, 8), (6, 6), (2, 2), (2, 4)),
            S("padding", T(1, 4, 20), (3, 4), 2, 1, 1),
            S("stride", T(1, 2, 6), (5, 4), (1, 2), stride=2),
            S("all", T(1, 12, 9), (6, 5), (2, 3), (1, 2), (1, 1), (3, 1)),
            S("gaps", T(1, 1, 4), 4, 1, stride=3),
            S("unbatched", T(4, 4), (3, 3), 2),
            S("no-batch", T(0, 4, 4), 3, 2),
        ],
        dtypes=(*FLOATING, *COMPLEX),
        scale=_magnitudes,
        ulp=4,
        grad_ulp=8,
        errors=[
            E(
                "dimensions",
                RuntimeError,
                r"Expected 2D or 3D \(batch mode\) tensor for input with possibly 0 batch size and "
                r"non-zero dimensions for input, but got: \[4\]",
                T(4),
                3,
                2,
            ),
            E(
                "rows",
                RuntimeError,
                r"Expected size of input's dimension 1 to be divisible by the product of "
                r"kernel_size, but got input\.size\(1\)=6 and kernel_size=\(2, 2\)\.",
                T(1, 6, 4),
                3,
                2,
            ),
            E(
                "columns",
                RuntimeError,
                r"Given output_size=\(3, 4\), kernel_size=\(2, 2\), dilation=\(1, 1\), "
                r"padding=\(0, 0\), stride=\(1, 1\), expected size of input's dimension 2 to match "
                r"the calculated number of sliding blocks 2 \* 3 = 6, but got "
                r"input\.size\(2\)=4\.",
                T(1, 4, 4),
                (3, 4),
                2,
            ),
        ],
        family="nn",
    ),
    Op(
        _F + "fold-truths",
        lambda *args, **kwargs: fold(*args, **kwargs).astype(bool),
        [S("plain", T(2, 8, 6), (3, 4), 2), S("gaps", T(1, 1, 4), 4, 1, stride=3)],
        dtypes=BOOL,
        ulp=0,
        call=_fold,
        family="nn",
    ),
]
