"""Convolutions and their transposes, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus_conformance.op import COMPLEX, FLOATING, E, I, Op, S, T

_F = "nn.functional."


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    values = (value,) * n if isinstance(value, int) else tuple(value)
    return values * n if len(values) == 1 else values


def convolution(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    mode: str = "constant",
) -> np.ndarray:
    """The cross-correlation, window by window, for any number of dimensions."""
    n = w.ndim - 2
    if x.ndim == n + 1:
        one = convolution(x[None], w, b, stride, padding, dilation, groups, mode=mode)
        return np.asarray(one[0])
    stride, dilation = _tuple(stride, n), _tuple(dilation, n)
    x = np.pad(x, [(0, 0), (0, 0), *_borders(padding, w.shape[2:], dilation)], mode=mode)  # type: ignore[call-overload]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    size = [(a - r) // s + 1 for a, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    if not x.shape[1]:  # as PyTorch has it: the result has no channels either
        return np.zeros((x.shape[0], 0, *size), x.dtype)
    out = np.zeros((x.shape[0], w.shape[0], *size), x.dtype)
    inputs, outputs = x.shape[1] // groups, w.shape[0] // groups
    for at in np.ndindex(*size):
        window = tuple(
            slice(p * s, p * s + r, d)
            for p, s, r, d in zip(at, stride, reach, dilation, strict=True)
        )
        seen = x[(slice(None), slice(None), *window)]
        for g in range(groups):
            part = seen[:, g * inputs : (g + 1) * inputs]
            rows = slice(g * outputs, (g + 1) * outputs)
            out[(slice(None), rows, *at)] = np.tensordot(
                part, w[rows], (range(1, n + 2), range(1, n + 2))
            )
    return out if b is None else out + b.reshape(-1, *(1,) * n)


def _borders(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [(t // 2, t - t // 2) for t in total]
    return [(p, p) for p in _tuple(padding, len(kernel))]


def transposed(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> np.ndarray:
    """The transposed convolution: each element of the input spreads the kernel."""
    n = w.ndim - 2
    if x.ndim == n + 1:
        one = transposed(x[None], w, b, stride, padding, output_padding, groups, dilation)
        return np.asarray(one[0])
    stride, dilation = _tuple(stride, n), _tuple(dilation, n)
    padding, extra = _tuple(padding, n), _tuple(output_padding, n)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    full = [
        (a - 1) * s + r + e for a, s, r, e in zip(x.shape[2:], stride, reach, extra, strict=True)
    ]
    inputs, outputs = x.shape[1] // groups, w.shape[1]
    out = np.zeros((x.shape[0], outputs * groups, *full), x.dtype)
    for at in np.ndindex(*x.shape[2:]):
        window = tuple(
            slice(p * s, p * s + r, d)
            for p, s, r, d in zip(at, stride, reach, dilation, strict=True)
        )
        for g in range(groups):
            columns = slice(g * inputs, (g + 1) * inputs)
            values = np.tensordot(x[(slice(None), columns, *at)], w[columns], ([1], [0]))
            out[(slice(None), slice(g * outputs, (g + 1) * outputs), *window)] += values
    cut = tuple(slice(p, f - p) for p, f in zip(padding, full, strict=True))
    out = out[(slice(None), slice(None), *cut)]
    return out if b is None else out + b.reshape(-1, *(1,) * n)


def _time_first(x: np.ndarray, w: np.ndarray, b: np.ndarray, pad: int = 0) -> np.ndarray:
    """``convolution`` of (time, batch, channels) with (time, channels in, channels out)."""
    y = convolution(x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, padding=pad)
    return y.transpose(2, 0, 1)


def _terms(reference: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The sum of absolute terms."""

    def scale(*args: Any, **kwargs: Any) -> np.ndarray:
        absolute = [np.abs(a) if isinstance(a, np.ndarray) else a for a in args]
        return reference(*absolute, **kwargs)

    return scale


def _conv(name: str, samples: list[Any], errors: list[Any]) -> Op:
    reference: Callable[..., np.ndarray] = transposed if "transpose" in name else convolution
    if name == "conv_tbc":
        reference = _time_first
    scale = _terms(reference)
    return Op(
        _F + name,
        reference,
        samples,
        (*FLOATING, *COMPLEX),
        scale=scale,
        ulp=2,
        grad_ulp=8,
        errors=errors,
        family="nn",
    )


