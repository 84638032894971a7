"""Pools that take the root of the sum of powers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.volume_pools import avg_pool3d, max_pool3d
from tensorbus.nn.functional.windows import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from tensorbus.op_engine.int_arguments import ints


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The *norm_type*-norm over windows of (N, C, L) or (C, L), as if no element were negative.

    An infinite *norm_type* takes the largest magnitude, or the smallest.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.lp_pool1d.html

    Example:
        >>> nn.functional.lp_pool1d(tensorbus.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2).tolist()
        [[5.0, 10.0]]
    """
    return _pooled(max_pool1d, avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """``lp_pool1d`` for planes: (N, C, H, W) or (C, H, W)."""
    return _pooled(max_pool2d, avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """``lp_pool1d`` for volumes: (N, C, D, H, W) or (C, D, H, W)."""
    return _pooled(max_pool3d, avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)


def _pooled(
    largest: Callable[..., Tensor], average: Callable[..., Tensor], x: Tensor, p: float,
    kernel: Any, stride: Any, ceil_mode: bool, spatial: int,
) -> Tensor:  # fmt: skip
    if math.isinf(p):
        sign = math.copysign(1.0, p)
        magnitudes = x.abs() if sign > 0 else -x.abs()
        made = largest(magnitudes, kernel, stride, 0, 1, ceil_mode)
        return made if sign > 0 else -made
    mean = average(x.pow(p), kernel, stride, 0, ceil_mode)
    places = math.prod(ints(f"lp_pool{spatial}d", "kernel_size", kernel, spatial))
    return (mean.sign() * mean.abs().relu()).mul(places).pow(1.0 / p)
