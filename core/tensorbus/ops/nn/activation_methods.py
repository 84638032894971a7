"""Activations that are methods of tensors, too."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted


@public(function=False)
def hardshrink(input: Tensor, lambd: complex = 0.5) -> Tensor:
    """The values outside [-lambd, lambd], else 0."""
    lambd = fitted(lambd, dtypes.float64 if input._k.dtype.category < dtypes.FLOAT else input.dtype)
    if not input._k.is_float:
        raise not_implemented("hardshrink_cpu", input)
    return core("hardshrink")(input, lambd)


@public(function=False)
@composed(node="PreluKernelBackward0", autocast="lower")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``leaky_relu`` with a slope that is learnt, one for all or one for each channel."""
    if weight._k.dtype is not input._k.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {scalar_name(input._k.dtype)} and "
            f"{scalar_name(weight._k.dtype)}"
        )
    if len(weight._s) > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{len(weight._s)}"
        )
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
    if input._k.dtype.category < dtypes.FLOAT:
        raise not_implemented("prelu_cpu", input)
    return core("prelu_kernel")(input, weight)
