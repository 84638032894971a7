"""Pools that always return the indices of their maxima: PyTorch's other names for them."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.adaptive import adaptive_max_pool1d, adaptive_max_pool2d
from tensorbus.nn.functional.fractional_pools import fractional_max_pool2d, fractional_max_pool3d
from tensorbus.nn.functional.volume_pools import adaptive_max_pool3d, max_pool3d
from tensorbus.nn.functional.windows import max_pool1d, max_pool2d

Found = tuple[Tensor, Tensor]


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Found:  # fmt: skip
    """``max_pool1d`` with its indices, whatever *return_indices* says."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Found:  # fmt: skip
    """``max_pool2d`` with its indices, whatever *return_indices* says."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Found:  # fmt: skip
    """``max_pool3d`` with its indices, whatever *return_indices* says."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Found:
    """``adaptive_max_pool1d`` with its indices, whatever *return_indices* says."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Found:
    """``adaptive_max_pool2d`` with its indices, whatever *return_indices* says."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Found:
    """``adaptive_max_pool3d`` with its indices, whatever *return_indices* says."""
    return adaptive_max_pool3d(input, output_size, True)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Found:  # fmt: skip
    """``fractional_max_pool2d`` with its indices, whatever *return_indices* says."""
    return fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )  # fmt: skip


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Found:  # fmt: skip
    """``fractional_max_pool3d`` with its indices, whatever *return_indices* says."""
    return fractional_max_pool3d(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )  # fmt: skip


__all__ = [name for name in dict(globals()) if name.endswith("_with_indices")]
