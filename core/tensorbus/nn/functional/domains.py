"""Which dtypes operands may have: beside one another, and at all.

Rows take operands of one kind: what differs is brought to one, or refused, before they are called.
"""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.op_engine.arguments import check_device, not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.mixed_operands import common_kind
from tensorbus.rows.layouts import broadcast_shapes
from tensorbus.rows.registry import ROWS


def refuse_complex(kernel: str, input: Tensor) -> None:
    """NotImplementedError, under PyTorch's name of the kernel, for a complex tensor."""
    if input._k.dtype.is_complex:
        raise not_implemented(kernel, input)


def refuse_integers(kernel: str, input: Tensor) -> None:
    """NotImplementedError, under PyTorch's name of the kernel, for integers and truth values."""
    if input._k.dtype.category < dtypes.FLOAT:
        raise not_implemented(kernel, input)


def refuse_gradient(function: str, **operands: Tensor | None) -> None:
    """RuntimeError for an operand that wants a gradient, which the function has none for."""
    for name, t in operands.items():
        if t is not None and t._e is not None and (GRAD.on or THREAD.on):
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )


def promoted(row: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the dtype that the rules of promotion give for them."""
    if a._k is b._k:
        return a, b
    kind = common_kind(ROWS[row], a, b)
    return to_kind(a, kind), to_kind(b, kind)


def check_parameter(name: str, t: Tensor | None, input: Tensor) -> None:
    """Raise unless a parameter of a norm has the input's dtype, or float32 beside a half width."""
    if t is None or t._k is input._k:
        return
    check_device(input, t)
    if input.dtype not in dtypes.HALVES or t.dtype is not dtypes.float32:
        raise RuntimeError(
            f"mixed dtype: expect {name} to have scalar type of {scalar_name(input._k.dtype)}, as "
            f"the input has, but found {scalar_name(t._k.dtype)}"
        )


def norm_operands(
    input: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The operands of a norm in the input's dtype, or in float32 where that has 16 bits.

    Intermediate results would be rounded each; the result is converted back.
    """
    for name, t in (("weight", weight), ("bias", bias)):
        check_parameter(name, t, input)
    k = input._k.of(dtypes.float32) if input.dtype in dtypes.HALVES else input._k
    parameters = [t if t is None else to_kind(t, k) for t in (weight, bias)]
    return to_kind(input, k), parameters[0], parameters[1]


def check_same_kind(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise unless a convolution's operands have one dtype, on one device."""
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._k is not input._k:
            raise RuntimeError(
                f"Input type ({input.type()}) and {name} type ({t.type()}) should be the same"
            )


def check_fits(t: Tensor | None, input: Tensor) -> None:
    """Raise unless a weight or target broadcasts to the input's shape."""
    if t is None or t._s is input._s:
        return
    shape = broadcast_shapes(tuple(input._s), tuple(t._s))
    if shape != tuple(input._s):
        raise RuntimeError(
            f"output with shape {list(input._s)} doesn't match the broadcast shape {list(shape)}"
        )
