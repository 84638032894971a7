"""Batch, layer, group and instance normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import dim_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.nn.functional.domains import (
    check_parameter,
    norm_operands,
    refuse_complex,
    refuse_gradient,
    refuse_integers,
)
from tensorbus.nn.functional.windows import avg_pool2d, pad
from tensorbus.op_engine.autocasting import as_one_op
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.int_arguments import int_tuple


def _check_channels(input: Tensor, **parameters: Tensor | None) -> None:
    """Raise unless what has one value for each channel has, in the input's dtype."""
    if len(input._s) < 2 and not any(t is not None for t in parameters.values()):
        raise dim_error(1, len(input._s))
    channels = input._s[1] if len(input._s) > 1 else 0
    for name, t in parameters.items():
        if t is None:
            continue
        if t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")
        if len(t._s) != 1 and name.startswith("running"):
            raise RuntimeError(f"{name} should have 1 dimension, but got {list(t._s)}")
        check_parameter(name, t, input)


def _check_values(input: Tensor, groups: int = 0) -> None:
    """ValueError where a mean would be over one value."""
    if len(input._s) < 2:
        return
    n, c = input._s[:2]
    values = n * c // groups if groups else n
    if values * input._s[2:].numel() == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input._s}"
        )


def _check_both(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _check_affine(shape: tuple[int, ...], **parameters: Tensor | None) -> None:
    for name, t in parameters.items():
        if t is not None and tuple(t._s) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t._s)} and normalized_shape = {list(shape)}"
            )


