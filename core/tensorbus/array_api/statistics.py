"""The standard's reductions and running sums."""

from __future__ import annotations

from typing import Any

import tensorbus
from tensorbus import Tensor
from tensorbus._base.dtypes import FLOAT
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus.array_api._operands import Axis, dims, one_dim


def _wide(x: Tensor, dtype: Dtype | None) -> Dtype:
    """The dtype that x is summed in: int64 for integers and truth values unless one is named."""
    if dtype is not None:
        return dtype
    return tensorbus.int64 if x.dtype.category < FLOAT else x.dtype


def _over(function: Any, x: Tensor, axis: Axis, keepdims: bool, **options: Any) -> Tensor:
    """A reduction over some axes; none of them leaves each element to itself."""
    found = dims(axis, x)
    if not found:  # PyTorch would take this for all
        return function(x.unsqueeze(0), dim=0, keepdim=False, **options)
    return function(x, dim=found, keepdim=keepdims, **options)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along some axes are true."""
    return _over(tensorbus.all, x.to(tensorbus.bool), axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element along some axes is true."""
    return _over(tensorbus.any, x.to(tensorbus.bool), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements along some axes are not zero."""
    return _over(tensorbus.sum, (x != 0).to(tensorbus.int64), axis, keepdims)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The products of the first elements along an axis, with a leading 1 if asked for."""
    dim = one_dim(axis, x, "cumulative_prod")
    made = tensorbus.cumprod(x, dim, dtype=_wide(x, dtype))
    return _with_initial(made, dim, 1, include_initial)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The sums of the first elements along an axis, with a leading 0 if asked for."""
    dim = one_dim(axis, x, "cumulative_sum")
    made = tensorbus.cumsum(x, dim, dtype=_wide(x, dtype))
    return _with_initial(made, dim, 0, include_initial)


def _with_initial(made: Tensor, dim: int, value: int, wanted: bool) -> Tensor:
    if not wanted:
        return made
    shape = (*made.shape[:dim], 1, *made.shape[dim + 1 :])
    first = tensorbus.full(shape, value, dtype=made.dtype, device=made.device)
    return tensorbus.cat([first, made], dim)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The n-th differences of neighbours along an axis."""
    return tensorbus.diff(x, n, axis, prepend=prepend, append=append)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element along some axes; NaN where there is one."""
    return _over(tensorbus.amax, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean along some axes."""
    return _over(tensorbus.mean, x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The least element along some axes; NaN where there is one."""
    return _over(tensorbus.amin, x, axis, keepdims)


def prod(
    x: Tensor, /, *, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False
) -> Tensor:
    """The product along some axes."""
    made, found = x.to(_wide(x, dtype)).unsqueeze(0), dims(axis, x)
    for dim in sorted(found, reverse=True):
        made = tensorbus.prod(made, 1 + dim, keepdim=keepdims, dtype=made.dtype)
    return tensorbus.prod(made, 0, dtype=made.dtype)


def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation along some axes."""
    return _over(tensorbus.std, x, axis, keepdims, correction=correction)


def sum(
    x: Tensor, /, *, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False
) -> Tensor:
    """The sum along some axes."""
    return _over(tensorbus.sum, x, axis, keepdims, dtype=_wide(x, dtype))


def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along some axes."""
    return _over(tensorbus.var, x, axis, keepdims, correction=correction)


__all__ = [
    "all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean",
    "min", "prod", "std", "sum", "var",
]  # fmt: skip
