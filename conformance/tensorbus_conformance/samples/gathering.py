"""Elements and slices picked by index tensors, and whole slices written by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.index_reference import written
from tensorbus_conformance.op import ANY, E, I, M, Op, S, T
from tensorbus_conformance.samples.getitem import beyond
from tensorbus_conformance.samples.views import out_of_range

WRONG_INDEX = r"{name}\(\): Expected dtype int32/int64 for index"
FLOAT_INDEX = T(data=[0.0, 1.0], dtype=formats.FLOAT32)


def _gathered(x: np.ndarray, dim: int, index: np.ndarray, **_: Any) -> np.ndarray:
    x, where = (t if t.ndim else t.reshape(1) for t in (x, index))
    out = np.empty(where.shape, x.dtype)
    for at in np.ndindex(*where.shape):
        source = list(at)
        source[dim] = where[at]
        out[at] = x[tuple(source)]
    return out.reshape(index.shape)


def _along(x: np.ndarray, indices: np.ndarray, dim: int | None = None) -> np.ndarray:
    if dim is None:
        return x.reshape(-1)[indices.reshape(-1)]
    return np.take_along_axis(x, indices % max(x.shape[dim], 1), dim)


def _taken(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.asarray(x.reshape(-1)[index])


def _selected(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if not x.ndim:
        return x
    return np.take(x, np.atleast_1d(index), axis=dim)


def _put(x: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool = False) -> Any:
    flat = np.array(x).reshape(-1)
    if accumulate and x.dtype != bool:
        np.add.at(flat, index.reshape(-1), source.reshape(-1))
    elif accumulate:
        np.logical_or.at(flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return flat.reshape(x.shape)


def _index_put(x: np.ndarray, indices: Any, values: np.ndarray, accumulate: bool = False) -> Any:
    full: Any = tuple(slice(None) if i is None else i for i in indices)
    if not accumulate:
        return written(x, full, values)
    out = np.array(x)
    if x.dtype == bool:
        np.logical_or.at(out, full, values)
    else:
        np.add.at(out, full, values)
    return out


def _slices(x: np.ndarray, dim: int) -> np.ndarray:
    """The slices of a copy, the first dimension counting them."""
    return np.moveaxis(x, dim, 0) if x.ndim else x.reshape(1)


def _added(
    x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, *, alpha: Any = 1
) -> np.ndarray:
    out = np.array(x)
    for at, i in enumerate(np.atleast_1d(index)):
        slice_ = _slices(source, dim)[at]
        part = slice_ if x.dtype == bool else np.asarray(alpha).astype(x.dtype) * slice_
        _slices(out, dim)[i] = _slices(out, dim)[i] + part
    return out


def _copied(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    out = np.array(x)
    for at, i in enumerate(np.atleast_1d(index)):
        _slices(out, dim)[i] = _slices(source, dim)[at]
    return out


def _filled(x: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    out = np.array(x)
    for i in np.atleast_1d(index):
        _slices(out, dim)[i] = value
    return out


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "ulp": 0, **more}
    return Op(name, reference, samples, errors=errors, family="gathering", **more)


OPS = [
    _op(
        "gather",
        _gathered,
        [
            S("rows", T(3, 2), 0, I([[2, 0], [0, 1]])),
            S("columns", T(2, 3), 1, I([[2, 0, 1, 1], [0, 0, 0, 2]])),
            S("negative", T(2, 3), -1, I([[1], [2]])),
            S("smaller", T(3, 4), 0, I([[2, 1]])),
            S("duplicates", T(3), 0, I([1, 1, 1, 0])),
            S("scalar", T(), 0, I(0)),
            S("scalar-of-vector", T(3), 0, I(1)),
            S("vector-of-scalar", T(), 0, I([0, 0])),
            S("int32", T(3), 0, T(data=[2, 0], dtype=formats.INT32)),
            S("nothing", T(3, 2), 0, I(np.zeros((0, 2)))),
        ],
        [
            E("beyond", IndexError, beyond(3, 0, 3), T(3, 2), 0, I([[0, 3]])),
            E("negative", IndexError, beyond(-1, 1, 2), T(3, 2), 1, I([[-1]])),
            E("empty", IndexError, beyond(0, 0, 0), T(0, 2), 0, I([[0, 0]])),
            E("rank", RuntimeError,
              "Index tensor must have the same number of dimensions as input tensor",
              T(3, 2), 0, I([0, 1])),
            E("shape", RuntimeError,
              r"Size does not match at dimension 1 expected index \[1, 3\] to be no larger than "
              r"self \[3, 2\] apart from dimension 0", T(3, 2), 0, I([[0, 1, 0]])),
            E("dtype", RuntimeError, WRONG_INDEX.format(name="gather"), T(3), 0, FLOAT_INDEX),
            E("dim", IndexError, out_of_range(2, 2), T(3, 2), 2, I([[0]])),
        ],
    ),
    _op(
        "take_along_dim",
        _along,
        [
            S("dim", T(3, 2), I([[2, 0], [0, 1]]), 0),
            S("flat", T(2, 3), I([5, 0, 2])),
            S("broadcast", T(3, 4), I([[2], [0], [1]]), 1),
            S("broadcast-input", T(1, 4), I([[3, 0], [1, 1]]), 1),
            S("from-the-end", T(3, 4), I([[0, -1], [-4, -2], [-3, 3]]), 1),
            S("wrapped", T(3, 2), I([[3, -4], [7, -3]]), 0),
        ],
        [
            E("beyond", IndexError, beyond(6, 0, 6), T(2, 3), I([0, 6])),
            E("negative", IndexError, beyond(-1, 0, 6), T(2, 3), I([0, -1])),
            E("into-nothing", IndexError, beyond(0, 0, 0), T(0, 3), I([[0, 0, 0]]), 0),
            E("rank", RuntimeError,
              r"torch\.take_along_dim\(\): input and indices should have the same number of "
              r"dimensions, but got 2 dimensions for input, and 1 dimensions for indices",
              T(2, 3), I([0]), 0),
            E("dtype", RuntimeError,
              r"torch\.take_along_dim\(\): dtype of indices should be Long but got Float",
              T(2), FLOAT_INDEX, 0),
        ],
    ),
    _op(
        "take",
        _taken,
        [
            S("matrix", T(3, 2), I([[5, 0], [1, 1]])),
            S("negative", T(4), I([-1, -4])),
            S("scalar", T(2, 2), I(3)),
            S("nothing", T(2), I([])),
        ],
        [
            E("beyond", IndexError, beyond(6, 0, 6), T(3, 2), I([0, 6])),
            E("negative", IndexError, beyond(-7, 0, 6), T(3, 2), I([-7])),
            E("empty", IndexError, r"take\(\): tried to take from an empty tensor", T(0), I([0])),
            E("dtype", RuntimeError,
              r"take\(\): Expected a long tensor for index, but got Float", T(2), FLOAT_INDEX),
        ],
    ),
    _op(
        "index_select",
        _selected,
        [
            S("rows", T(3, 2), 0, I([2, 0, 2])),
            S("columns", T(2, 3), 1, I([1])),
            S("negative", T(2, 3), -1, I([2, 2])),
            S("scalar-index", T(3, 2), 0, I(1)),
            S("scalar", T(), 0, I([0])),
            S("int32", T(3), 0, T(data=[2, 0], dtype=formats.INT32)),
            S("nothing", T(3, 2), 0, I([])),
        ],
        [
            E("beyond", IndexError, beyond(3, 0, 3), T(3, 2), 0, I([3])),
            E("negative", IndexError, beyond(-1, 1, 2), T(3, 2), 1, I([-1])),
            E("scalar", RuntimeError,
              r"index_select\(\): Index to scalar can have only 1 value, got 2 value\(s\)",
              T(), 0, I([0, 0])),
            E("empty", IndexError, beyond(0, 1, 0), T(2, 0), 1, I([0])),
            E("rank", IndexError, r"index_select\(\): Index is supposed to be a vector",
              T(3), 0, I([[0]])),
            E("dtype", RuntimeError,
              r"index_select\(\): Expected dtype int32 or int64 for index", T(2), 0, FLOAT_INDEX),
            E("dim", IndexError, out_of_range(1, 1), T(2), 1, I([0])),
        ],
    ),
    _op(
        "index_add",
        _added,
        [
            S("rows", T(3, 2), 0, I([2, 0]), T(2, 2)),
            S("duplicates", T(3, 2), 0, I([1, 1, 0]), T(3, 2)),
            S("columns", T(2, 3), 1, I([1, 0]), T(2, 2)),
            S("alpha", T(3), 0, I([2, 1]), T(2), alpha=2),
            S("nothing", T(3, 2), 0, I([]), T(0, 2)),
            S("scalar", T(), 0, I([0]), T()),
        ],
        [
            E("beyond", IndexError, beyond(3, 0, 3), T(3, 2), 0, I([3]), T(1, 2)),
            E("dtype", RuntimeError,
              r"index_add_\(\): self \(Float\) and source \(Long\) must have the same scalar type",
              T(3), 0, I([1]), I([1])),
            E("rank", IndexError,
              r"index_add_\(\): Index is supposed to be a vector, but got dim: 2 with type: Long "
              r"and size: \[1, 1\]", T(3), 0, I([[1]]), T(1)),
            E("count", RuntimeError,
              r"index_add_\(\): Number of indices \(2\) should be equal to source\.size\(dim\): "
              r"\(3\), for dim: 0", T(3, 2), 0, I([0, 1]), T(3, 2)),
            E("shape", RuntimeError,
              "source tensor shape must match self tensor shape, excluding the specified "
              r"dimension\. Got self\.shape = \[3, 2\] source\.shape = \[2, 3\]",
              T(3, 2), 0, I([0, 1]), T(2, 3)),
        ],
        ulp=1, measure="norm",
    ),
    _op(
        "index_copy",
        _copied,
        [
            S("rows", T(3, 2), 0, I([2, 0]), T(2, 2)),
            S("columns", T(2, 3), -1, I([1]), T(2, 1)),
            S("vector", T(3), 0, I([2, 1]), T(2)),
            S("nothing", T(3, 2), 0, I([]), T(0, 2)),
        ],
        [
            E("beyond", IndexError, beyond(-4, 0, 3), T(3, 2), 0, I([-4]), T(1, 2)),
            E("dtype", RuntimeError,
              r"index_copy_\(\): self and source expected to have the same dtype, but got \(self\) "
              r"Float and \(source\) Long", T(3), 0, I([1]), I([1])),
            E("rank", IndexError, r"index_copy_\(\): Index should have dimension 1 or 0 \(got 2\)",
              T(3), 0, I([[1]]), T(1)),
            E("count", IndexError,
              r"index_copy_\(\): Number of indices \(2\) should be equal to source\.size\(dim\) "
              r"\(3\)", T(3, 2), 0, I([0, 1]), T(3, 2)),
            E("shape", RuntimeError,
              r"index_copy_\(\): Source/destination tensor must have same slice shapes\. "
              "Destination slice shape: 2 at dimension 0 and source slice shape: 3 at dimension "
              r"0\.", T(3, 2), 0, I([0, 1]), T(2, 3)),
        ],
    ),
    _op(
        "index_fill",
        _filled,
        [
            S("rows", T(3, 2), 0, I([2, 0]), 1),
            S("columns", T(2, 3), 1, I([1, 1]), 0),
            S("tensor", T(3, 2), 0, I([1]), T()),
            S("tensor-twice", T(2, 3), 1, I([2, 0, 2, 2]), T()),
            S("tensor-scalar", T(), 0, I([0, 0]), T()),
            S("tensor-nothing", T(3), 0, I([]), T()),
            S("scalar", T(), 0, I([0]), 1),
            S("nothing", T(3), 0, I([]), 1),
        ],
        [
            E("beyond", IndexError, beyond(4, 0, 3), T(3, 2), 0, I([4]), 1),
            E("empty", IndexError, beyond(1, 0, 0), T(0, 2), 0, I([1]), 1),
            E("index", RuntimeError, "Index has to be a vector/scalar",
              T(3), 0, I([[1]]), 1),
            E("complex", RuntimeError, r"index_fill_\(\): Converting complex Scalar to non-complex "
              "type is not supported", T(3), 0, I([1]), 2 + 0j),
            E("value", RuntimeError,
              "index_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 "
              r"dimension\(s\)\.", T(3), 0, I([1]), T(2)),
        ],
    ),
    _op(
        "index_put",
        _index_put,
        [
            S("rows", T(3, 2), (I([2, 0]),), T(2, 2)),
            S("pairs", T(3, 4), (I([2, 0]), I([1, 3])), T(2)),
            S("scalar", T(3, 4), (I([2, 0]), I([1, 3])), T()),
            S("accumulate", T(3), (I([1, 1, 0]),), T(3), accumulate=True),
            S("accumulate-pairs", T(2, 2), (I([1, 1]), I([0, 0])), T(2), True),
            S("mask", T(2, 3), (M([[True, False, True], [False, False, True]]),), T(3)),
        ],
        [
            E("beyond", IndexError, beyond(3, 0, 3), T(3, 2), (I([3]),), T(2)),
            E("dtype", RuntimeError,
              r"Index put requires the source and destination dtypes match, got Float for the "
              r"destination and Long for the source\.", T(3), (I([1]),), I([1])),
            E("shape", RuntimeError,
              r"shape mismatch: value tensor of shape \[3\] cannot be broadcast to indexing result "
              r"of shape \[2\]", T(4), (I([0, 1]),), T(3)),
            E("too-many", IndexError,
              r"too many indices for tensor of dimension 1 \(got 2\)", T(4), (I([0]), I([0])),
              T(1)),
        ],
        ulp=1, measure="norm",
    ),
    _op(
        "put",
        _put,
        [
            S("plain", T(3, 2), I([5, 0]), T(2)),
            S("negative", T(4), I([-1, -4]), T(2)),
            S("accumulate", T(3), I([1, 1, 0]), T(3), True),
            S("matrix", T(2, 2), I([[0, 3]]), T(1, 2)),
            S("nothing", T(2), I([]), T(0)),
        ],
        [
            E("beyond", IndexError, beyond(6, 0, 6), T(3, 2), I([6]), T(1)),
            E("empty", IndexError, r"put_\(\): Tried to put elements into an empty tensor",
              T(0), I([0]), T(1)),
            E("count", IndexError,
              r"put_\(\): Expected source and index to have the same number of elements, but got "
              r"source\.numel\(\) = 1, index\.numel\(\) = 2", T(3), I([0, 1]), T(1)),
            E("dtype", RuntimeError,
              r"put_\(\): self and source expected to have the same dtype, but got self\.dtype = "
              r"Float and source\.dtype = Long", T(3), I([0]), I([1])),
        ],
        ulp=1, measure="norm",
    ),
]  # fmt: skip
