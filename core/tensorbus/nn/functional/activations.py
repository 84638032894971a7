"""Activation functions."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.wrapping import wrap_number
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.nn.functional.domains import refuse_complex, refuse_integers
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.batches import drawn_for
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.in_place import in_place, record_as
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.scalars import fitted, widened
from tensorbus.ops.nn.activation import log_softmax as _log_softmax
from tensorbus.ops.nn.activation import softmax as _softmax
from tensorbus.ops.nn.activation_methods import hardshrink, prelu

sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]


def either(input: Tensor, f: Any, inplace: bool, *args: Any) -> Tensor:
    """The function's result, or the tensor into which it was written."""
    return in_place(input, f, args) if inplace else f(input, *args)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return in_place(input, core("relu"), ()) if inplace else core("relu")(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The values cut to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """The values cut to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input._k.dtype.category == dtypes.BOOL:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    min_val, max_val = fitted(min_val, input._k.dtype), fitted(max_val, input._k.dtype)
    if input._k.dtype.category == dtypes.INTEGER:
        min_val, max_val = int(min_val), int(max_val)
        if min_val < 0 and not input.dtype.is_signed:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return either(input, core("hardtanh"), inplace, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: complex = 0.01, inplace: bool = False) -> Tensor:
    """The values, those below 0 times *negative_slope*."""
    refuse_integers("leaky_relu_cpu", input)
    return either(
        input, core("leaky_relu"), inplace, fitted(negative_slope, widened(input._k.dtype))
    )


@composed(node="RreluWithNoiseBackward0", layout="order", operands=1)
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """``leaky_relu`` whose slopes are drawn between *lower* and *upper* while training, and
    halfway between them else (arXiv:1505.00853)."""
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    refuse_integers("leaky_relu_cpu", input)
    refuse_complex("leaky_relu_cpu", input)
    if not training:
        return either(input, core("leaky_relu"), inplace, (float(lower) + float(upper)) / 2)
    with no_grad():
        drawn = FUNCTIONS["empty_like"](drawn_for(input)).uniform_(lower, upper)
        slopes = drawn.masked_fill_(input > 0, 1.0)
    made = either(input, lambda x: x * slopes, inplace)
    return record_as(made, "RreluWithNoiseBackward1") if inplace else made


def elu(input: Tensor, alpha: complex = 1.0, inplace: bool = False) -> Tensor:
    """The values, those below 0 as ``alpha * (exp(x) - 1)``."""
    refuse_integers("elu_cpu", input)
    return either(input, core("elu"), inplace, fitted(alpha, widened(input._k.dtype)), 1.0, 1.0)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the scale and alpha that keep mean and variance (arXiv:1706.02515)."""
    refuse_integers("elu_cpu", input)
    return either(
        input, core("elu"), inplace, 1.6732632423543772848170429916717,
        1.0507009873554804934193349852946, 1.0,
    )  # fmt: skip


@composed(node="CeluBackward0")
def celu(input: Tensor, alpha: complex = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    refuse_integers("elu_cpu", input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    alpha = fitted(alpha, widened(input._k.dtype))
    made = either(input, core("elu"), inplace, alpha, 1.0, 1.0 / alpha)
    return record_as(made, "CeluBackward1") if inplace else made


@composed(node="GeluBackward0")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``x`` times the normal distribution function at ``x``, exact or by ``tanh``."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    refuse_integers("GeluKernelImpl", input)
    refuse_complex("GeluKernelImpl", input)
    return core("gelu_tanh" if approximate == "tanh" else "gelu")(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    refuse_integers("silu_cpu", input)
    return either(input, core("silu"), inplace)


@composed(node="MishBackward0")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    refuse_integers("mish_cpu", input)
    made = either(input, lambda x: x * softplus(x).tanh(), inplace)
    return record_as(made, "MishBackward0") if inplace else made


def softplus(input: Tensor, beta: complex = 1, threshold: complex = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself above the threshold."""
    refuse_integers("softplus_cpu", input)
    d = widened(input._k.dtype)
    return core("softplus")(input, fitted(beta, d), fitted(threshold, d))


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - input.tanh()


def softshrink(input: Tensor, lambd: complex = 0.5) -> Tensor:
    """The values moved by *lambd* towards 0, no further than 0."""
    refuse_integers("softshrink_check", input)
    lambd = float(fitted(lambd, dtypes.float64))
    dtype = input.dtype
    if dtype.is_floating_point and not 0 <= lambd <= dtypes.finfo(dtype).max:
        name = scalar_name(dtype)
        limit = dtypes.finfo(dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {limit:g}] for input dtype {name}, but found {lambd:g}"
        )
    return core("softshrink")(input, lambd)


def threshold(input: Tensor, threshold: complex, value: complex, inplace: bool = False) -> Tensor:
    """The values above *threshold*, else *value*."""
    d = input._k.dtype
    if d.category == dtypes.BOOL:
        raise not_implemented("threshold_cpu", input)
    threshold, value = (wrap_number(fitted(n, d), d) for n in (threshold, value))
    return either(input, core("threshold"), inplace, threshold, value)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""
    refuse_integers("hardsigmoid_cpu", input)
    return either(input, core("hardsigmoid"), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    refuse_integers("hardswish_cpu", input)
    return either(input, core("hardswish"), inplace)


@composed(node="LogSigmoidBackward0", layout="row_major")
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))`` without overflow."""
    refuse_integers("log_sigmoid_cpu", input)
    return core("log_sigmoid")(input)


@composed(node="GluBackward0", layout="order", operands=1)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other half."""
    if not input._s:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    n = input.size(dim)
    if n % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.dim()} is size {n}"
        )
    refuse_complex("glu_cpu", input)
    refuse_integers("glu_cpu", input)
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
    return _softmax(input, _chosen_dim("softmax", input, dim), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """``log(softmax(input))`` along a dimension, without overflow."""
    return _log_softmax(input, _chosen_dim("log_softmax", input, dim), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """``softmax`` of the negated values."""
    return _softmax(-input, _chosen_dim("softmin", input, dim), dtype)


def _chosen_dim(name: str, input: Tensor, dim: int | None) -> int:
    """The dimension, or (with a warning) the one that older programs leave to the function."""
    return _get_softmax_dim(name, len(input._s)) if dim is None else dim


def _get_softmax_dim(name: str, ndim: int, stacklevel: int = 3) -> int:
    """The dimension that older programs leave to the function *name*, with a warning."""
    warn_user(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """The values divided by their norm along a dimension or several, at least *eps*."""
    if input._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "normalize: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(input._k.dtype)}"
        )
    return FUNCTIONS["div"](input, input.norm(p, dim, keepdim=True).clamp(min=eps), out=out)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A draw from the Gumbel-Softmax distribution with temperature *tau* (arXiv:1611.01144).

    With *hard* it is one-hot along *dim*, and has the gradient of the soft draw.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.gumbel_softmax.html

    Example:
        >>> nn.functional.gumbel_softmax(tensorbus.tensor([0.0, 1e9]), hard=True).tolist()
        [0.0, 1.0]
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    with no_grad():
        noise = -FUNCTIONS["empty_like"](drawn_for(logits)).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    return FUNCTIONS["zeros_like"](soft).scatter(dim, index, 1.0) - soft.detach() + soft


__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "normalize",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]  # fmt: skip
