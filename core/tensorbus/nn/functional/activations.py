"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.functional.domains import refuse_complex
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import in_place
from tensorbus.op_engine.public import FUNCTIONS
from tensorbus.op_engine.scalars import scalar_name
from tensorbus.ops.nn.activation import dropout as _dropout
from tensorbus.ops.nn.activation import log_softmax, masked, softmax

sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]


def _either(input: Tensor, f: Any, inplace: bool, *args: Any) -> Tensor:
    return in_place(input, f, args) if inplace else f(input, *args)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return in_place(input, core("relu"), ()) if inplace else core("relu")(input)


@composed(node="HardtanhBackward0")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The values cut to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


@composed(node="HardtanhBackward0")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """The values cut to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input._k.dtype.category == dtypes.INTEGER:
        min_val, max_val = int(min_val), int(max_val)
        if min_val < 0 and not input.dtype.is_signed:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _either(input, core("clamp"), inplace, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The values, those below 0 times *negative_slope*."""
    return _either(input, core("leaky_relu"), inplace, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The values, those below 0 as ``alpha * (exp(x) - 1)``."""
    return _either(input, core("elu"), inplace, alpha, 1.0, 1.0)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the scale and alpha that keep mean and variance (arXiv:1706.02515)."""
    return _either(
        input, core("elu"), inplace, 1.6732632423543772848170429916717,
        1.0507009873554804934193349852946, 1.0,
    )  # fmt: skip


@composed(node="CeluBackward0")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _either(input, core("elu"), inplace, alpha, 1.0, 1.0 / alpha)


@composed(node="GeluBackward0")
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x`` times the normal distribution function at ``x``, exact or by ``tanh``."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return core("gelu_tanh" if approximate == "tanh" else "gelu")(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    return _either(input, core("silu"), inplace)


@composed(node="MishBackward0")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return _either(input, lambda x: x * softplus(x).tanh(), inplace)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself above the threshold."""
    return core("softplus")(input, float(beta), float(threshold))


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - input.tanh()


@composed(node="HardshrinkBackward0")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The values outside [-lambd, lambd], else 0."""
    refuse_complex("hardshrink_cpu", input)
    return input * (input.abs() > lambd).to(input.dtype)


@composed(node="SoftshrinkBackward0")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The values moved by *lambd* towards 0, no further than 0."""
    if lambd < 0:
        dtype = input.dtype
        name = scalar_name(dtype)
        limit = dtypes.finfo(dtype).max if dtype.is_floating_point else math.inf
        raise RuntimeError(
            f"lambda must be in range [0, {limit:g}] for input dtype {name}, but found {lambd:g}"
        )
    return input - input.clamp(-lambd, lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The values above *threshold*, else *value*."""
    return _either(input, core("threshold"), inplace, threshold, value)


@composed(node="HardsigmoidBackward0")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""
    return _either(input, lambda x: (x + 3).clamp(0, 6) / 6, inplace)


@composed(node="HardswishBackward0")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return _either(input, lambda x: x * hardsigmoid(x), inplace)


@composed(node="LogSigmoidBackward0", layout="row_major")
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))`` without overflow."""
    return core("log_sigmoid")(input)


@composed(node="PreluKernelBackward0")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``leaky_relu`` with a slope that is learnt, one for all or one for each channel."""
    if weight.numel() != 1:
        if input.dim() < 2 or input.shape[1] != weight.numel():
            channels = input.shape[1] if input.dim() > 1 else 1
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
        weight = weight.view(1, -1, *(1,) * (input.dim() - 2))
    elif not input.dim():
        weight = weight.view(())
    return input.clamp(min=0) + weight * input.clamp(max=0)


@composed(node="GluBackward0", layout="order", operands=1)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other half."""
    refuse_complex("glu_cpu", input)
    n = input.shape[dim]
    if n % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.dim()} is size {n}"
        )
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """``softmax`` of the negated values."""
    return softmax(-input, dim, dtype)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """The values divided by their norm along a dimension, at least *eps*."""
    norm = input.abs().pow(p).sum(dim, keepdim=True).pow(1.0 / p)
    return input / norm.clamp(min=eps)


@composed(node="MulBackward0", layout="order", operands=1)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability *p* while training, and scale the others."""
    return _either(input, _dropout, inplace, p, training)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, spatial: int) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    lead = input.dim() - spatial
    shape = (*input.shape[:lead], *(1,) * spatial)
    return _either(input, lambda x: masked(x, tuple(shape), p), inplace)


@composed(node="MulBackward0", layout="order", operands=1)
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    return _channels(input, p, training, inplace, 1)


@composed(node="MulBackward0", layout="order", operands=1)
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, H, W)."""
    return _channels(input, p, training, inplace, 2)


@composed(node="MulBackward0", layout="order", operands=1)
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W)."""
    return _channels(input, p, training, inplace, 3)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps the mean and the variance of SELU's outputs (arXiv:1706.02515)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input * 0
    low = -1.7580993408473766
    a = 1.0 / math.sqrt((1 - p) * (1 + p * low**2))

    def drop(x: Tensor) -> Tensor:
        from tensorbus import ones_like

        kept = masked(ones_like(x), tuple(x.shape), p) * (1 - p)
        return (x * kept + low * (1 - kept)) * a - a * p * low

    return _either(input, drop, inplace)


__all__ = [
    "alpha_dropout", "celu", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "gelu",
    "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_softmax",
    "logsigmoid", "mish", "normalize", "prelu", "relu", "relu6", "selu", "sigmoid", "silu",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip
