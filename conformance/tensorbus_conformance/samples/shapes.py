"""Other shapes that may be copies, copies that stay as they are, and operands brought together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.op import ANY, E, Op, S, T
from tensorbus_conformance.samples.views import out_of_range, reshaped

_RESHAPES = [
    S("ints", T(2, 6), (3, 4)),
    S("inferred", T(2, 3, 2), (-1, 2)),
    S("to-scalar", T(1, 1), ()),
    S("scalar", T(), (1, 1)),
    S("empty", T(0, 3), (3, 0)),
]
_RESHAPE_ERRORS = [
    E("size", RuntimeError, r"shape '\[5\]' is invalid for input of size 6", T(2, 3), (5,)),
    E("two-inferred", RuntimeError, "only one dimension can be inferred", T(2, 3), (-1, -1)),
    E("negative", RuntimeError, r"invalid shape dimension -3 at index 1 of shape \[2, -3\]",
      T(2, 3), (2, -3)),
]  # fmt: skip


def _shape_op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "fresh": False, **more}
    return Op(name, reference, samples, ulp=0, errors=errors, family="shapes", **more)


def _flat(x: np.ndarray, start: int = 0, end: int = -1) -> np.ndarray:
    if not x.ndim:
        return x.reshape(1)
    start, end = start % x.ndim, end % x.ndim
    middle = int(np.prod(x.shape[start : end + 1]))
    return x.reshape((*x.shape[:start], middle, *x.shape[end + 1 :]))


def _unflat(x: np.ndarray, dim: int, sizes: Any) -> np.ndarray:
    dim %= x.ndim
    return x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def _together(*given: Any) -> list[np.ndarray]:
    return list(np.broadcast_arrays(*(given[0] if isinstance(given[0], list) else given)))


def _all_at_least_2d(*tensors: Any) -> Any:
    import tensorbus

    return tensorbus.atleast_2d(*tensors)


OPS = [
    _shape_op("reshape", reshaped, _RESHAPES, _RESHAPE_ERRORS),
    _shape_op("Tensor.reshape", reshaped,
              [S("ints", T(2, 6), 4, -1), S("tuple", T(2, 6), (3, 4))]),
    _shape_op("Tensor.reshape_as", lambda x, y: x.reshape(y.shape),
              [S("plain", T(2, 6), T(3, 4, grad=False))]),
    _shape_op(
        "flatten",
        _flat,
        [
            S("all", T(2, 3, 2)),
            S("from", T(2, 3, 2), 1),
            S("between", T(2, 3, 2, 2), 1, -2),
            S("one", T(2, 3), 1, 1),
            S("scalar", T()),
            S("empty", T(2, 0, 3), 1),
        ],
        [
            E("order", RuntimeError,
              r"flatten\(\) has invalid args: start_dim cannot come after end_dim",
              T(2, 3), 1, 0),
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), 2),
        ],
    ),
    _shape_op(
        "unflatten",
        _unflat,
        [
            S("plain", T(2, 6), 1, (2, 3)),
            S("inferred", T(6, 2), 0, (3, -1)),
            S("negative", T(2, 4), -1, (2, 2, 1)),
            S("empty", T(0, 2), 1, (2, 1)),
        ],
        [
            E("size", RuntimeError,
              r"unflatten: Provided sizes \[4, 2\] don't multiply up to the size of dim 1 \(6\) in "
              r"the input tensor", T(2, 6), 1, (4, 2)),
            E("dim", IndexError, out_of_range(2, 2), T(2, 6), 2, (2, 3)),
            E("no-sizes", RuntimeError, "unflatten: sizes must be non-empty", T(2, 6), 1, ()),
            E("two-inferred", RuntimeError, "only one dimension can be inferred",
              T(2, 6), 1, (-1, -1)),
            E("scalar", IndexError, "Dimension specified as 0 but tensor has no dimensions",
              T(), 0, (1, 1)),
        ],
    ),
    _shape_op("ravel", lambda x: x.reshape(-1),
              [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0, 2))]),
    _shape_op("clone", lambda x: x,
              [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0)),
               S("wide", T(24, of="wide", grad=False))],
              fresh=True, keeps_order=True),
    _shape_op("Tensor.contiguous", lambda x: x, [S("plain", T(2, 3)), S("scalar", T())]),
    _shape_op("Tensor.__deepcopy__", lambda x: x, [S("plain", T(2, 3))],
              call=lambda x: x.__deepcopy__({}), fresh=True, gradient=False),
    _shape_op("Tensor.__copy__", lambda x: x, [S("plain", T(2, 3))], view=True, gradient=False),
    _shape_op("atleast_1d", np.atleast_1d,
              [S("scalar", T()), S("vector", T(3)), S("matrix", T(2, 3))]),
    _shape_op("atleast_2d", np.atleast_2d,
              [S("scalar", T()), S("vector", T(3)), S("matrix", T(2, 3)), S("empty", T(0))]),
    _shape_op("atleast_3d", np.atleast_3d,
              [S("scalar", T()), S("vector", T(3)), S("matrix", T(2, 3)), S("three", T(2, 1, 2))]),
    _shape_op("atleast-of-several", lambda *xs: [np.atleast_2d(x) for x in xs],
              [S("three", T(), T(3), T(1, 2))], call=_all_at_least_2d),
    _shape_op(
        "broadcast_tensors",
        _together,
        [
            S("two", T(2, 1), T(3)),
            S("three", T(2, 1), T(1, 3), T()),
            S("one", T(2)),
            S("empty", T(0, 1), T(3)),
        ],
        [
            E("extents", RuntimeError,
              r"The size of tensor a \(3\) must match the size of tensor b \(2\) at non-singleton "
              r"dimension 1", T(2, 3), T(2, 2)),
        ],
    ),
]  # fmt: skip