OPS = [
    _conv(
        "conv2d",
        [
            S("plain", T(2, 2, 4, 3), T(3, 2, 2, 2), T(3)),
            S("no-bias", T(1, 2, 4, 4), T(2, 2, 3, 2)),
            S("stride", T(1, 2, 5, 6), T(2, 2, 2, 3), None, 2),
            S("strides", T(1, 1, 5, 6), T(2, 1, 2, 2), T(2), (1, 3)),
            S("padding", T(1, 2, 3, 4), T(2, 2, 3, 2), T(2), 1, (1, 2)),
            S("same", T(1, 1, 4, 5), T(2, 1, 2, 3), T(2), padding="same"),
            S("same-dilated", T(1, 1, 4, 5), T(1, 1, 2, 3), padding="same", dilation=(3, 2)),
            S("valid", T(1, 1, 4, 5), T(1, 1, 2, 3), padding="valid"),
            S("dilation", T(1, 2, 6, 5), T(1, 2, 2, 3), T(1), 2, 1, (3, 2)),
            S("groups", T(2, 4, 3, 3), T(6, 2, 2, 2), T(6), groups=2),
            S("depthwise", T(1, 3, 4, 4), T(3, 1, 3, 3), None, 1, 1, 1, 3),
            S("one-by-one", T(2, 3, 2, 3), T(4, 3, 1, 1), T(4)),
            S("unbatched", T(2, 4, 4), T(3, 2, 3, 3), T(3), padding=1),
            S("no-batch", T(0, 2, 4, 4), T(3, 2, 3, 3), T(3)),
            S("whole", T(1, 2, 3, 4), T(2, 2, 3, 4), T(2)),
            S("no-channels", T(2, 0, 5, 4), T(3, 0, 2, 2), T(3), (2, 1), (1, 0)),
            S("long-stride", T(1, 2, 5, 4), T(2, 2, 2, 3), T(2), 2**62, (1, 0)),
        ],
        [
            E(
                "rank",
                RuntimeError,
                r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of "
                r"size: \[4, 4\]",
                T(4, 4),
                T(3, 2, 3, 3),
            ),
            E(
                "weight-dtype",
                RuntimeError,
                r"Input type \(torch\.(\w+\.)?FloatTensor\) and weight type "
                r"\(torch\.(\w+\.)?LongTensor\) should be the same",
                T(1, 1, 2, 2),
                I([[[[1]]]]),
            ),
            E(
                "channels",
                RuntimeError,
                r"Given groups=1, weight of size \[3, 2, 3, 3\], expected input\[1, 3, 4, 4\] to "
                r"have 2 channels, but got 3 channels instead",
                T(1, 3, 4, 4),
                T(3, 2, 3, 3),
            ),
            E(
                "kernel",
                RuntimeError,
                r"Calculated padded input size per channel: \(2 x 4\)\. Kernel size: \(3 x 3\)\. "
                r"Kernel size can't be greater than actual input size",
                T(1, 2, 2, 4),
                T(3, 2, 3, 3),
            ),
            E(
                "bias",
                RuntimeError,
                r"Given weight of size \[3, 2, 3, 3\], expected bias to be 1-dimensional with 3 "
                r"elements, but got bias of size \[2\] instead",
                T(1, 2, 4, 4),
                T(3, 2, 3, 3),
                T(2),
            ),
            E(
                "groups",
                RuntimeError,
                r"Given groups=2, expected weight to be divisible by 2 at dimension 0, but got "
                r"weight of size \[\[3, 2, 3, 3\]\] instead",
                T(1, 4, 4, 4),
                T(3, 2, 3, 3),
                groups=2,
            ),
            E(
                "same-strided",
                RuntimeError,
                "padding='same' is not supported for strided convolutions",
                T(1, 2, 4, 4),
                T(3, 2, 3, 3),
                stride=2,
                padding="same",
            ),
        ],
    ),
    _conv(
        "conv1d",
        [
            S("plain", T(2, 2, 6), T(3, 2, 3), T(3)),
            S("stride", T(1, 2, 7), T(2, 2, 2), None, 2),
            S("padding", T(1, 2, 4), T(2, 2, 3), T(2), (1,), (2,)),
            S("same", T(1, 2, 5), T(2, 2, 2), T(2), padding="same"),
            S("dilation", T(1, 2, 7), T(1, 2, 3), dilation=2),
            S("groups", T(2, 4, 5), T(2, 2, 2), T(2), groups=2),
            S("unbatched", T(2, 5), T(3, 2, 3), T(3)),
            S("no-batch", T(0, 2, 5), T(3, 2, 3)),
            S("no-channels", T(0, 5), T(3, 0, 2)),
            S("long-stride", T(1, 2, 5), T(2, 2, 3), None, 2**62),
        ],
        [
            E(
                "rank",
                RuntimeError,
                r"Expected 2D \(unbatched\) or 3D \(batched\) input to conv1d, but got input of "
                r"size: \[4\]",
                T(4),
                T(3, 2, 3),
            )
        ],
    ),
    _conv(
        "conv_transpose2d",
        [
            S("plain", T(2, 2, 3, 2), T(2, 3, 2, 2), T(3)),
            S("stride", T(1, 2, 3, 3), T(2, 1, 3, 2), None, 2),
            S("padding", T(1, 2, 3, 4), T(2, 2, 3, 3), T(2), (2, 1), (1, 2)),
            S("output-padding", T(1, 2, 2, 3), T(2, 1, 3, 3), T(1), 3, 1, (2, 1)),
            S("groups", T(1, 4, 2, 3), T(4, 2, 2, 2), T(4), 1, 0, 0, 2),
            S("dilation", T(1, 1, 3, 2), T(1, 2, 2, 3), T(2), 2, 1, 1, 1, (2, 3)),
            S("output-beyond-stride", T(1, 1, 3, 2), T(1, 2, 2, 2), T(2), 1, 0, (1, 2), 1, (2, 3)),
            S("output-beyond-padding", T(1, 2, 2, 3), T(2, 1, 2, 3), None, 1, (2, 1), 2, 1, 3),
            S("unbatched", T(2, 3, 3), T(2, 1, 2, 2), T(1)),
            S("no-batch", T(0, 2, 3, 3), T(2, 1, 2, 2)),
            S("long-stride", T(1, 2, 1, 1), T(2, 1, 3, 2), T(1), 2**31 - 1, 0, (2, 1)),
        ],
        [
            E(
                "weight-dtype",
                RuntimeError,
                r"Input type \(torch\.(\w+\.)?FloatTensor\) and weight type "
                r"\(torch\.(\w+\.)?LongTensor\) should be the same",
                T(1, 1, 2, 2),
                I([[[[1]]]]),
            ),
            E(
                "channels",
                RuntimeError,
                r"Given transposed=1, weight of size \[2, 1, 2, 2\], expected input\[1, 3, 4, 4\] "
                r"to have 2 channels, but got 3 channels instead",
                T(1, 3, 4, 4),
                T(2, 1, 2, 2),
            ),
            E(
                "output-padding",
                RuntimeError,
                "output padding must be smaller than either stride or dilation, but got "
                "output_padding_height: 1 output_padding_width: 1 stride_height: 1 stride_width: 1 "
                "dilation_height: 1 dilation_width: 1",
                T(1, 2, 4, 4),
                T(2, 1, 2, 2),
                output_padding=1,
            ),
        ],
    ),
    _conv(
        "conv3d",
        [
            S("plain", T(2, 2, 3, 2, 3), T(3, 2, 2, 2, 2), T(3)),
            S("no-bias", T(1, 2, 3, 3, 2), T(2, 2, 2, 1, 2)),
            S("strides", T(1, 1, 5, 4, 3), T(2, 1, 2, 2, 2), T(2), (3, 2, 1)),
            S("padding", T(1, 2, 2, 3, 2), T(1, 2, 3, 2, 2), T(1), 1, (2, 1, 0)),
            S("same", T(1, 1, 3, 4, 2), T(1, 1, 2, 3, 2), T(1), padding="same"),
            S("dilation", T(1, 1, 5, 4, 3), T(2, 1, 2, 2, 2), None, 1, 1, (3, 2, 1)),
            S("groups", T(1, 4, 2, 3, 2), T(2, 2, 2, 2, 1), T(2), groups=2),
            S("depthwise", T(1, 2, 3, 2, 2), T(4, 1, 2, 1, 2), None, 2, 1, 1, 2),
            S("unbatched", T(2, 3, 2, 2), T(1, 2, 2, 2, 1), T(1)),
            S("no-batch", T(0, 2, 3, 2, 2), T(1, 2, 2, 2, 2), T(1)),
            S("no-channels", T(1, 0, 3, 2, 2), T(2, 0, 2, 2, 2), T(2)),
            S("long-stride", T(1, 1, 3, 2, 2), T(1, 1, 2, 2, 2), None, 2**62),
        ],
        [
            E(
                "rank",
                RuntimeError,
                r"Expected 4D \(unbatched\) or 5D \(batched\) input to conv3d, but got input of "
                r"size: \[4, 4, 4\]",
                T(4, 4, 4),
                T(3, 2, 3, 3, 3),
            ),
            E(
                "kernel",
                RuntimeError,
                r"Calculated padded input size per channel: \(2 x 4 x 3\)\. Kernel size: "
                r"\(3 x 1 x 1\)\. Kernel size can't be greater than actual input size",
                T(1, 1, 2, 4, 3),
                T(1, 1, 3, 1, 1),
            ),
        ],
    ),
    _conv(
        "conv_transpose3d",
        [
            S("plain", T(2, 2, 2, 2, 2), T(2, 1, 2, 1, 2), T(1)),
            S("stride", T(1, 2, 2, 2, 2), T(2, 1, 3, 2, 2), None, (2, 1, 3)),
            S("padding", T(1, 1, 2, 3, 2), T(1, 2, 3, 2, 3), T(2), (2, 1, 1), (2, 0, 1)),
            S("output-padding", T(1, 1, 2, 1, 2), T(1, 1, 2, 2, 2), None, (3, 2, 1), 1, (2, 1, 0)),
            S(
                "output-beyond-stride",
                T(1, 1, 2, 2, 1),
                T(1, 1, 2, 2, 2),
                T(1),
                1,
                0,
                (1, 0, 2),
                1,
                (2, 1, 3),
            ),
            S("groups", T(1, 4, 2, 1, 2), T(4, 1, 2, 2, 1), T(2), groups=2),
            S("unbatched", T(2, 2, 2, 1), T(2, 1, 2, 1, 2), T(1)),
            S("no-batch", T(0, 1, 2, 2, 2), T(1, 1, 2, 2, 2)),
        ],
        [
            E(
                "output-padding",
                RuntimeError,
                "output padding must be smaller than either stride or dilation, but got "
                "output_padding_depth: 1 output_padding_height: 1 output_padding_width: 1 "
                "stride_depth: 1 stride_height: 1 stride_width: 1 dilation_depth: 1 "
                "dilation_height: 1 dilation_width: 1",
                T(1, 2, 2, 2, 2),
                T(2, 1, 2, 2, 2),
                output_padding=1,
            ),
        ],
    ),
    _conv(
        "conv_transpose1d",
        [
            S("plain", T(2, 2, 4), T(2, 3, 2), T(3)),
            S("stride", T(1, 2, 3), T(2, 1, 3), None, 2, 1, 1),
            S("groups", T(1, 4, 3), T(4, 2, 2), T(4), groups=2),
            S("dilation", T(1, 1, 3), T(1, 2, 2), dilation=2),
            S("unbatched", T(2, 3), T(2, 1, 2), T(1)),
        ],
        [],
    ),
    _conv(
        "conv_tbc",
        [
            S("plain", T(4, 2, 2), T(2, 2, 3), T(3)),
            S("pad", T(3, 1, 2), T(3, 2, 1), T(1), 2),
        ],
        [
            E(
                "channels",
                RuntimeError,
                r"Input dim 2 \(input channels\) is not == dim 1 in the weight tensor",
                T(4, 2, 3),
                T(2, 2, 3),
                T(3),
            ),
        ],
    ),
]
