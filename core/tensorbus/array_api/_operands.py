"""What the functions of the namespace share: operands of one dtype, axes, results by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorbus
from tensorbus import Tensor
from tensorbus._base.dtypes import dtype as Dtype

Axis = int | tuple[int, ...] | None
Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Any, Any], Tensor]

_KINDS = {bool: 0, int: 1, float: 2, complex: 3}


def dtype_beside(value: complex, d: Dtype) -> Dtype:
    """The dtype of a Python number beside an array: the array's, unless the number needs more."""
    kind = _KINDS.get(type(value))
    if kind is None:
        raise TypeError(
            f"expected an array or a Python number, but got {type(value).__name__}: make an array "
            "of it first, with asarray"
        )
    if kind <= d.category:
        return d
    return tensorbus.result_type(tensorbus.empty((1,), dtype=d, device="meta"), value)


def both(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands, one of which may be a Python number, in their common dtype.

    PyTorch lets arrays without dimensions count for less; in the standard only dtypes count.
    """
    if not isinstance(x1, Tensor):
        if not isinstance(x2, Tensor):
            raise TypeError("expected at least one array, but got two Python numbers")
        second, first = both(x2, x1)
        return first, second
    if not isinstance(x2, Tensor):
        d = dtype_beside(x2, x1.dtype)
        return x1.to(d), tensorbus.full((), x2, dtype=d, device=x1.device)
    if x1.dtype is x2.dtype:
        return x1, x2
    d = tensorbus.promote_types(x1.dtype, x2.dtype)
    return x1.to(d), x2.to(d)


def _published(f: Any, name: str, doc: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__module__ = "tensorbus.array_api"
    f.__doc__ = doc
    return f


def unary(name: str, function: Callable[[Tensor], Any], what: str) -> Unary:
    """A function of one array under the standard's name."""

    def call(x: Tensor, /) -> Tensor:
        return function(x)

    return _published(call, name, f"{what}, element by element.")


def binary(name: str, function: Callable[[Tensor, Tensor], Any], what: str) -> Binary:
    """A function of two arrays, or of one and a Python number, under the standard's name."""

    def call(x1: Any, x2: Any, /) -> Tensor:
        return function(*both(x1, x2))

    return _published(call, name, f"{what}, element by element; the arrays are broadcast.")


def dims(axis: Axis, x: Tensor) -> tuple[int, ...]:
    """The dimensions, none of them negative, that an axis argument means; all for None."""
    if axis is None:
        return tuple(range(x.ndim))
    found = []
    for dim in (axis,) if isinstance(axis, int) else axis:
        if not -x.ndim <= dim < x.ndim:
            raise IndexError(
                f"axis {dim} is out of bounds for an array of {x.ndim} dimensions: "
                f"{-x.ndim} to {x.ndim - 1} are allowed"
            )
        found.append(dim % x.ndim)
    if len(set(found)) != len(found):
        raise ValueError(f"an axis appears twice in {axis}")
    return tuple(found)


def one_dim(axis: int | None, x: Tensor, name: str) -> int:
    """The dimension of a function that may leave it out for arrays of one dimension."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}(): axis is needed for an array of {x.ndim} dimensions")
        return 0
    return dims(axis, x)[0]
