"""Batch, layer, group and instance normalisation."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.nn.functional.domains import as_input, check_parameter, refuse_complex
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core


def _running_shape(input: Tensor, name: str, t: Tensor | None) -> None:
    if t is not None and t.numel() != input.shape[1]:
        raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {t.numel()}")


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
    for name, t in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        _running_shape(input, name, t)
        check_parameter(name, t, input)
    rank = input.dim()
    dims = tuple(d for d in range(rank) if d != 1)
    if not training:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
        y = _with_constants(input, running_mean, running_var, weight, bias, eps)
        return y.to(input.dtype)
    n = input.numel() // max(input.shape[1], 1)
    if n == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    with no_grad():
        mean = core("mean")(input, dims)
        var = core("var")(input, dims, 0)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(var * (momentum * n / (n - 1)))
    weight, bias = as_input("weight", weight, input), as_input("bias", bias, input)
    return core("normalize")(input, mean, var, weight, bias, dims, (1,), eps)


def _with_constants(
    input: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    shape = (1, -1, *(1,) * (input.dim() - 2))
    scale = (var + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    return input * scale.view(shape) + shift.view(shape)


@composed(node="NativeLayerNormBackward0")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions with mean 0 and variance 1, then scaled."""
    refuse_complex("LayerNormKernelImpl", input)
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t.shape)} and normalized_shape = {list(shape)}"
            )
    weight, bias = as_input("weight", weight, input), as_input("bias", bias, input)
    dims = tuple(range(input.dim() - len(shape), input.dim()))
    with no_grad():
        mean = core("mean")(input, dims)
        var = core("var")(input, dims, 0)
    return core("normalize")(input, mean, var, weight, bias, dims, dims, eps)


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dimensions divided by their root mean square, then scaled."""
    dims = tuple(range(-len(tuple(normalized_shape)), 0))
    if eps is None:  # of the dtype that is computed in: float32 for the two half widths
        wide = input.dtype is dtypes.float64
        eps = dtypes.finfo(dtypes.float64 if wide else dtypes.float32).eps
    y = input * ((input * input).mean(dims, keepdim=True) + eps).rsqrt()
    return y if weight is None else (y * weight).to(input.dtype)


@composed(node="NativeGroupNormBackward0", layout="channels_last")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels with mean 0 and variance 1 for each sample, then scaled by channel."""
    refuse_complex("GroupNormKernelImpl", input)
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    n, c = input.shape[:2]
    if c % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    weight, bias = as_input("weight", weight, input), as_input("bias", bias, input)
    grouped = input.reshape(n * num_groups, -1)
    with no_grad():
        mean = core("mean")(grouped, (1,))
        var = core("var")(grouped, (1,), 0)
    y = core("normalize")(grouped, mean, var, None, None, (1,), None, eps).view(tuple(input.shape))
    shape = (1, c, *(1,) * (input.dim() - 2))
    if weight is not None:
        y = y * weight.view(shape)
    return y if bias is None else y + bias.view(shape)


@composed(layout="row_major")
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
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    c = input.shape[1]
    if running_mean is not None and running_var is not None:
        dims = tuple(range(2, input.dim()))
        with no_grad():
            running_mean.mul_(1 - momentum).add_(input.mean(dims).mean(0) * momentum)
            running_var.mul_(1 - momentum).add_(input.var(dims).mean(0) * momentum)
    return group_norm(input, c, weight, bias, eps)
