"""Norms of vectors and matrices, and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import type_error
from tensorbus._dispatch.kinds import check_bits
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_checks import also_named
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import kept, wrap_dim, wrap_dims
from tensorbus.op_engine.out import SAME, write_out
from tensorbus.op_engine.public import public
from tensorbus.ops.views.reinterpretation import view_as_real
from tensorbus.rows.registry import row

# fmt: off
row("vector_norm", "x:T, order, dims",
    domain="ordered float",
    doc="``sum(abs(x) ** order) ** (1 / order)`` over *dims*, or its limit for such an *order*.",
    node_name="LinalgVectorNormBackward0",
    composite=lambda F, x, order, dims: _vector_norm(F, x, order, dims),
    x=lambda F, g, x, out, order, dims: _vector_norm_backward(F, g, x, out, order, dims))
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
        return F.sqrt(F.sum(F.mul(x, x), dims))
    a = F.abs(x)
    if order == 1:
        return F.sum(a, dims)
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
def _prepared(name: str, x: Tensor, dtype: Any) -> Tensor:
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
    check_tensors("linalg_vector_norm", x=x)
    order = as_number(ord)
    if order is None:
        raise type_error("linalg_vector_norm", "ord", 2, "Number", ord)
    check_bits(order)
    if isinstance(order, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    ord = order
    x = _prepared("linalg.vector_norm", x, dtype)
    rank, size = len(x._s), tuple(x._s)
    given = dims = wrap_dims(dim, rank)
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
        r = core("view")(r, kept(size, given))
        if r._e is not None:
            name_node(r, "LinalgVectorNormBackward0")
    return r


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


def _order(name: str, order: Any) -> Any:
    """A name or a number; TypeError for anything else."""
    found = order if isinstance(order, str) else as_number(order)
    if found is None:
        raise type_error(name, "ord", 2, "str or Number", order)
    return found


@public(name="linalg_matrix_norm", function=False, method=False, out=SAME)
def matrix_norm(
    input: Tensor,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The norm of the matrices in two dimensions: ``"fro"``, 1, -1, inf or -inf.

    NotImplementedError for the orders that need singular values ("nuc", 2, -2).
    """
    ord = _order("linalg_matrix_norm", ord)
    x = _prepared("linalg.matrix_norm", input, dtype)
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if len(x._s) < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) != 2:
        shown = " ".join(map(str, dims))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    rows, columns = (wrap_dim(d, len(x._s)) for d in dims)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({rows}, {columns})")
    if ord == "fro":
        return vector_norm(x, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        raise NotImplementedError(
            f"linalg.matrix_norm: order {ord} needs singular values, which are not available. "
            "'fro', 1, -1, inf and -inf are."
        )
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    x = x.abs() if x._k.is_complex else x
    summed, ranked = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(x, 1, summed, True)
    if not x._s[ranked]:
        if ord < 0:
            raise IndexError(
                f"linalg.matrix_norm: no smallest sum of none: dimension {ranked} has size 0"
            )
        r = core("sum")(sums, (ranked,))
    else:
        r = (core("amax") if ord > 0 else core("amin"))(sums, (ranked,))
    if keepdim:
        return core("view")(r, kept(tuple(x._s), tuple(sorted((rows, columns)))))
    left = tuple(n for d, n in enumerate(x._s) if d not in (rows, columns))
    return core("view")(r, left)


@public(name="linalg_norm", function=False, method=False, out=SAME)
def linalg_norm(
    input: Tensor,
    ord: Any = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """A vector's norm; a matrix's where *ord* is given and two dimensions are meant."""
    ord = None if ord is None else _order("linalg_norm", ord)
    if dim is None:
        if ord is None:
            return vector_norm(input, 2, None, keepdim, dtype=dtype)
        if len(input._s) not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                f"Got {len(input._s)}D."
            )
        dim = tuple(range(len(input._s)))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    if isinstance(ord, str) or (len(dims) == 2 and ord is not None):
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    if len(dims) > 2 or (not dims and ord is not None):
        raise RuntimeError(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. "
            f"Got [{', '.join(map(str, dims))}]"
        )
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


@public(method=False)
def norm(
    input: Any,
    p: Any = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The *p*-norm of all elements, or along some dimensions.

    >>> import tensorbus
    >>> tensorbus.norm(tensorbus.tensor([[3.0], [4.0]]))
    tensor(5.)
    """
    if not isinstance(input, Tensor):
        raise AttributeError(f"'{type(input).__name__}' object has no attribute 'layout'")
    found = _norm(input, p, dim, keepdim, dtype)
    return found if out is None else write_out(found, out, "norm", SAME)


@public(function=False, name="norm")
def _norm(
    input: Tensor,
    p: Any = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The *p*-norm of all elements, or along some dimensions."""
    if isinstance(p, str) and p != "fro":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    order = 2 if p is None or isinstance(p, str) else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


@public()
@composed(node="DistBackward0")
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
