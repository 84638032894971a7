"""Norms of matrices, the functions that choose between these and norms of vectors, and cond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_number
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.autocasting import autocasts
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import kept, wrap_dim
from tensorbus.op_engine.out import SAME, write_out
from tensorbus.op_engine.public import public
from tensorbus.ops.linalg.checks import check_precise, check_square
from tensorbus.ops.linalg.singular_values import svdvals
from tensorbus.ops.linalg.solving import inv_ex
from tensorbus.ops.reduce.norms import prepared, vector_norm
from tensorbus.rows.registry import row

# fmt: off
row("extreme_sum", "x:T, summed, ranked, largest",
    doc="Of the sums of absolute values over the dimension *summed* the largest along *ranked*, "
        "or the smallest; *ranked* is counted without *summed*.",
    domain="ordered float",
    composite=lambda F, x, summed, ranked, largest: (F.amax if largest else F.amin)(
        F.vector_norm(x, 1, (summed,)), (ranked,)))
# fmt: on


def _order(name: str, order: Any) -> Any:
    """A name or a number; TypeError for anything else."""
    if type(order) in (int, float, str):
        return order
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
    """The norm of the matrices in two dimensions.

    *ord* is ``"fro"``; ``"nuc"``, 2 or -2: the sum of the singular values, the largest or the
    smallest; 1 or -1: the largest or the smallest sum of a column's absolute values; inf or -inf:
    of a row's. RuntimeError for other orders; LinAlgError where singular values are wanted of
    matrices that are not finite.
    """
    ord = _order("linalg_matrix_norm", ord)
    x = prepared("linalg.matrix_norm", input, dtype)
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
    rank = len(x._s)
    if dims == (-2, -1):
        rows, columns = rank - 2, rank - 1
    else:
        rows, columns = wrap_dim(dims[0], rank), wrap_dim(dims[1], rank)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({rows}, {columns})")
    if ord == "fro":
        return vector_norm(x, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        return _by_singular_values(x, ord, rows, columns, keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    x = x.abs() if x._k.is_complex else x
    summed, ranked = (rows, columns) if abs(ord) == 1 else (columns, rows)
    if x._s[ranked]:
        r = core("extreme_sum")(x, summed, ranked - (summed < ranked), ord > 0)
    else:
        r = x.sum((rows, columns)) if ord > 0 else x.amin(ranked)
    if keepdim:
        r = core("view")(r, kept(tuple(x._s), (min(rows, columns), max(rows, columns))))
    return r


def _by_singular_values(x: Tensor, order: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    check_precise("linalg.matrix_norm", x)
    others = [d for d in range(len(x._s)) if d not in (rows, columns)]
    values = svdvals(x.permute(*others, rows, columns))
    if order == "nuc":
        found = values.sum(-1)
    elif order == 2 and not values._s[-1]:
        found = values.sum(-1)  # 0, of no singular values
    else:
        found = values.amax(-1) if order == 2 else values.amin(-1)
    return found.reshape(kept(tuple(x._s), (rows, columns))) if keepdim else found


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
    if len(dims) > 2 or (not dims and ord is not None):
        raise RuntimeError(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. "
            f"Got [{', '.join(map(str, dims))}]"
        )
    if isinstance(ord, str) or (len(dims) == 2 and ord is not None):
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
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
        dims = tuple(range(len(input._s))) if dim is None and len(input._s) > 2 else dim
        return matrix_norm(input, p, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if isinstance(p, str) and isinstance(dim, Sequence) and len(dim) > 2:
        return matrix_norm(input, p, dim, keepdim, dtype=dtype)  # which refuses
    order = 2 if p is None or isinstance(p, str) else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


@public(method=False, out=SAME)
def nuclear_norm(
    input: Tensor, dim: int | Sequence[int] | bool = (-2, -1), keepdim: bool = False
) -> Tensor:
    """``linalg.matrix_norm`` with the order ``"nuc"``; a bool *dim* is *keepdim*."""
    check_tensors("nuclear_norm", input=input)
    if isinstance(dim, bool):
        return matrix_norm(input, "nuc", keepdim=dim)
    return matrix_norm(input, "nuc", (dim,) if isinstance(dim, int) else dim, keepdim)


@public(method=False, out=SAME)
def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """``linalg.vector_norm`` along at most two dimensions."""
    check_tensors("frobenius_norm", input=input)
    count = 1 if isinstance(dim, int) else len(dim)
    if count > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {count} dimensions instead.")
    return vector_norm(input, 2, dim, keepdim)


# -- condition numbers -----------------------------------------------------------------------
_ORDERS = ("fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


@public(name="linalg_cond", function=False, method=False, out=SAME)
@autocasts("cpu float32")
def cond(input: Tensor, p: Any = None) -> Tensor:
    """The condition numbers of matrices: a norm of each times the same norm of its inverse.

    (..., n, n) -> (...), real. *p* is an order of ``linalg.matrix_norm``; with 2, which is meant
    where none is given, and -2 matrices need not be square, and singular values are divided.
    Infinity for a matrix without an inverse. RuntimeError for other orders and for integers.
    """
    check_tensors("linalg_cond", input=input)
    x, order = input, 2 if p is None else p if isinstance(p, str) else as_number(p)
    if order is None:
        raise type_error("linalg_cond", "p", 2, "Number", p)
    shown = p if isinstance(p, str) else f"{order:g}" if order in _ORDERS else order
    if order not in _ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {shown}")
    if len(x._s) < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if order not in (2, -2):
        check_square(f"linalg.cond(ord={shown})", x)
    if order in (2, -2, "nuc"):
        values = svdvals(x)
        if order == "nuc" or not values._s[-1]:
            return values.sum(-1) * values.reciprocal().sum(-1)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return largest / smallest if order == 2 else smallest / largest
    inverse, info = inv_ex(x)
    if not x._s[-1]:
        return matrix_norm(x)  # 0, whatever the order
    of_inverse = matrix_norm(inverse, order).masked_fill(info != 0, math.inf)
    found = matrix_norm(x, order) * of_inverse
    return found.nan_to_num(math.inf, math.inf, -math.inf)
