"""How many floating point operations the kernels take that a program spends its time in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def _matmul(x: Any, y: Any, *_: Any) -> int:
    columns = y.shape[-1] if len(y.shape) > 1 else 1
    return 2 * math.prod(x.shape) * int(columns) * _repeats(x, y)


def _repeats(x: Any, y: Any) -> int:
    """How often the matrices of *x* are used, where those of *y* are more."""
    batch = math.prod(y.shape[:-2])
    return batch // math.prod(x.shape[:-2]) if len(x.shape) <= 2 and batch else 1


def _linear(x: Any, w: Any, b: Any = None) -> int:
    return 2 * math.prod(x.shape) * int(w.shape[0])


def _pointwise(x: Any, *_: Any) -> int:
    return math.prod(x.shape)


def _convolution(x: Any, w: Any, *rest: Any) -> int:
    stride, padding, dilation, _ = rest[-4:]  # a convolution with a bias has that before them
    places = math.prod(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    )
    return 2 * int(x.shape[0]) * places * math.prod(w.shape)


FLOPS: dict[str, Callable[..., int]] = {
    "matmul": _matmul,
    "linear": _linear,
    "conv2d": _convolution,
    "convolution": _convolution,
    "add": _pointwise,
    "mul": _pointwise,
}
"""By the name of the row; PyTorch counts for these, too."""