def _trailing(function: str, input: Tensor, normalized_shape: Any) -> tuple[int, ...]:
    """The sizes of the last dimensions, which the input has to have."""
    shape = int_tuple(function, "normalized_shape", normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    if function == "rms_norm" and len(input._s) < len(shape):
        raise ValueError(
            f"Input tensor must have at least {len(shape)} dimensions, but got {len(input._s)}"
        )
    if tuple(input._s[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(input._s)}"
        )
    return shape


@composed(node="NativeBatchNormBackward0", layout="channels_last")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Channels (dimension 1) with mean 0 and variance 1 over all other dimensions, then scaled.

    While training the statistics are the batch's and update the running ones in place.
    """
    refuse_complex("batch_norm", input)
    if training:
        _check_values(input)
    refuse_integers("batch_norm", input)
    if eps < 0 or (training and eps == 0):
        when = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {when}, but got {eps}")
    if training:
        _check_both(running_mean, running_var)
    refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if not input._s.numel():  # PyTorch looks at nothing else, and leaves the statistics alone
        y = input.clone()
        if weight is not None:
            y = y * weight[0]
        return y if bias is None else y + bias[0]
    _check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    rank = input.dim()
    dims = tuple(d for d in range(rank) if d != 1)
    d = input.dtype
    if not training:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
        input, weight, bias = norm_operands(input, weight, bias)
        mean, var = (to_kind(t, input._k) for t in (running_mean, running_var))
        y = core("batch_norm_inference")(input, mean, var, weight, bias, float(eps))
        return _rounded(y, d)
    input, weight, bias = norm_operands(input, weight, bias)
    y, mean, _, var = core("batch_norm")(input, weight, bias, dims, float(eps))
    if running_mean is not None and running_var is not None:
        n = input.numel() // max(input.shape[1], 1)
        with no_grad():
            running_mean.mul_(1 - momentum).add_(mean * momentum)
            running_var.mul_(1 - momentum).add_(var * (momentum * n / (n - 1)))
    return _rounded(y, d)


def _rounded(y: Tensor, d: dtypes.dtype) -> Tensor:
    """A result in the input's dtype where that has 16 bits."""
    return y.to(d) if d in dtypes.HALVES else y


@composed(node="NativeLayerNormBackward0", autocast="device float32")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions with mean 0 and variance 1, then scaled."""
    refuse_complex("LayerNormKernelImpl", input)
    shape = _trailing("layer_norm", input, normalized_shape)
    _check_affine(shape, weight=weight, bias=bias)
    if weight is not None:
        check_parameter("weight", weight, input)
    refuse_integers("LayerNormKernelImpl", input)
    d = input.dtype
    input, weight, bias = norm_operands(input, weight, bias)
    dims = tuple(range(input.dim() - len(shape), input.dim()))
    return _rounded(core("layer_norm")(input, weight, bias, dims, float(eps))[0], d)


@composed(layout="row_major")
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dimensions divided by their root mean square, then scaled."""
    shape = _trailing("rms_norm", input, normalized_shape)
    _check_affine(shape, weight=weight)
    refuse_integers("rms_norm", input)
    dims = tuple(range(input.dim() - len(shape), input.dim()))
    x = norm_operands(input, None, None)[0]
    if eps is None:
        eps = dtypes.finfo(x.dtype.to_real()).eps
    if x._k.is_complex or (weight is not None and weight._k is not input._k):
        y = x * ((x * x).mean(dims, keepdim=True) + eps).rsqrt()
        return (y if weight is None else y * weight).to(input.dtype)
    weight = None if weight is None else to_kind(weight, x._k)
    return core("rms_norm")(x, weight, dims, float(eps))[0].to(input.dtype)


@composed(node="NativeGroupNormBackward0", layout="channels_last", autocast="device float32")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels with mean 0 and variance 1 for each sample, then scaled by channel."""
    refuse_complex("GroupNormKernelImpl", input)
    refuse_integers("GroupNormKernelImpl", input)
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    n, c = input.shape[:2]
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    _check_values(input, num_groups)
    if c % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t._s) != (c,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(t._s)} and input of shape {list(input._s)}"
            )
    d = input.dtype
    input, weight, bias = norm_operands(input, weight, bias)
    grouped = input.reshape(n * num_groups, input._s[1:].numel() // num_groups)
    y = core("layer_norm")(grouped, None, None, (1,), float(eps))[0].view(tuple(input.shape))
    shape = (1, c, *(1,) * (input.dim() - 2))
    if weight is not None:
        y = y * weight.view(shape)
    y = y if bias is None else y + bias.view(shape)
    return _rounded(y, d)


def verify_spatial_size(size: Sequence[int]) -> None:
    """ValueError where each channel of each sample of an input of *size* has one value."""
    if math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {size}"
        )


@composed(node="ViewBackward0", layout="row_major")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1, then scaled by channel."""
    if use_input_stats:
        verify_spatial_size(input._s)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _check_both(running_mean, running_var)
    refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    refuse_complex("batch_norm", input)
    refuse_integers("batch_norm", input)
    _check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    c = input.shape[1]
    if not c:
        return input.clone()
    if running_mean is not None and running_var is not None:
        dims = tuple(range(2, input.dim()))
        with no_grad():
            running_mean.mul_(1 - momentum).add_(input.mean(dims).mean(0) * momentum)
            running_var.mul_(1 - momentum).add_(input.var(dims).mean(0) * momentum)
    return group_norm(input, c, weight, bias, eps)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * mean)**beta``, where ``mean`` is that of some squares.

    They are those of the *size* channels around each one; beyond the first and the last are zeros.

    Shapes: (N, C, ...) with at least 3 dimensions, to the same.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.local_response_norm.html

    Raises:
        ValueError: an input with fewer dimensions.

    Example:
        >>> x = tensorbus.ones(1, 2, 1)
        >>> nn.functional.local_response_norm(x, 2, alpha=2.0, beta=1.0).tolist()
        [[[0.5], [0.3333333432674408]]]
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )  # fmt: skip
    if not input._s.numel():
        return input
    n, c = input._s[:2]
    squares = pad((input * input).reshape(n, 1, c, -1), (0, 0, size // 2, (size - 1) // 2))
    # PyTorch pools volumes where there are several dimensions, which autocast does in float32.
    policy = "cpu float32" if input.dim() > 3 else "given"
    mean = as_one_op(policy, avg_pool2d, (squares, (size, 1)), {"stride": 1}).reshape(input._s)
    return input / mean.mul(alpha).add(k).pow(beta)
