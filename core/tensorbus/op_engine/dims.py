"""Dimensions as users give them, made non-negative."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import dim_error
from tensorbus._base.size import check_rank
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import as_int, is_number

_COMMON = 1 << 30
"""Sizes below this need no look at their bits, and Python compares them fast."""


def wrap_dim(dim: Any, rank: int) -> int:
    """One dimension, counted from the end where negative; IndexError out of range."""
    if type(dim) is not int:
        found = as_int(dim)
        if found is None:
            raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
        dim = found
    n = max(rank, 1)
    if not -n <= dim < n:
        raise dim_error(dim, rank)
    return dim % n


def wrap_dims(dim: Any, rank: int) -> tuple[int, ...]:
    """Sorted dimensions for an int, a sequence, or None (all); RuntimeError for a repeated one."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    if not isinstance(dim, (tuple, list)):
        dim = (dim,)
    dims = [wrap_dim(d, rank) for d in dim]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return tuple(sorted(dims)) if rank else ()


def shape_argument(function: str, name: str, shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape given as ints or as one sequence."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    for n in shape:
        if type(n) is not int or not -_COMMON < n < _COMMON:
            return check_rank(tuple([_size(function, name, n, i) for i, n in enumerate(shape)]))
    return check_rank(tuple(shape))


def list_argument(
    function: str, name: str, given: tuple[Any, ...], keyword: Any
) -> tuple[int, ...]:
    """Ints given one by one, as one sequence, or under a keyword; TypeError where all is missing.

    >>> list_argument("permute", "dims", (1, 0), None), list_argument("permute", "dims", (), [1, 0])
    ((1, 0), (1, 0))
    """
    if not given:
        if keyword is None:
            raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
        if not isinstance(keyword, (tuple, list)):
            found = type(keyword).__name__
            raise TypeError(f"{function}(): argument '{name}' must be tuple of ints, not {found}")
        given = (keyword,)
    return shape_argument(function, name, given)


def _size(function: str, name: str, n: Any, position: int) -> int:
    if isinstance(n, bool) and position:  # only the first says whether these are ints
        return int(n)
    try:
        found = as_int(n, any_rank=True)
    except ValueError as error:
        raise TypeError(
            f"{function}(): argument '{name}' failed to unpack the object at pos {position + 1} "
            f'with error "{error}"'
        ) from None
    if found is None and isinstance(n, Tensor) and n._k.dtype is dtypes.bool and is_number(n, True):
        raise RuntimeError("a size is an integer, not a truth value")
    if found is None:
        raise TypeError(f"a shape is made of ints, not of {type(n).__name__}")
    return found


def kept(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with sizes of 1 where it was reduced."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))
