"""Activations that write into what they are given: ``relu_`` is ``relu`` with ``inplace=True``."""

from __future__ import annotations

from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.activations import (
    celu,
    elu,
    hardtanh,
    leaky_relu,
    relu,
    rrelu,
    selu,
    threshold,
)


def relu_(input: Tensor) -> Tensor:
    """``relu`` in place."""
    return relu(input, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``hardtanh`` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: complex = 0.01) -> Tensor:
    """``leaky_relu`` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu_(input: Tensor, alpha: complex = 1.0) -> Tensor:
    """``elu`` in place."""
    return elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """``selu`` in place."""
    return selu(input, inplace=True)


def celu_(input: Tensor, alpha: complex = 1.0) -> Tensor:
    """``celu`` in place."""
    return celu(input, alpha, inplace=True)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """``rrelu`` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def threshold_(input: Tensor, threshold: complex, value: complex) -> Tensor:
    """``threshold`` in place."""
    return _threshold(input, threshold, value, inplace=True)


_threshold = threshold

__all__ = [
    "celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_",
]  # fmt: skip
