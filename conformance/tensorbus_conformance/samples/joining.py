"""Tensors joined along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, E, I, Op, S, T
from tensorbus_conformance.samples.views import out_of_range

MISMATCH = (
    r"Sizes of tensors must match except in dimension {dim}\. Expected size {want} but got size "
    r"{got} for tensor number {number} in the list\."
)


def mismatch(dim: int, want: int, got: int, number: int) -> str:
    """The text for a tensor whose size differs from the first one's."""
    return MISMATCH.format(dim=dim, want=want, got=got, number=number)


def _cat(tensors: list[np.ndarray], dim: int = 0) -> np.ndarray:
    # A vector of no elements joins with anything, for historical reasons.
    return np.concatenate([t for t in tensors if t.shape != (0,)] or tensors[:1], axis=dim)


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, **more}
    return Op(name, reference, samples, ulp=0, errors=errors, family="joining", **more)


def _joined(tensors: Any) -> Any:
    import tensorbus

    return tensorbus.cat(tensors)


def _with_transposed(x: Any, y: Any) -> Any:
    import tensorbus

    return tensorbus.cat([x.t(), y], 0)


OPS = [
    _op(
        "cat",
        _cat,
        [
            S("rows", [T(2, 3), T(1, 3)]),
            S("columns", [T(2, 3), T(2, 2), T(2, 1)], 1),
            S("negative", [T(2, 1, 2), T(2, 3, 2)], -2),
            S("one", [T(2, 3)]),
            S("tuple", (T(2), T(3))),
            S("keyword", [T(2, 3), T(2, 3)], dim=1),
            S("empty-vector", [T(2, 3), T(0), T(1, 3)]),
            S("all-empty", [T(0), T(0)]),
            S("empty-rows", [T(0, 3), T(2, 3)]),
        ],
        [
            E("extent", RuntimeError, mismatch(0, 3, 2, 1), [T(2, 3), T(2, 2)]),
            E("third", RuntimeError, mismatch(1, 2, 3, 2), [T(2, 3), T(2, 3), T(3, 3)], 1),
            E("rank", RuntimeError,
              "Tensors must have same number of dimensions: got 2 and 3",
              [T(2, 3), T(1, 2, 3)]),
            E("scalar", RuntimeError,
              r"zero-dimensional tensor \(at position 1\) cannot be concatenated", [T(2), T()]),
            E("dim", IndexError, out_of_range(2, 2), [T(2, 3), T(2, 3)], 2),
            E("nothing", ValueError, r"torch\.cat\(\): expected a non-empty list of Tensors", []),
            E("no-sequence", TypeError,
              r"cat\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor",
              T(2)),
            E("number", TypeError, "expected Tensor as element 1 in argument 0, but got int",
              [T(2), 3]),
        ],
        promotes="dims",
    ),
    _op("cat-of-dtypes", _cat,
        [S("with-int64", [T(2), I([3, 4, 5])])],
        dtypes=(formats.FLOAT16, formats.FLOAT32, formats.FLOAT64, formats.COMPLEX64),
        call=_joined),
    _op("cat-of-layouts", lambda x, y: np.concatenate([x.T, y], 0),
        [S("mixed", T(3, 2), T(1, 3))], call=_with_transposed),
    _op(
        "stack",
        lambda tensors, dim=0: np.stack(tensors, axis=dim),
        [
            S("front", [T(2, 3), T(2, 3)]),
            S("middle", [T(2, 3), T(2, 3), T(2, 3)], 1),
            S("end", [T(2), T(2)], -1),
            S("scalars", [T(), T(), T()]),
            S("empty", [T(0, 2), T(0, 2)], 1),
        ],
        [
            E("size", RuntimeError,
              r"stack expects each tensor to be equal size, but got \[2\] at entry 0 and \[3\] at "
              r"entry 1", [T(2), T(3)]),
            E("nothing", RuntimeError, "stack expects a non-empty TensorList", []),
            E("dim", IndexError, out_of_range(2, 2), [T(2), T(2)], 2),
        ],
        promotes="dims",
    ),
    _op("hstack", np.hstack,
        [S("vectors", [T(2), T(3)]), S("matrices", [T(2, 1), T(2, 3)]), S("scalars", [T(), T()])],
        [E("extent", RuntimeError, mismatch(1, 2, 3, 1), [T(2, 1), T(3, 1)]),
         E("nothing", RuntimeError, "hstack expects a non-empty TensorList", [])]),
    _op("vstack", np.vstack,
        [S("vectors", [T(3), T(3)]), S("matrices", [T(2, 3), T(1, 3)]), S("scalars", [T(), T()])],
        [E("extent", RuntimeError, mismatch(0, 3, 2, 1), [T(3), T(2)]),
         E("nothing", RuntimeError, "vstack expects a non-empty TensorList", [])]),
    _op("dstack", np.dstack,
        [S("vectors", [T(3), T(3)]), S("matrices", [T(2, 3), T(2, 3)]),
         S("three", [T(2, 1, 2), T(2, 1, 3)])],
        [E("nothing", RuntimeError, "dstack expects a non-empty TensorList", [])]),
    _op("column_stack", np.column_stack,
        [S("vectors", [T(3), T(3)]), S("mixed", [T(3), T(3, 2)]),
         S("matrices", [T(2, 2), T(2, 1)])],
        [E("nothing", RuntimeError, "column_stack expects a non-empty TensorList", [])]),
]  # fmt: skip
