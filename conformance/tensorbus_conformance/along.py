"""What the samples of ops along dimensions share: references, arguments, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.op import BOOL, REAL, E, ErrorSample, S, Sample, T

Reference = Callable[..., Any]


# -- references ------------------------------------------------------------------------------
def over(f: Callable[[np.ndarray], Any]) -> Reference:
    """A reduction over *dim* and *keepdim* from one of lines along the last axis.

    *f* may give several results, in a tuple. NumPy's names of both are taken too.
    """

    def reference(x: np.ndarray, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
        axes = reduced(x.ndim, named.get("axis", dim))
        keepdim = named.get("keepdims", keepdim)
        rest = [d for d in range(x.ndim) if d not in axes]
        n = math.prod(x.shape[d] for d in axes)
        lines = x.transpose([*rest, *axes]).reshape([*(x.shape[d] for d in rest), n])
        shape = [1 if d in axes else n for d, n in enumerate(x.shape)]

        def placed(found: Any) -> np.ndarray:
            found = np.asarray(found)
            return found.reshape(shape) if keepdim else found

        found = f(lines)
        return tuple(map(placed, found)) if isinstance(found, tuple) else placed(found)

    return reference


def reduced(rank: int, dim: Any) -> tuple[int, ...]:
    """The dimensions that are reduced: all for None and ()."""
    if not rank or dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    return tuple(sorted(d % rank for d in dims))


def scan(f: Callable[[np.ndarray], Any]) -> Reference:
    """An op along *dim* that keeps the sizes, from one of lines along the last axis.

    A number is a line of one element. *f* may give several results, in a tuple.
    """

    def reference(x: np.ndarray, dim: int = -1, **_: Any) -> Any:
        lines = np.moveaxis(x, dim, -1) if x.ndim else x.reshape(1)

        def placed(found: Any) -> np.ndarray:
            found = np.asarray(found)
            return np.moveaxis(found, -1, dim) if x.ndim else found.reshape(())

        found = f(lines)
        return tuple(map(placed, found)) if isinstance(found, tuple) else placed(found)

    return reference


def each_line(f: Callable[[list[Any]], Any], *dtypes: Any) -> Callable[[np.ndarray], Any]:
    """A function of lines along the last axis from one of a list of Python numbers.

    *f* gives a number or a list for each of *dtypes*; None stands for the dtype of the lines.
    """

    def lines(x: np.ndarray) -> Any:
        n = math.prod(x.shape[:-1])
        # Where there is no line, one of zeros shows what a line gives.
        found = [f(row) for row in x.reshape(n, x.shape[-1]).tolist() or [[0] * x.shape[-1]]]
        parts = zip(*found, strict=True) if len(dtypes) > 1 else [found]
        made = []
        for part, dtype in zip(parts, dtypes, strict=True):
            array = np.array(part, dtype or x.dtype)
            made.append(array[:n].reshape(x.shape[:-1] + array.shape[1:]))
        return tuple(made) if len(dtypes) > 1 else made[0]

    return lines


def whole(x: np.ndarray) -> bool:
    """Whether an operand holds integers or truth values."""
    return x.dtype.kind in "biu"


def exactly(v: np.ndarray) -> np.ndarray:
    """Operands as sums take them: long double; integers in int64, where they wrap."""
    if whole(v):
        return v.astype(np.int64)
    return v.astype(np.clongdouble if v.dtype.kind == "c" else np.longdouble)


def narrowed(v: np.ndarray) -> np.ndarray:
    """A result of long double as float64, or complex128."""
    if whole(v):
        return v
    return np.asarray(v).astype(np.complex128 if v.dtype.kind == "c" else np.float64)


def absolute(x: np.ndarray) -> np.ndarray:
    """Magnitudes, those of the least integers too."""
    return np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))


# -- samples ---------------------------------------------------------------------------------
def one_dim() -> list[Sample]:
    """One dimension or all of them, and sizes 0 and 1."""
    return [
        S("dim", T(2, 3, 4), 1),
        S("all", T(3, 4)),
        S("negative", T(2, 3), -1),
        S("first", T(3, 4), dim=0),
        S("keepdim", T(2, 3), 1, True),
        S("keepdim-negative", T(2, 3), dim=-2, keepdim=True),
        S("one", T(3, 1), 1),
        S("scalar", T()),
        S("scalar-dim", T(), -1),
        S("scalar-keepdim", T(), 0, True),
        S("empty-kept", T(0, 3), 1),
    ]


def many_dims() -> list[Sample]:
    """Several dimensions, in any order, or none, which means all."""
    return [
        S("dims", T(2, 3, 4), (0, 2)),
        S("dims-unordered", T(2, 3, 4), [-1, 0]),
        S("keepdim-dims", T(2, 3, 2), dim=(0, -1), keepdim=True),
        S("no-dims", T(2, 3), ()),
        S("rank8", T(1, 2, 1, 3, 1, 2, 1, 2), (1, 4, 7)),
        S("numpy-names", T(2, 3), axis=1, keepdims=True),
    ]


def empties() -> list[Sample]:
    """Reductions of nothing, where these have a value."""
    return [
        S("empty", T(0)),
        S("empty-dim", T(0, 3), 0),
        S("empty-keepdim", T(2, 0), 1, True),
    ]


def special() -> list[Sample]:
    """NaN and infinities among other values."""
    return [
        S("holes", T(4, 5, of="holes", grad=False), 1),
        S("infinite", T(5, 4, of="infinite", grad=False), 1).only(*BOOL, *REAL),
    ]


def magnitudes() -> Sample:
    """The edges of the dtype, each one beside plain numbers."""
    return S("wide", T(4, 12, of="wide", grad=False), 0)


def long() -> list[Sample]:
    """More terms than half precision can count: 2048 + 1 is 2048 there."""
    return [
        S("long", T(4096, of=(0.5, 1.5), grad=False), 0),
        S("long-rows", T(2, 2500, of=(0.5, 1.5), grad=False), 1),
        S("long-columns", T(2500, 2, of=(0.5, 1.5), grad=False), 0),
    ]


# -- errors ----------------------------------------------------------------------------------
def dim_errors(*args: Any, **kwargs: Any) -> list[ErrorSample]:
    """Dimensions that are not there; *args* stand before the dimension."""
    return [
        E("dim", IndexError, out_of_range(-2, 1, 2), T(2, 3), *args, 2, **kwargs),
        E("dim-negative", IndexError, out_of_range(-2, 1, -3), T(2, 3), *args, -3, **kwargs),
        E("dim-scalar", IndexError, out_of_range(-1, 0, 1), T(), *args, 1, **kwargs),
    ]


def dims_errors() -> list[ErrorSample]:
    """Dimensions that are not there, and one that is there twice."""
    text = "dim 0 appears multiple times in the list of dims"
    return [*dim_errors(), E("dim-twice", RuntimeError, text, T(2, 3), (0, -2))]


def out_of_range(low: int, high: int, given: int) -> str:
    """The text of the error for a dimension that a tensor does not have."""
    allowed = rf"\[{low}, {high}\]"
    return rf"Dimension out of range \(expected to be in range of {allowed}, but got {given}\)"
