"""Ways to fill tensors with initial values, in place and without recording gradients."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor

_UNIT_GAIN = frozenset(
    ["linear", "sigmoid"]
    + [f"conv{transpose}{n}d" for transpose in ("", "_transpose") for n in (1, 2, 3)]
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance of signals through *nonlinearity*.

    Args:
        nonlinearity: 'linear', 'sigmoid', 'conv1d' and the like (1), 'tanh' (5/3), 'relu',
            'leaky_relu' or 'selu' (3/4).
        param: the negative slope of 'leaky_relu', 0.01 by default.

    Example:
        >>> nn.init.calculate_gain('relu')
        1.4142135623730951
    """
    if nonlinearity in _UNIT_GAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values drawn uniformly from [a, b)."""
    with tensorbus.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values drawn from the normal distribution N(mean, std^2)."""
    with tensorbus.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with values drawn from N(mean, std^2), limited to [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )

    def cumulative(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    # Uniform numbers between the cumulative probabilities of the limits, through the inverse.
    low, high = cumulative((a - mean) / std), cumulative((b - mean) / std)
    with tensorbus.no_grad():
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        tensor.copy_(_inverse_erf(tensor)).mul_(std * math.sqrt(2.0)).add_(mean)
        return tensor.clamp_(min=a, max=b)


def _inverse_erf(y: Tensor) -> Tensor:
    """Where erf is y: Winitzki's approximation (good to 0.2 %), then two steps of Newton's method.

    Values so near to ±1 that erf reaches them only at infinity are moved in by one rounding.
    """
    limit = 1 - tensorbus.finfo(y.dtype).eps
    y = y.clamp(min=-limit, max=limit)
    log = (1 - y * y).log()
    c = 0.147
    half = 2 / (math.pi * c) + log / 2
    x = ((half * half - log / c).sqrt() - half).sqrt() * y.sign()
    for _ in range(2):
        x = x - (x.erf() - y) * (x * x).exp() * (math.sqrt(math.pi) / 2)
    return x


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with the value *val*."""
    with tensorbus.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with tensorbus.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on its diagonal and zeros elsewhere."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with tensorbus.no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes as many channels through as it can.

    Shapes: (out_channels, in_channels / groups, ...) with one to three kernel dims.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with tensorbus.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(out_per_group, sizes[1])):
                tensor[(group * out_per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of connections into one output unit, and out of one input unit."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    valid_modes = ["fan_in", "fan_out"]
    if mode not in valid_modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid_modes}")
    return _calculate_fan_in_and_fan_out(tensor)[valid_modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly with the variance gain^2 * 2 / (fan_in + fan_out)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from a normal distribution with the variance gain^2 * 2 / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / (fan_in + fan_out))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill uniformly with the variance gain^2 / fan.

    Args:
        a: the negative slope of the rectifier that follows ('leaky_relu').
        mode: 'fan_in' keeps the variance forward, 'fan_out' backward.
        nonlinearity: as in ``calculate_gain``.
    """
    if 0 in tensor.shape:
        return _left_empty(tensor)
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from a normal distribution with the variance gain^2 / fan; see ``kaiming_uniform_``."""
    if 0 in tensor.shape:
        return _left_empty(tensor)
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _left_empty(tensor: Tensor) -> Tensor:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return tensor


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi) orthogonal matrix; dims after the first count as one."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    with tensorbus.no_grad():
        rows = tensor.size(0)
        columns = tensor.numel() // rows
        q = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        if rows < columns:
            q = q.t()
        for i in range(q.size(1)):
            before, column = q[:, :i], q[:, i]
            for _ in range(2):  # what rounding left of the other directions goes the second time
                column -= before @ (before.t() @ column)
            column /= column.norm()
        if rows < columns:
            q = q.t()
        return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix from N(0, std^2), then set the fraction *sparsity* of each column to zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with tensorbus.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[tensorbus.randperm(rows)[:zeros], column] = 0
    return tensor


# What PyTorch's functions call inside, by name, for the libraries that import these.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_


def _older(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under its name without the underscore, which warns."""
    old, new = f.__name__[:-1], f.__name__

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warn_user(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return f(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"The older name of `{new}`; warns."
    return call


uniform = _older(uniform_)
normal = _older(normal_)
constant = _older(constant_)
eye = _older(eye_)
dirac = _older(dirac_)
xavier_uniform = _older(xavier_uniform_)
xavier_normal = _older(xavier_normal_)
kaiming_uniform = _older(kaiming_uniform_)
kaiming_normal = _older(kaiming_normal_)
orthogonal = _older(orthogonal_)
sparse = _older(sparse_)

_show_pages(__name__, [(n, f) for n, f in globals().items() if f.__class__ is type(constant_)])
