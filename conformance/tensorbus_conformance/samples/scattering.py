"""Elements written by index, one element for each: ``scatter`` and its reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, NUMBERS, REAL, E, I, Op, S, T
from tensorbus_conformance.samples.gathering import FLOAT_INDEX, WRONG_INDEX
from tensorbus_conformance.samples.getitem import beyond
from tensorbus_conformance.samples.views import out_of_range

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda a, b: b,
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "amax": lambda a, b: max(a, b),
    "amin": lambda a, b: min(a, b),
}


def _indices(dim: int, index: np.ndarray) -> Any:
    """(the index in the source, the index in the result) for each index."""
    for at in np.ndindex(*index.shape):
        to = list(at)
        if to:
            to[dim] = index[at]
        yield at, tuple(to)


def _combined(x: np.ndarray, dim: int, index: np.ndarray, src: Any, how: str) -> np.ndarray:
    out = np.array(x)
    with np.errstate(all="ignore"):
        for at, to in _indices(dim, index):
            value = src[at] if isinstance(src, np.ndarray) else np.asarray(src).astype(x.dtype)
            out[to] = _COMBINE[how](out[to], value)
    return out


def _scattered(
    x: np.ndarray, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None
) -> np.ndarray:
    how = {None: "set", "add": "sum", "multiply": "prod"}[reduce]
    return _combined(x, dim, index, value if src is None else src, how)


def _reduced(
    x: np.ndarray, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> np.ndarray:
    values: dict[tuple[int, ...], list[Any]] = {}
    for at, to in _indices(dim, index):
        values.setdefault(to, [x[to]] if include_self else []).append(src[at])
    out = np.array(x)
    for to, found in values.items():
        total = found[0]
        for value in found[1:]:
            total = _COMBINE["sum" if reduce == "mean" else reduce](total, value)
        if reduce == "mean":
            total = total // len(found) if x.dtype.kind in "iu" else total / len(found)
        out[to] = total
    return out


_APART = (-1.7, 1.9)


def _reduce_samples(reduce: str) -> list[Any]:
    # The source has other values than the operand: no ties, where extrema have no derivative.
    return [
        S("rows", T(3, 2), 0, I([[2, 0], [0, 0]]), T(2, 2, of=_APART), reduce),
        S("columns", T(2, 3), 1, I([[2, 2, 0], [1, 0, 1]]), T(2, 3, of=_APART), reduce),
        S("without-self", T(4), 0, I([2, 2, 0]), T(3, of=_APART), reduce, include_self=False),
        S("smaller", T(3, 3), -1, I([[2, 1]]), T(2, 3, of=_APART), reduce),
        S("scalar", T(), 0, I(0), T(of=_APART), reduce),
        S("nothing", T(2, 2), 0, I(np.zeros((0, 2))), T(0, 2), reduce),
    ]


_ZEROS = [  # one among the factors, and several
    S(variant, T(data=[0.0, 2.0, 3.0]), 0, I([0, 1, 1, 2, 2]), T(data=[3.0, 0.0, 2.0, 0.0, 0.0]),
      "prod", include_self=include_self)
    for variant, include_self in (("zeros", True), ("zeros-without-self", False))
]  # fmt: skip


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "ulp": 0, **more}
    return Op(name, reference, samples, errors=errors, family="scattering", **more)


_SHAPES = (
    r"Expected index \[1, 3\] to be no larger than self \[3, 2\] apart from dimension 0 and to be "
    r"no larger size than src \[1, 3\]"
)

OPS = [
    _op(
        "scatter",
        _scattered,
        [
            S("rows", T(3, 2), 0, I([[2, 0], [0, 1]]), T(2, 2)),
            S("columns", T(2, 3), 1, I([[2, 0], [1, 0]]), T(2, 3)),
            S("number", T(3, 2), 0, I([[1, 2]]), 1),
            S("value", T(3), 0, I([0, 2]), value=1),
            S("scalar", T(), 0, I(0), T()),
            S("nothing", T(3, 2), 0, I(np.zeros((0, 2))), T(0, 2)),
            S("int32", T(3), 0, T(data=[2, 0], dtype=formats.INT32), T(2)),
        ],
        [
            E("beyond", IndexError, beyond(3, 0, 3), T(3, 2), 0, I([[3, 0]]), T(1, 2)),
            E("negative", IndexError, beyond(-1, 1, 2), T(3, 2), 1, I([[-1]]), 1.0),
            E("dtype", RuntimeError,
              r"scatter\(\): Expected self\.dtype to be equal to src\.dtype",
              T(3), 0, I([1]), I([1])),
            E("index-dtype", RuntimeError, WRONG_INDEX.format(name="scatter"),
              T(3), 0, FLOAT_INDEX, T(2)),
            E("rank", RuntimeError,
              "Index tensor must have the same number of dimensions as self tensor",
              T(3, 2), 0, I([0]), T(1)),
            E("shape", RuntimeError, _SHAPES, T(3, 2), 0, I([[0, 1, 0]]), T(1, 3)),
            E("dim", IndexError, out_of_range(1, 1), T(3), 1, I([0]), T(1)),
            E("reduce", RuntimeError, r"reduce argument must be either add or multiply\.",
              T(3), 0, I([0]), T(1), reduce="mean"),
        ],
    ),
    _op(
        "scatter-reduced",
        _scattered,
        [
            S("add", T(3, 2), 0, I([[2, 0], [2, 1]]), T(2, 2), reduce="add"),
            S("multiply", T(3), 0, I([1, 1]), T(2), reduce="multiply"),
            S("add-number", T(3), 0, I([1, 1]), value=2, reduce="add"),
        ],
        dtypes=NUMBERS, ulp=3, measure="norm", grad_ulp=64,
        call=lambda x, *args, **kwargs: x.scatter(*args, **kwargs),
    ),
    _op(
        "scatter_add",
        lambda x, dim, index, src: _combined(x, dim, index, src, "sum"),
        [
            S("rows", T(3, 2), 0, I([[2, 0], [0, 0]]), T(2, 2)),
            S("columns", T(2, 3), 1, I([[2, 2], [1, 0]]), T(2, 2)),
            S("larger-source", T(3), 0, I([1, 1]), T(4)),
            S("scalar", T(), 0, I(0), T()),
            S("nothing", T(2), 0, I([]), T(0)),
        ],
        [
            E("beyond", IndexError, beyond(2, 1, 2), T(3, 2), 1, I([[2]]), T(1, 1)),
            E("shape", RuntimeError, _SHAPES, T(3, 2), 0, I([[0, 1, 0]]), T(1, 3)),
            E("dtype", RuntimeError,
              r"scatter\(\): Expected self\.dtype to be equal to src\.dtype",
              T(3), 0, I([1]), I([1])),
        ],
        ulp=1, measure="norm",
    ),
    _op(
        "scatter_reduce",
        _reduced,
        [*_reduce_samples("sum")],
        [
            E("beyond", IndexError, beyond(-1, 0, 3), T(3), 0, I([-1]), T(1), "sum"),
            E("reduce", RuntimeError,
              "reduce argument must be either sum, prod, mean, amax or amin, got median",
              T(3), 0, I([0]), T(1), "median"),
            E("complex", NotImplementedError,
              "\"scatter_reduce_amax\" not implemented for 'ComplexFloat'",
              T(3), 0, I([0]), T(1), "amax", dtype=formats.COMPLEX64),
        ],
        dtypes=NUMBERS, ulp=1, measure="norm",
    ),
    *(
        _op(
            f"scatter_reduce-{reduce}",
            _reduced,
            _reduce_samples(reduce) + (_ZEROS if reduce == "prod" else []),
            dtypes=NUMBERS if reduce in ("prod", "mean") else REAL,
            call=lambda x, *args, **kwargs: x.scatter_reduce(*args, **kwargs),
            ulp={"prod": 3, "mean": 2}.get(reduce, 0),
            measure="norm" if reduce in ("prod", "mean") else "element",
        )
        for reduce in ("prod", "mean", "amax", "amin")
    ),
]  # fmt: skip
