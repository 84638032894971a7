"""Tensors cut apart along a dimension, into views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance.op import ANY, E, Op, S, T
from tensorbus_conformance.samples.views import out_of_range


def _split(x: np.ndarray, size: Any, dim: int = 0) -> list[np.ndarray]:
    n = x.shape[dim]
    if not isinstance(size, int):
        return np.split(x, np.cumsum(size)[:-1], axis=dim)
    if not size:
        return [x]
    return np.split(x, range(size, n, size), axis=dim)


def _chunks(x: np.ndarray, chunks: int, dim: int = 0) -> list[np.ndarray]:
    n = x.shape[dim]
    return _split(x, -(-n // chunks), dim) if n else [x] * chunks


def _nearly_equal(x: np.ndarray, parts: Any, dim: int = 0) -> list[np.ndarray]:
    return np.array_split(x, parts if isinstance(parts, int) else list(parts), axis=dim)


def _unbound(x: np.ndarray, dim: int = 0) -> list[np.ndarray]:
    return [np.asarray(part) for part in np.moveaxis(x, dim, 0)]


def _backwards(x: Any) -> Any:
    return reversed(x)


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "view": True, **more}
    return Op(name, reference, samples, ulp=0, errors=errors, family="splitting", **more)


_SPLITS = [
    S("even", T(4, 2), 2),
    S("rest", T(5, 2), 2),
    S("dim", T(2, 4), 3, 1),
    S("longer", T(2, 2), 5, -1),
    S("sizes", T(5), [1, 4]),
    S("sizes-dim", T(2, 4), (2, 0, 2), 1),
    S("empty", T(0, 2), 2),
    S("empty-zero", T(0, 2), 0),
]
_SPLIT_ERRORS = [
    E("zero", RuntimeError,
      "split_size can only be 0 if dimension size is 0, but got dimension size of 3", T(3), 0),
    E("negative", RuntimeError,
      "split expects split_size be non-negative, but got split_size=-1", T(3), -1),
    E("sum", RuntimeError,
      r"split_with_sizes expects split_sizes to sum exactly to 3 \(input tensor's size at "
      r"dimension 0\), but got split_sizes=\[1, 1\]", T(3), [1, 1]),
    E("scalar", RuntimeError, "split expects at least a 1-dimensional tensor", T(), 1),
    E("dim", IndexError, out_of_range(1, 1), T(3), 1, 1),
]  # fmt: skip

OPS = [
    _op("split", _split, _SPLITS, _SPLIT_ERRORS),
    _op("Tensor.split", _split, _SPLITS[:5], _SPLIT_ERRORS[:3]),
    _op(
        "split_with_sizes",
        _split,
        [S("plain", T(5, 2), [2, 3]), S("dim", T(2, 4), [1, 3], 1), S("whole", T(3), [3])],
        [
            E("negative", RuntimeError,
              r"split_with_sizes expects split_sizes have only non-negative entries, but got "
              r"split_sizes=\[-1, 4\]", T(3), [-1, 4]),
            E("sum", RuntimeError,
              r"split_with_sizes expects split_sizes to sum exactly to 4 \(input tensor's size at "
              r"dimension 1\), but got split_sizes=\[1, 2\]", T(2, 4), [1, 2], 1),
        ],
    ),
    _op(
        "chunk",
        _chunks,
        [
            S("even", T(4, 2), 2),
            S("rest", T(5), 3),
            S("fewer", T(5, 2), 4),
            S("dim", T(2, 3), 2, -1),
            S("empty", T(0, 2), 3),
        ],
        [
            E("count", RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0",
              T(3), 0),
            E("scalar", RuntimeError, "chunk expects at least a 1-dimensional tensor", T(), 1),
        ],
    ),
    _op("unsafe_split", _split, [s for s in _SPLITS if not s.variant.startswith("sizes")]),
    _op("unsafe_split_with_sizes", _split, [s for s in _SPLITS if s.variant.startswith("sizes")]),
    _op("unsafe_chunk", _chunks, [S("rest", T(5), 3), S("dim", T(2, 3), 2, -1)]),
    _op(
        "tensor_split",
        _nearly_equal,
        [
            S("sections", T(5, 2), 3),
            S("indices", T(5), (1, 3)),
            S("dim", T(2, 4), [2], 1),
            S("beyond", T(3), (2, 5)),
            S("negative", T(5), (-2,)),
            S("more", T(2), 3),
        ],
        [
            E("count", RuntimeError, "number of sections must be larger than 0, got 0", T(3), 0),
            E("scalar", RuntimeError,
              "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
              T(), 1),
        ],
    ),
    _op("hsplit", np.hsplit, [S("vector", T(4), 2), S("matrix", T(2, 4), (1, 2))],
        [E("scalar", RuntimeError, "torch.hsplit requires a tensor with at least 1 dimension, but "
           "got a tensor with 0 dimensions!", T(), 1),
         E("uneven", RuntimeError, r"torch\.hsplit attempted to split along dimension 0, but the "
           r"size of the dimension 3 is not divisible by the split_size 2!", T(3), 2)]),
    _op("vsplit", np.vsplit, [S("sections", T(4, 2), 2), S("indices", T(4, 2), (1,))],
        [E("vector", RuntimeError, "torch.vsplit requires a tensor with at least 2 dimension, but "
           "got a tensor with 1 dimensions!", T(4), 2)]),
    _op("dsplit", np.dsplit, [S("sections", T(1, 2, 4), 2), S("indices", T(1, 2, 4), (1, 3))],
        [E("matrix", RuntimeError, "torch.dsplit requires a tensor with at least 3 dimension, but "
           "got a tensor with 2 dimensions!", T(2, 4), 2)]),
    _op(
        "unbind",
        _unbound,
        [S("rows", T(3, 2)), S("columns", T(2, 3), 1), S("vector", T(3), -1)],
        [
            E("scalar", IndexError, "Dimension specified as 0 but tensor has no dimensions", T()),
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), 2),
        ],
    ),
    _op("Tensor.__iter__", _unbound, [S("rows", T(3, 2)), S("vector", T(3))],
        [E("scalar", TypeError, "iteration over a 0-d tensor", T())], call=list),
    _op("Tensor.__reversed__", lambda x: np.flip(x, 0), [S("rows", T(3, 2))], call=_backwards,
        view=False),
]  # fmt: skip
