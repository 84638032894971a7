"""Norms of vectors and matrices, and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import type_error
from tensorbus._dispatch.wrapping import check_bits
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_checks import also_named
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import kept, wrap_dims
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.views.reinterpretation import view_as_real
from tensorbus.rows.registry import row

# fmt: off
row("vector_norm", "x:T, order, dims",
    domain="ordered float",
    doc="``sum(abs(x) ** order) ** (1 / order)`` over *dims*, or its limit for such an *order*.",
    node_name="LinalgVectorNormBackward0",
    composite=lambda F, x, order, dims: _vector_norm(F, x, order, dims),
    x=lambda F, g, x, out, order, dims: _vector_norm_backward(F, g, x, out, order, dims),
    autocast="device float32")
row("sum_of_squares", "x:T, dims",
    doc="The sum of the squares of *x* over *dims*.",
    domain="ordered float",
    composite=lambda F, x, dims: F.sum(F.mul(x, x), dims))
row("largest_size", "x:T, dims",
    doc="The largest absolute value of *x* over *dims*.",
    composite=lambda F, x, dims: F.amax(F.abs(x), dims),
    x=lambda F, g, x, out, dims: F.where(
        F.eq(F.abs(x), _keep(F, out, x, dims)), F.mul(F.sign(x), _keep(F, g, x, dims)),
        F.number(0)))
# fmt: on


def _keep(F: Any, r: Any, x: Any, dims: tuple[int, ...]) -> Any:
    return F.reshape(r, kept(tuple(x.shape), dims))


def _vector_norm(F: Any, x: Any, order: float, dims: tuple[int, ...]) -> Any:
    """``sum(abs(x) ** order) ** (1 / order)`` and its limits; half precision sums in float32."""
    if F.dtype.itemsize == 2:
        wide = F.of(dtypes.float32)
        return F.cast(_vector_norm(wide, wide.cast(x, F), order, dims), wide)
    if order == 0:
        return F.sum(F.cast(F.ne(x, 0), F.bool), dims)
    if order == 2:
        return F.sqrt(F.sum_of_squares(x, dims))
    if order == 1:
        return F.sum(F.abs(x), dims)
    a = F.abs(x)
    if order == math.inf:
        return F.amax(a, dims)
    if order == -math.inf:
        return F.amin(a, dims)
    return F.pow(F.sum(F.pow(a, order), dims), 1.0 / order)


def _vector_norm_backward(
    F: Any, g: Any, x: Any, out: Any, order: float, dims: tuple[int, ...]
) -> Any:
    """Zero where the norm is zero: the subgradient that has the least norm."""
    if order == 0:
        return F.zeros(tuple(x.shape))
    if order == 1:
        return F.mul(F.sign(x), _keep(F, g, x, dims))
    norm, g = _keep(F, out, x, dims), _keep(F, g, x, dims)
    if order in (math.inf, -math.inf):
        a = F.abs(x)
        hit = F.cast(F.bool.bitwise_or(F.eq(a, norm), F.ne(a, a)), F.bool)
        share = F.div(g, _keep(F, F.sum(hit, dims), x, dims))
        return F.mul(F.mul(F.sign(x), hit), share)
    none = F.eq(norm, 0.0)
    if order == 2:
        unit = F.div(x, F.where(none, F.number(math.inf), norm))
        return F.mul(unit, g) if F.records else F.mul(unit, g, out=unit)
    one, zero = F.number(1), F.eq(x, 0.0)  # powers of 0 may have no derivative
    power = F.mul(F.sign(x), F.pow(F.where(zero, one, F.abs(x)), order - 1.0))
    total = F.pow(F.where(none, one, norm), order - 1.0)
    slope = F.where(zero, F.number(0), power)
    return F.mul(slope, F.where(none, F.number(0), F.div(g, total)))


# -- public ----------------------------------------------------------------------------------
def prepared(name: str, x: Tensor, dtype: Any) -> Tensor:
    """The operand of a norm in the dtype that is wanted; RuntimeError where that does not fit."""
    if x._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(x._k.dtype)}"
        )
    if dtype is not None:
        _check_dtype(name, x._k.dtype, dtype)
        x = to_kind(x, x._k.of(dtype))
    return x


def _check_dtype(name: str, own: dtypes.dtype, wanted: dtypes.dtype) -> None:
    shown = scalar_name(wanted)
    if wanted.category < dtypes.FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {shown}")
    if own.is_complex is not wanted.is_complex:
        what = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {what} for {what} inputs, but got {shown}")
    if dtypes.promote_types(own, wanted) is not wanted:
        raise RuntimeError(
            f"{name}: the dtype of the input ({scalar_name(own)}) should be convertible without "
            f"narrowing to the specified dtype ({shown})"
        )


@public(name="linalg_vector_norm", function=False, method=False, out=SAME)
@also_named(x="input")
def vector_norm(
    x: Tensor,
    ord: complex = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The norm of the vectors along some dimensions, or of all elements.

    *ord* is any number, inf or -inf; integers are refused with RuntimeError.

    >>> import tensorbus
    >>> tensorbus.linalg.vector_norm(tensorbus.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if not isinstance(x, Tensor):
        raise type_error("linalg_vector_norm", "x", 1, "Tensor", x)
    order = ord if type(ord) is float or (type(ord) is int and ord == 2) else _order(ord)
    if dtype is not None or x._k.dtype.category < dtypes.FLOAT:
        x = prepared("linalg.vector_norm", x, dtype)
    size, rank = x._s, len(x._s)
    given = dims = tuple(range(rank)) if dim is None else wrap_dims(dim, rank)
    if x._k.is_complex:
        if order == 2:  # by parts: the absolute value has no second derivative at 0, its square has
            x, dims = view_as_real(x), (*dims[:rank], rank)
        else:
            x = x.abs()
    if not x._s:
        return core("vector_norm")(core("view")(x, (1,)), order, (0,))
    if 0 in x._s and (order < 0 or order == math.inf):
        _refuse_empty(x, order, dim, dims)
    r = core("vector_norm")(x, order, dims)
    if keepdim:
        r = core("view")(r, kept(tuple(size), given))
        if r._e is not None:
            name_node(r, "LinalgVectorNormBackward0")
    return r


def _order(ord: Any) -> Any:
    """The order of a vector's norm, a real number; TypeError for what is no number."""
    order = as_number(ord)
    if order is None:
        raise type_error("linalg_vector_norm", "ord", 2, "Number", ord)
    check_bits(order)
    if isinstance(order, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    return order


def _refuse_empty(x: Tensor, order: float, dim: Any, dims: tuple[int, ...]) -> None:
    shown = "inf" if order == math.inf else "-inf" if order == -math.inf else f"{order:g}"
    if dim is None or len(dims) == len(x._s):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    for d in dims:
        if x._s[d] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {d}because "
                "this dimension is empty and the operation does not have an identity"
            )


@public()
@composed(node="DistBackward0", autocast="device float32")
def dist(input: Tensor, other: Tensor, p: complex = 2) -> Tensor:
    """The *p*-norm of ``input - other``; the operands broadcast."""
    check_tensors("dist", input=input, other=other)
    difference = input - other
    if difference._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{scalar_name(difference._k.dtype)} instead."
        )
    return vector_norm(difference, p)
