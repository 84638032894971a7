"""Elements repeated, dimensions turned around, triangles, diagonals, grids: copies of shape."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, E, I, Op, S, T
from tensorbus_conformance.samples.views import as_shape, out_of_range

REPEATED = [
    S("rows", T(2, 3), (2, 1)),
    S("both", T(2, 2), (2, 3)),
    S("leading", T(3), (2, 1, 2)),
    S("zero", T(2, 3), (2, 0)),
    S("scalar", T(), (3,)),
]


def _repeated(x: np.ndarray, *times: Any) -> np.ndarray:
    return np.tile(x, as_shape(*times))


def _interleaved(
    x: np.ndarray, repeats: Any = None, dim: int | None = None, *, output_size: Any = None
) -> np.ndarray:
    if repeats is None:
        return np.repeat(np.arange(x.size), x)
    return np.repeat(x, repeats, axis=dim)


def _rolled(x: np.ndarray, shifts: Any, dims: Any = None) -> np.ndarray:
    return np.roll(x, shifts, axis=dims)


def _embedded(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    n = x.shape[-1] + abs(offset)
    rank = x.ndim + 1
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    for i in range(x.shape[-1]):
        out[..., i - min(offset, 0), i + max(offset, 0)] = x[..., i]
    return np.moveaxis(out, (-2, -1), (dim1 % rank, dim2 % rank))


def _blocks(*matrices: np.ndarray) -> np.ndarray:
    given = [np.atleast_2d(m) for m in matrices]
    out = np.zeros([sum(m.shape[d] for m in given) for d in (0, 1)], given[0].dtype)
    row = column = 0
    for m in given:
        out[row : row + m.shape[0], column : column + m.shape[1]] = m
        row, column = row + m.shape[0], column + m.shape[1]
    return out


def _product(*vectors: np.ndarray) -> np.ndarray:
    if len(vectors) == 1:
        return vectors[0]
    rows = [list(row) for row in itertools.product(*vectors)]
    return np.array(rows, vectors[0].dtype).reshape(len(rows), len(vectors))


def _chosen(x: np.ndarray, r: int = 2, with_replacement: bool = False) -> np.ndarray:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(x, r))
    if r == 0:
        return np.zeros((0,), x.dtype)
    return np.array(rows, x.dtype).reshape(len(rows), r)


def _grid(*vectors: Any, indexing: Any = "ij") -> list[np.ndarray]:
    given = vectors[0] if isinstance(vectors[0], (list, tuple)) else vectors
    return list(np.meshgrid(*given, indexing=indexing))


def _counted(counts: Any) -> Any:
    import tensorbus

    return tensorbus.repeat_interleave(counts)


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, **more}
    return Op(name, reference, samples, ulp=0, errors=errors, family="shapes", **more)


OPS = [
    _op(
        "Tensor.repeat",
        _repeated,
        [*REPEATED, S("ints", T(2, 3), 1, 2)],
        [
            E("fewer", RuntimeError,
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
              "tensor", T(2, 3), 2),
            E("negative", RuntimeError,
              r"Trying to create tensor with negative dimension -4: \[-4, 3\]", T(2, 3), -2, 1),
        ],
    ),
    _op("tile", _repeated,
        [*REPEATED, S("fewer", T(2, 3), (2,)), S("none", T(2), ())]),
    _op(
        "repeat_interleave",
        _interleaved,
        [
            S("dim", T(2, 3), 2, 1),
            S("flat", T(2, 2), 2),
            S("counts", T(3, 2), I([2, 0, 1]), 0),
            S("one-count", T(3), I([2]), -1),
            S("size", T(2, 2), I([1, 3]), 1, output_size=4),
            S("zero", T(2, 2), 0, 0),
            S("empty", T(0, 2), 3, 0),
        ],
        [
            E("count", RuntimeError,
              r"repeats must have the same size as input along dim, but got repeats\.size\(0\) = 2 "
              r"and input\.size\(0\) = 3", T(3), I([1, 2]), 0),
            E("negative", RuntimeError, "Repeats must be non-negative", T(3), -1),
            E("rank", RuntimeError,
              "repeats must be 0-dim or 1-dim tensor", T(3), I([[1]])),
            E("floats", RuntimeError, "\"repeat_interleave_cpu\" not implemented for 'Float'",
              T(3), T(3)),
        ],
    ),
    _op("repeat_interleave-counts", _interleaved,
        [S("plain", I([2, 0, 3])), S("empty", I([]))],
        dtypes=(formats.INT64,), call=_counted),
    _op(
        "flip",
        lambda x, dims: np.flip(x, dims),
        [
            S("rows", T(3, 2), (0,)),
            S("both", T(2, 3), (0, -1)),
            S("none", T(2), ()),
            S("empty", T(0, 2), (1,)),
        ],
        [
            E("twice", RuntimeError, "dim 0 appears multiple times in the list of dims",
              T(2, 3), (0, 0)),
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), (2,)),
        ],
    ),
    _op("fliplr", np.fliplr, [S("plain", T(2, 3)), S("batch", T(2, 3, 2))],
        [E("rank", RuntimeError, r"Input must be >= 2-d\.", T(3))]),
    _op("flipud", np.flipud, [S("plain", T(3, 2)), S("vector", T(3))],
        [E("rank", RuntimeError, r"Input must be >= 1-d\.", T())]),
    _op(
        "roll",
        _rolled,
        [
            S("dim", T(4, 2), 1, 0),
            S("flat", T(2, 3), 2),
            S("negative", T(2, 5), -7, -1),
            S("several", T(3, 4), (1, -1), (0, 1)),
            S("same-dim", T(5), (1, 1), (0, 0)),
            S("empty", T(0, 2), 1, 0),
        ],
        [
            E("count", RuntimeError,
              "shifts and dimensions must align. shifts: 1, dims:2", T(2, 3), (1,), (0, 1)),
            E("dim", IndexError, out_of_range(1, 1), T(3), 1, 1),
        ],
    ),
    _op(
        "rot90",
        lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
        [
            S("once", T(2, 3)),
            S("twice", T(2, 3), 2),
            S("back", T(2, 3), -1),
            S("none", T(2, 3), 4),
            S("dims", T(2, 3, 2), 1, (2, 0)),
        ],
        [
            E("same", RuntimeError,
              "expected rotation dims to be different, but got dim0 = 1 and dim1 = 1",
              T(2, 3), 1, (1, 1)),
            E("count", RuntimeError, "expected total rotation dims == 2, but got dims = 1",
              T(2, 3), 1, (0,)),
            E("rank", RuntimeError, "expected total dims >= 2, but got total dims = 1", T(3)),
        ],
    ),
    *(
        _op(
            name,
            reference,
            [
                S("plain", T(3, 4)),
                S("above", T(3, 4), 1),
                S("below", T(4, 3), -2),
                S("batch", T(2, 3, 2)),
                S("empty", T(0, 3)),
                S("wide", T(4, 6, of="wide", grad=False)),
            ],
            [E("rank", RuntimeError, f"{name}: input tensor must have at least 2 dimensions",
               T(3))],
        )
        for name, reference in (("tril", np.tril), ("triu", np.triu))
    ),
    _op(
        "diag",
        np.diag,
        [
            S("embed", T(3)),
            S("embed-above", T(2), 1),
            S("read", T(3, 4)),
            S("read-below", T(3, 3), -1),
            S("empty", T(0)),
        ],
        [E("rank", RuntimeError, r"diag\(\): Supports 1D or 2D tensors\. Got 3D", T(2, 2, 2))],
    ),
    _op(
        "diag_embed",
        _embedded,
        [
            S("plain", T(2, 3)),
            S("above", T(3), 1),
            S("below", T(2), -2),
            S("dims", T(2, 3), 0, 0, 2),
            S("empty", T(2, 0)),
        ],
        [E("same", RuntimeError, "diagonal dimensions cannot be identical 0, 0", T(2), 0, 0, 0)],
    ),
    _op("diagflat", lambda x, offset=0: np.diagflat(x, offset),
        [S("plain", T(2, 2)), S("above", T(3), 1), S("scalar", T())]),
    _op("block_diag", _blocks,
        [S("matrices", T(2, 2), T(1, 3)), S("mixed", T(2), T(), T(2, 1)), S("one", T(2, 1))],
        [E("rank", RuntimeError,
           r"torch\.block_diag: Input tensors must have 2 or fewer dimensions\. Input 0 has 3 "
           r"dimensions", T(2, 2, 2))]),
    _op(
        "meshgrid",
        _grid,
        [
            S("ij", T(2), T(3), indexing="ij"),
            S("xy", T(2), T(3), T(2), indexing="xy"),
            S("list", [T(2), T()], indexing="ij"),
            S("one", T(3), indexing="xy"),
        ],
        [
            E("rank", RuntimeError,
              r"torch\.meshgrid: Expected 0D or 1D tensor in the tensor list but got one of "
              r"shape \[2, 2\]",
              T(2, 2), indexing="ij"),
            E("indexing", RuntimeError,
              'torch.meshgrid: indexing must be one of "xy" or "ij", but received: yx',
              T(2), T(2), indexing="yx"),
        ],
        fresh=False,
    ),
    _op("cartesian_prod", _product,
        [S("two", T(2), T(3)), S("three", T(2), T(1), T(2)), S("one", T(3)),
         S("empty", T(0), T(2))],
        [E("rank", RuntimeError, r"Expect a 1D vector, but got shape \[2, 2\]", T(2, 2))],
        fresh=False),
    _op("combinations", _chosen,
        [S("pairs", T(4)), S("three", T(4), 3), S("repeats", T(3), 2, True), S("none", T(2), 3),
         S("zero", T(2, grad=False), 0)],
        [E("rank", RuntimeError, r"Expect a 1D vector, but got shape \[2, 2\]", T(2, 2)),
         E("count", RuntimeError, "Expect a non-negative number, but got -1", T(2), -1)]),
]  # fmt: skip
