"""Activations and dropout."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.batches import drawn_for
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.pointwise.compositions import sigmoid_in_rule
from tensorbus.ops.pointwise.declaring import refuse_complex, unary
from tensorbus.ops.random.random import draw_uniform
from tensorbus.rows.registry import ROWS, row

# fmt: off
row("softmax", "x:T, dim",
    doc="``exp(x) / sum(exp(x))`` along *dim*, without overflow.",
    in_float32=True,
    composite=lambda F, x, dim: _softmax(F, x, dim),
    x=lambda F, g, out, dim: F.softmax_backward(g, out, dim), autocast="device float32")
row("softmax_backward", "g:T, out:T, dim",
    doc="The derivative of ``softmax`` from its result *out*: ``out * (g - sum(g * out))`` along "
        "*dim*.",
    in_float32=True,
    composite=lambda F, g, out, dim:
        F.mul(out, F.sub(g, _keep(F, F.sum(F.mul(g, out), (dim,)), dim))))
row("log_softmax", "x:T, dim",
    doc="``x - log(sum(exp(x)))`` along *dim*, without overflow.",
    in_float32=True,
    composite=lambda F, x, dim: _log_softmax(F, x, dim),
    x=lambda F, g, out, dim: F.log_softmax_backward(g, out, dim), autocast="device float32")
row("log_softmax_backward", "g:T, out:T, dim",
    doc="The derivative of ``log_softmax`` from its result *out*: ``g - exp(out) * sum(g)`` along "
        "*dim*.",
    in_float32=True,
    composite=lambda F, g, out, dim:
        F.sub(g, F.mul(F.exp(out), _keep(F, F.sum(g, (dim,)), dim))))
row("hardtanh", "x:T, low, high", "unary",
    doc="*x* limited to what lies from *low* to *high*, element by element.",
    domain="ordered number", piecewise_linear=True,
    check=refuse_complex("clamp is not supported for complex types"),
    composite=lambda F, x, low, high: F.clamp(x, low, high),
    x=lambda F, g, x, low, high: F.where(
        F.bool.bitwise_or(F.le(x, low), F.ge(x, high)), F.number(0), g))
row("hardsigmoid", "x:T", "unary",
    doc="``clamp(x + 3, 0, 6) / 6``, element by element.",
    domain="ordered float", piecewise_linear=True,
    composite=lambda F, x: F.div(F.clamp(F.add(x, 3.0), 0.0, 6.0), 6.0),
    x=lambda F, g, x: F.where(F.lt(F.abs(x), 3.0), F.div(g, 6.0), F.number(0)))
row("hardswish", "x:T", "unary",
    doc="``x * clamp(x + 3, 0, 6) / 6``, element by element.",
    domain="ordered float",
    composite=lambda F, x: F.div(F.mul(x, F.clamp(F.add(x, 3.0), 0.0, 6.0)), 6.0),
    x=lambda F, g, x: F.where(
        F.le(x, -3.0), F.number(0),
        F.where(F.lt(x, 3.0), F.mul(g, F.add(F.div(x, 3.0), 0.5)), g)))
row("hardshrink", "x:T, most", "unary",
    doc="*x*, but 0 where ``abs(x) <= most``, element by element.",
    domain="ordered number", piecewise_linear=True,
    composite=lambda F, x, most: F.where(F.le(F.abs(x), most), F.number(0), x),
    x=lambda F, g, x, most: F.where(F.le(F.abs(x), most), F.number(0), g))
row("softshrink", "x:T, most", "unary",
    doc="``x - clamp(x, -most, most)``, element by element.",
    domain="ordered number", piecewise_linear=True,
    composite=lambda F, x, most: F.sub(x, F.clamp(x, -most, most)),
    x=lambda F, g, x, most: F.where(F.le(F.abs(x), most), F.number(0), g))
row("prelu_kernel", "x:T, y:T", "binary",
    doc="*x* where it is above 0, else ``x * y``; the operands broadcast.",
    domain="ordered float", piecewise_linear=True,
    composite=lambda F, x, y: F.where(F.gt(x, 0), x, F.mul(x, y)),
    x=lambda F, g, x, y: F.where(F.gt(x, 0), g, F.mul(g, y)),
    y=lambda F, g, x: F.where(F.gt(x, 0), F.number(0), F.mul(g, x)), autocast="lower")
row("leaky_relu", "x:T, slope", "unary",
    written_node_name="LeakyReluBackward1",
    doc="*x* where it is above 0, else ``x * slope``, element by element.",
    domain="float", piecewise_linear=True,
    composite=lambda F, x, slope: F.where(F.gt(x, 0), x, F.mul(x, slope)),
    x=lambda F, g, x, slope: F.where(F.gt(x, 0), g, F.mul(g, slope)))
row("elu", "x:T, alpha, scale, inner", "unary",
    written_node_name="EluBackward1",
    doc="``scale * x`` above 0, else ``alpha * scale * (exp(inner * x) - 1)``, element by "
        "element.",
    domain="float",
    composite=lambda F, x, alpha, scale, inner: F.where(
        F.gt(x, 0), F.mul(x, scale),
        F.mul(F.expm1(F.mul(F.minimum(x, 0.0), inner)), alpha * scale)),
    x=lambda F, g, x, alpha, scale, inner: F.where(
        F.le(x, 0),
        F.mul(F.mul(g, F.exp(F.mul(_negative(F, x), inner))), alpha * scale * inner),
        F.mul(g, scale)))
row("softplus", "x:T, beta, threshold", "unary",
    doc="``log(1 + exp(beta * x)) / beta``, but *x* where ``beta * x > threshold``, element by "
        "element.",
    domain="float",
    composite=lambda F, x, beta, threshold: _softplus(F, x, beta, threshold),
    x=lambda F, g, x, beta, threshold: _softplus_slope(F, g, F.mul(x, beta), threshold),
    autocast="device float32")
row("threshold", "x:T, at, value", "unary",
    written_node_name="ThresholdBackward1",
    doc="*x*, but *value* where ``x <= at``, element by element.",
    piecewise_linear=True,
    composite=lambda F, x, at, value: F.where(F.le(x, at), F.number(value), x),
    x=lambda F, g, x, at: F.where(F.le(x, at), F.number(0), g))
row("gelu", "x:T", "unary",
    doc="``x * (1 + erf(x / sqrt(2))) / 2``, element by element.",
    domain="ordered float",
    composite=lambda F, x: F.mul(F.mul(x, 0.5), F.add(F.erf(F.mul(x, math.sqrt(0.5))), 1.0)),
    x=lambda F, g, x: F.gelu_backward(g, x))
row("gelu_backward", "g:T, x:T",
    doc="The derivative of ``gelu`` times *g*, element by element.",
    composite=lambda F, g, x: F.mul(g, _gelu_slope(F, x)))
row("gelu_tanh", "x:T", "unary",
    doc="The approximation of ``gelu`` by a hyperbolic tangent, element by element.",
    domain="ordered float",
    composite=lambda F, x: F.mul(F.mul(x, 0.5), F.add(F.tanh(_gelu_inner(F, x)), 1.0)),
    x=lambda F, g, x: F.mul(g, _gelu_tanh_slope(F, x)))
row("log_sigmoid", "x:T", "unary",
    doc="``log(1 / (1 + exp(-x)))`` without overflow, element by element.",
    domain="float",
    composite=lambda F, x: F.sub(F.minimum(x, 0.0), F.log1p(F.exp(F.neg(F.abs(x))))),
    x=lambda F, g, x: F.mul(g, sigmoid_in_rule(F, F.neg(x))))
unary("silu", doc="``input * sigmoid(input)``", out=None, domain="float", holomorphic=True,
      composite=lambda F, x: F.mul(x, F.sigmoid(x)),
      x=lambda F, g, x: F.mul(g, _silu_slope(F, x)))
row("dropout_scale", "x:T, c:bool, scale",
    doc="``x * c * scale``, where *c* counts as 0 or 1.",
    composite=lambda F, x, c, scale: F.mul(F.mul(x, F.cast(c, F.bool)), scale),
    x=lambda F, g, c, scale: F.dropout_scale(g, c, scale))
# fmt: on


def _keep(F: Any, r: Any, dim: int) -> Any:
    return F.unsqueeze(r, dim)


def _softmax(F: Any, x: Any, dim: int) -> Any:
    e = F.sub(x, F.unsqueeze(F.amax(x, (dim,)), dim))
    e = F.exp(e)
    return F.div(e, F.unsqueeze(F.sum(e, (dim,)), dim))


def _log_softmax(F: Any, x: Any, dim: int) -> Any:
    d = F.sub(x, F.unsqueeze(F.amax(x, (dim,)), dim))
    return F.sub(d, F.unsqueeze(F.log(F.sum(F.exp(d), (dim,))), dim))


def _softplus(F: Any, x: Any, beta: float, threshold: float) -> Any:
    y = F.mul(x, beta)
    # max(y, 0) + log1p(exp(-|y|)): the exponential itself would overflow float16 beyond 11.
    soft = F.add(F.maximum(y, 0.0), F.log1p(F.exp(F.neg(F.abs(y)))))
    scale = 1.0 / beta if beta else math.copysign(math.inf, beta)
    return F.where(F.gt(y, threshold), x, F.mul(soft, scale))


def _softplus_slope(F: Any, g: Any, y: Any, threshold: float) -> Any:
    beyond = F.gt(y, threshold)
    if F.records:  # the slope has none of its own from the threshold on
        y = F.where(F.ge(y, threshold), F.number(threshold), y)
    return F.where(beyond, g, F.mul(g, sigmoid_in_rule(F, y)))


def _negative(F: Any, x: Any) -> Any:
    """The values below 0, else 0; its slope at 0 is 0."""
    return F.where(F.lt(x, 0), x, F.number(0)) if F.records else F.minimum(x, 0.0)


def _gelu_slope(F: Any, x: Any) -> Any:
    cumulative = F.mul(F.add(F.erf(F.mul(x, math.sqrt(0.5))), 1.0), 0.5)
    density = F.mul(F.exp(F.mul(F.mul(x, x), -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
    return F.add(cumulative, F.mul(x, density))


_GELU = math.sqrt(2.0 / math.pi)


def _gelu_inner(F: Any, x: Any) -> Any:
    return F.mul(F.add(x, F.mul(F.mul(x, F.mul(x, x)), 0.044715)), _GELU)


def _gelu_tanh_slope(F: Any, x: Any) -> Any:
    # Beyond 10 the slope is 0 or 1 in every dtype; a tanh that is not quite 1 there must not be
    # multiplied by powers of x.
    x = F.clamp(x, -10.0, 10.0)
    t = F.tanh(_gelu_inner(F, x))
    inner = F.mul(F.add(F.mul(F.mul(x, x), 3 * 0.044715), 1.0), _GELU)
    outer = F.mul(F.mul(x, 0.5), F.add(F.neg(F.mul(t, t)), 1.0))
    return F.add(F.mul(F.add(t, 1.0), 0.5), F.mul(outer, inner))


def _silu_slope(F: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return F.mul(s, F.add(F.mul(x, F.add(F.neg(s), 1.0)), 1.0))


# -- public ----------------------------------------------------------------------------------
def as_float(x: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """The tensor in a floating point dtype: the one named, its own, or the default."""
    if dtype is not None:
        return to_kind(x, x._k.of(dtype))
    if x._k.dtype.category < dtypes.FLOAT:
        return to_kind(x, x._k.of(dtypes.get_default_dtype()))
    return x


def over_dim(name: str, x: Tensor, dim: int, dtype: Any) -> Tensor:
    """A row that works along one dimension; 0-dim tensors count as vectors of one."""
    d = wrap_dim(dim, len(x._s))
    if dtype is None and x._k.dtype.category < dtypes.FLOAT:
        if not x._s.numel():
            return x.clone()
        raise NotImplementedError(
            f"\"{name}_lastdim_kernel_impl\" not implemented for '{scalar_name(x._k.dtype)}'"
        )
    x = as_float(x, dtype)
    if not x._s:
        return over_dim(name, x.reshape(1), 0, None).reshape(())
    if not x._s.numel():  # no maximum is there; a copy would have no second derivative
        made = core("exp")(x)
        name_node(made, ROWS[name].node_name)
        return made
    return core(name)(x, d)


@public(out=SAME)
def softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
    return over_dim("softmax", input, dim, dtype)


@public(out=SAME)
def log_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """``log(softmax(input))`` along a dimension, without overflow."""
    return over_dim("log_softmax", input, dim, dtype)


@public(name="dropout", method=False)
@composed(node="MulBackward0", layout="order", operands=1)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zero elements with probability *p* and scale the others by ``1 / (1 - p)``."""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not train or p == 0.0 or not input._s.numel():
        return input
    return masked(input, tuple(input._s), p)


def masked(input: Tensor, shape: tuple[int, ...], p: float) -> Tensor:
    """Dropout with one draw for each element of *shape*, which broadcasts to the input's."""
    input = drawn_for(input)
    k = input._k
    if k.dtype.category < dtypes.FLOAT:
        if p == 1.0:
            return input.new_zeros(tuple(input._s))
        raise RuntimeError(
            f"result type Float can't be cast to the desired "
            f"output type {scalar_name(k.dtype)}: dropout scales what it keeps"
        )
    draws = k if k.dtype is dtypes.float64 else k.of(dtypes.float32)
    kept = draws.ge(draw_uniform(draws, shape), p)
    mask = from_array(k.bool.contiguous(k.bool.as_array(kept)), k.bool)
    if shape != tuple(input._s):
        mask = mask.expand(input._s)
    return core("dropout_scale")(input, mask, 1.0 / (1.0 - p) if p < 1.0 else 0.0)
