"""Quantiles, norms kept in bounds, written views, indices as numbers, reductions at indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import FLOATING, INTEGRAL, REAL, E, I, Op, S, T

_WIDE = (formats.FLOAT32, formats.FLOAT64)
_WITH_NAN = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan] * 4, [8.0, 5.0, np.nan, np.nan]])


def _quantiles(name: str, numpy_name: str) -> Op:
    def expected(
        x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear"
    ) -> Any:
        found = getattr(np, numpy_name)(
            x, np.asarray(q, np.float64), axis=dim, method=interpolation
        )
        if keepdim:
            lead = found.shape[:1] if np.ndim(q) else ()
            shape = [1] * x.ndim if dim is None else list(x.shape)
            if dim is not None:
                shape[dim] = 1
            found = found.reshape((*lead, *shape))
        return found

    kinds = ("lower", "higher", "midpoint", "nearest")
    return Op(
        name,
        expected,
        [
            S("all", T(3, 5), 0.3),
            S("along", T(3, 5), 0.625, 1),
            S("several", T(3, 5), T(data=[0.0, 0.25, 0.7, 1.0], grad=False), 0),
            S("keepdim", T(3, 5), 0.25, 1, True),
            S("keepdim-all", T(2, 3), T(data=[0.5], grad=False), keepdim=True),
            *(S(kind, T(3, 6), 0.35, dim=-1, interpolation=kind) for kind in kinds),
            S("one", T(1), 0.5),
            S("holes", T(data=_WITH_NAN, grad=False), 0.25, 1),
        ],
        dtypes=_WIDE,
        ulp=8,
        measure="norm",
        family="reduce",
        errors=[
            E(
                "range",
                RuntimeError,
                r"quantile\(\) q must be in the range \[0, 1\] but got 1\.5",
                T(3),
                1.5,
            ),
            E(
                "integers",
                RuntimeError,
                r"quantile\(\) input tensor must be either float or double dtype",
                T(3),
                0.5,
                dtype=formats.INT64,
            ),
            E("nothing", RuntimeError, r"quantile\(\) input tensor must be non-empty", T(0), 0.5),
        ],
    )


def _renorm(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    others = tuple(i for i in range(x.ndim) if i != dim % x.ndim)
    if p == np.inf:
        norms = np.abs(x).max(others, keepdims=True)
    else:
        norms = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return np.where(norms > maxnorm, x * maxnorm / (norms + 1e-7), x)


def _written(x: Any, src: Any, place: Any) -> Any:
    found = np.array(x)
    found[place] = src
    return found


def _diagonal(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    found = np.array(x)
    view = np.diagonal(found, offset, dim1, dim2)
    view.setflags(write=True)
    view[...] = src
    return found


def _strided(x: Any, src: Any, size: Any, stride: Any, offset: int = 0) -> Any:
    found = np.array(x).reshape(-1)
    for place in np.ndindex(*size):
        found[offset + sum(i * s for i, s in zip(place, stride, strict=True))] = src[place]
    return found.reshape(x.shape)


_SIZE = r"expected src to have a size equal to the slice of self. src size = \[4\], slice size = "


def _write(name: str, reference: Any, samples: list[Any], slice_size: str, *bad: Any) -> Op:
    errors = [E("size", RuntimeError, _SIZE + slice_size, T(2, 3), T(4), *bad)]
    return Op(
        name, reference, samples, dtypes=(*REAL,), ulp=0, family="index", errors=errors,
        layouts=() if name == "as_strided_scatter" else ("transposed", "strided", "expanded"),
    )  # fmt: skip


def _reduced(
    x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True
) -> Any:
    found = np.moveaxis(np.array(x, np.float64 if x.dtype.kind == "f" else x.dtype), dim, 0)
    source = np.moveaxis(source, dim, 0)
    for i in set(index.tolist()):
        rows = [source[j] for j in range(len(index)) if index[j] == i]
        rows = ([found[i].copy()] if include_self else []) + rows
        fold: Any = {"prod": np.prod, "mean": np.sum, "amax": np.max, "amin": np.min}[reduce]
        total = fold(rows, 0)
        if reduce == "mean":
            total = total / len(rows) if x.dtype.kind == "f" else total // len(rows)
        found[i] = total
    return np.moveaxis(found, 0, dim)


def _kept(x: Any, size: int, fill_value: int = -1) -> Any:
    found = np.argwhere(x)[:size]
    return np.vstack([found, np.full((size - len(found), x.ndim), fill_value)]).astype(np.int64)


def _summed(x: Any, size: Any) -> Any:
    lead = x.ndim - len(size)
    found = x.sum(tuple(range(lead)))
    return found.sum(tuple(i for i, n in enumerate(size) if n == 1), keepdims=True)


_AT = I([0, 2, 0])
_SOURCE = np.array([[0.565, -1.31, 0.2525], [-0.06, 1.19, -0.685], [0.8775, -0.3725, -0.9975]])


def _gradient(x: Any, spacing: Any = None, dim: Any = None, edge_order: Any = 1) -> Any:
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = spacing if isinstance(spacing, (list, tuple)) else [spacing or 1.0] * len(dims)
    return tuple(
        np.gradient(x, np.asarray(step, np.float64), axis=d, edge_order=edge_order)
        for d, step in zip(dims, steps, strict=True)
    )


OPS = [
    Op(
        "gradient",
        _gradient,
        [
            S("each", T(3, 4)),
            S("step", T(5), spacing=0.5),
            S("steps", T(3, 4), spacing=[2.0, 0.25]),
            S("places", T(3, 4), spacing=[T(data=[0.0, 1.0, 3.0, 3.5], grad=False)], dim=1),
            S("parabola", T(4, 3), dim=0, edge_order=2),
            S(
                "parabola-places",
                T(3, 4),
                spacing=[T(data=[0.0, 1.0, 3.0, 3.5], grad=False)],
                dim=(1,),
                edge_order=2,
            ),
            S("order", T(3, 4), dim=(1, 0)),
        ],
        dtypes=FLOATING,
        result=("same",) * 2,
        ulp=16,
        measure="norm",
        family="reduce",
        errors=[
            E(
                "few",
                RuntimeError,
                r"torch\.gradient expected each dimension size to be at least edge_order\+1",
                T(1),
            ),
            E(
                "order",
                RuntimeError,
                r"torch\.gradient only supports edge_order=1 and edge_order=2\.",
                T(3),
                edge_order=3,
            ),
            E(
                "twice",
                RuntimeError,
                "dim 1 appears multiple times in the list of dims",
                T(3, 3),
                dim=(1, 1),
            ),
        ],
    ),
    _quantiles("quantile", "quantile"),
    _quantiles("nanquantile", "nanquantile"),
    Op(
        "renorm",
        _renorm,
        [
            S("rows", T(3, 4), 2, 0, 1.25),
            S("columns", T(3, 4), 1, 1, 1.5),
            S("largest", T(2, 3, 2), float("inf"), -1, 0.75),
            S("fraction", T(2, 3), 0.5, 0, 2.0),
            S("keyword", T(2, 3), p=2, dim=0, maxnorm=100.0),
        ],
        dtypes=FLOATING,
        ulp=8,
        measure="norm",
        family="reduce",
        errors=[
            E("order", RuntimeError, "renorm: non-positive-norm not supported", T(2, 2), 0, 0, 1.0),
            E(
                "dims",
                RuntimeError,
                "renorm: input needs at least 2 dimensions, got 1 dimensions",
                T(2),
                2,
                0,
                1.0,
            ),
        ],
    ),
    _write(
        "select_scatter",
        lambda x, src, dim, index: _written(x, src, (slice(None),) * (dim % x.ndim) + (index,)),
        [S("row", T(3, 4), T(4), 0, 1), S("column", T(3, 4), T(3), -1, -2)],
        r"\[3\]",
        0,
        1,
    ),
    _write(
        "slice_scatter",
        lambda x, src, dim=0, start=None, end=None, step=1: _written(
            x, src, (slice(None),) * (dim % x.ndim) + (slice(start, end, step),)
        ),
        [
            S("rows", T(5, 4), T(2, 4), 0, 1, 3),
            S("steps", T(3, 6), T(3, 3), 1, step=2),
            S("end", T(3, 6), T(3, 2), -1, -2),
            S("whole", T(2, 3), T(2, 3)),
        ],
        r"\[1, 3\]",
        0,
        1,
    ),
    _write(
        "diagonal_scatter",
        _diagonal,
        [
            S("main", T(3, 4), T(3)),
            S("above", T(3, 4), T(3), 1),
            S("dims", T(2, 3, 3), T(2, 2), -1, 2, 1),
        ],
        r"\[2\]",
    ),
    _write(
        "as_strided_scatter",
        _strided,
        [
            S("every-second", T(3, 4), T(2, 2), (2, 2), (4, 2), 1),
            S("first", T(3, 4), T(3), (3,), (4,)),
        ],
        r"\[2\]",
        (2,),
        (1,),
    ),
    Op(
        "unravel_index",
        lambda indices, shape: tuple(np.unravel_index(indices, shape)),
        [
            S("matrix", T(data=[[0, 5], [7, 11]]), (3, 4)),
            S("cube", T(data=[23, 1, 8]), (2, 3, 4)),
            S("number", T(data=[2, 0]), 3),
        ],
        dtypes=INTEGRAL,
        result=(formats.INT64,) * 3,
        ulp=0,
        family="index",
        errors=[
            E(
                "fractions",
                TypeError,
                "expected 'indices' to be integer dtype, but got torch.float32",
                T(2),
                (2, 2),
            ),
            E(
                "negative",
                ValueError,
                r"'shape' cannot have negative values, but got \(2, -3\)",
                T(2),
                (2, -3),
                dtype=formats.INT64,
            ),
        ],
    ),
    Op(
        "nonzero_static",
        _kept,
        [
            S("more", T(data=[[1, 0], [2, 3]]), size=5),
            S("fewer", T(data=[[1, 0], [2, 3]]), size=2),
            S("filled", T(data=[0, 1]), size=3, fill_value=7),
        ],
        dtypes=REAL,
        result=formats.INT64,
        ulp=0,
        gradient=False,
        family="index",
        errors=[
            E(
                "size",
                RuntimeError,
                "nonzero_static: 'size' must be an non-negative integer",
                T(2),
                size=-1,
            )
        ],
    ),
    Op(
        "index_reduce",
        _reduced,
        [
            *(S(kind, T(4, 3), 0, _AT, T(3, 3, of="positive"), kind) for kind in ("prod", "mean")),
            *(
                S(kind, T(3, 4), 1, _AT, T(data=_SOURCE), kind).only(*FLOATING)
                for kind in ("amax", "amin")
            ),
            *(
                S(
                    f"{kind}-alone",
                    T(4, 3),
                    0,
                    _AT,
                    T(3, 3, of="positive"),
                    kind,
                    include_self=False,
                )
                for kind in ("prod", "mean", "amax")
            ),
        ],
        dtypes=REAL,
        ulp=8,
        measure="norm",
        family="index",
        errors=[
            E(
                "kind",
                RuntimeError,
                r"index_reduce\(\): Expected reduce to be one of prod, mean, amax or amin but got "
                r"sum\.",
                T(3),
                0,
                I([0]),
                T(1),
                "sum",
            )
        ],
    ),
    Op(
        "Tensor.sum_to_size",
        lambda x, *size: _summed(x, size[0] if isinstance(size[0], tuple) else size),
        [
            S("kept", T(3, 4), 3, 1),
            S("vector", T(2, 3, 4), (4,)),
            S("scalar", T(2, 3), ()),
            S("same", T(2, 3), (2, 3)),
        ],
        dtypes=FLOATING,
        ulp=8,
        measure="norm",
        fresh=False,
        family="reduce",
        errors=[
            E(
                "size",
                RuntimeError,
                r"size \{\[4\]\} is not expandable to size \{\[2, 3\]\}\.",
                T(2, 3),
                4,
            )
        ],
    ),
]
