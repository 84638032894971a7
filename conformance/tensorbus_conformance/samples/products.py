"""Products beside those of vectors and matrices: contractions, Kronecker, cross, chains, powers."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from tensorbus_conformance.formats import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, UINT8
from tensorbus_conformance.op import ANY, COMPLEX, FLOATING, NUMBERS, E, Op, S, T
from tensorbus_conformance.samples.linalg import affine, magnitude, product, whole


def _inner(a: Any, b: Any) -> Any:
    return np.inner(whole(a), whole(b))


def _addbmm(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return affine(x, np.matmul(whole(a), whole(b)).sum(0), beta, alpha)


def _addr(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    found = affine(x, whole(a)[:, None] * whole(b), beta, alpha)
    return found != 0 if x.dtype == a.dtype == b.dtype == bool else found


def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    left, right = (range(-dims, 0), range(dims)) if isinstance(dims, int) else dims
    for d, e in zip(left, right, strict=True):
        n = max(a.shape[d], b.shape[e])
        a, b = (np.repeat(x, n if x.shape[k] < n else 1, k) for x, k in ((a, d), (b, e)))
    return np.tensordot(whole(a), whole(b), dims)


def _kron(a: Any, b: Any) -> Any:
    rank = max(a.ndim, b.ndim)
    a, b = (x.reshape((1,) * (rank - x.ndim) + x.shape) for x in (a, b))
    found = np.zeros([n * m for n, m in zip(a.shape, b.shape, strict=True)], a.dtype)
    for at in np.ndindex(a.shape):
        block = tuple(slice(i * m, (i + 1) * m) for i, m in zip(at, b.shape, strict=True))
        found[block] = a[at] * b
    return found


def _cross(a: Any, b: Any, dim: Any = None, sign: int = -1) -> Any:
    a, b = np.broadcast_arrays(whole(a), whole(b))
    if dim is None:
        dim = a.shape.index(3)
    (a0, a1, a2), (b0, b1, b2) = (np.moveaxis(x, dim, 0) for x in (a, b))
    parts = [a1 * b2 + sign * a2 * b1, a2 * b0 + sign * a0 * b2, a0 * b1 + sign * a1 * b0]
    return np.stack(parts, axis=dim)


def _linalg_cross(a: Any, b: Any, *, dim: int = -1) -> Any:
    return _cross(a, b, dim)


_CROSS_SIZE = magnitude(lambda a, b, dim=None: _cross(a, b, dim, sign=1))
_LINALG_CROSS_SIZE = magnitude(lambda a, b, dim=-1: _cross(a, b, dim, sign=1))


def _chain(*matrices: Any) -> Any:
    return functools.reduce(np.matmul, map(whole, matrices))


def _multi_dot(matrices: Any) -> Any:
    return _chain(*matrices)


def _power(x: Any, n: int) -> Any:
    one = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    return functools.reduce(np.matmul, itertools.repeat(whole(x), n), whole(one))


def _vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    return (np.conj(x) * y).sum(dim)


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    n = x.shape[-1] if N is None else N
    powers = np.arange(n) if increasing else np.arange(n)[::-1]
    found = [functools.reduce(np.multiply, [whole(x)] * p, whole(np.ones_like(x))) for p in powers]
    return np.stack(found, axis=-1) if found else np.zeros((*x.shape, 0))


def _linalg_vander(x: Any, *, N: int | None = None) -> Any:
    return _vander(np.atleast_1d(x), N, increasing=True)


def _cdist(a: Any, b: Any, p: float = 2.0, compute_mode: str = "") -> Any:
    gaps = np.abs(a[..., :, None, :] - b[..., None, :, :])
    if p == np.inf:
        return gaps.max(-1, initial=0.0)
    return (gaps != 0).sum(-1).astype(float) if p == 0 else (gaps**p).sum(-1) ** (1 / p)


_APART = r"linalg\.cross: inputs dimension {} must have length 3\. Got {}"
_UNFIT = r"multi_dot\(\): tensors {} with shapes {} cannot be multiplied"
_SQUARE = r"linalg\.matrix_power: "

OPS = [
    product(
        "inner", _inner,
        [
            S("vectors", T(4), T(4)),
            S("matrices", T(2, 4), T(3, 4)),
            S("matrix-vector", T(2, 4), T(4)),
            S("scalar", T(), T(3)),
            S("scalars", T(), T()),
            S("empty", T(2, 0), T(3, 0)),
        ],
        errors=[
            E("shapes", RuntimeError, r"inner\(\) the last dimension must match on both input "
              r"tensors but got shapes \[2, 3\] and \[2\]", T(2, 3), T(2)),
        ],
    ),
    product(
        "addr", _addr,
        [
            S("plain", T(3, 4), T(3), T(4)),
            S("factors", T(3, 4), T(3), T(4), beta=2, alpha=-3).only(*NUMBERS),
            S("without-input", T(3, 4, grad=False), T(3), T(4), beta=0),
            S("input-row", T(4), T(3), T(4)),
            S("empty", T(0, 4), T(0), T(4)),
            S("false-input", T(3, 4), T(3), T(4), beta=False).only(BOOL),
            S("false-product", T(3, 4), T(3), T(4), alpha=False).only(BOOL),
            S("true-number", T(3, 4), T(3), T(4), alpha=2).only(BOOL),
        ],
        dtypes=ANY, promotes="dims",
        errors=[
            E("bool-factor", RuntimeError, r"Boolean alpha only supported for Boolean results\.",
              T(2, 3), T(2), T(3), alpha=True),
            E("overflow", RuntimeError, "value cannot be converted to type uint8_t without "
              "overflow", T(2, 3), T(2), T(3), beta=300, dtype=UINT8),
            E("input", RuntimeError, r"The expanded size of the tensor \(2\) must match the "
              r"existing size \(3\) at non-singleton dimension 0\.  Target sizes: \[2, 3\]\.  "
              r"Tensor sizes: \[3, 3\]", T(3, 3), T(2), T(3)),
            E("vector", RuntimeError, "addr: Expected 1-D argument vec1, but got 2-D",
              T(2, 3), T(2, 1), T(3)),
            E("fraction", RuntimeError, "For integral input tensors, argument alpha must not be a "
              r"floating point number\.", T(2, 3), T(2), T(3), alpha=0.5, dtype=INT64),
        ],
    ),
    product(
        "addbmm", _addbmm,
        [
            S("plain", T(3, 2), T(2, 3, 4), T(2, 4, 2)),
            S("factors", T(3, 2), T(2, 3, 4), T(2, 4, 2), beta=2, alpha=-3),
            S("without-input", T(3, 2, grad=False), T(2, 3, 4), T(2, 4, 2), beta=0),
            S("input-row", T(2), T(2, 3, 4), T(2, 4, 2)),
            S("no-inner", T(3, 2), T(2, 3, 0), T(2, 0, 2)),
            S("no-batch", T(3, 2), T(0, 3, 4), T(0, 4, 2)),
        ],
        ulp=8.0,
        errors=[
            E("batches", RuntimeError, "batch1 and batch2 must have same number of batches, got 2 "
              "and 3", T(2, 2), T(2, 2, 3), T(3, 3, 2)),
            E("shapes", RuntimeError, r"Incompatible matrix sizes for bmm \(2x3 and 2x2\)",
              T(2, 2), T(2, 2, 3), T(2, 2, 2)),
            E("dtypes", RuntimeError, "self and mat2 must have the same dtype, but got Long and "
              "Float", T(2, 2, dtype=INT64), T(2, 2, 3), T(2, 3, 2)),
        ],
    ),
    product(
        "tensordot", _tensordot,
        [
            S("two", T(2, 3, 2), T(3, 2, 2)),
            S("one", T(2, 3), T(3, 4), 1),
            S("none", T(2, 3), T(2), 0),
            S("lists", T(3, 2, 2), T(2, 3, 2), ([0, 1], [1, 0])),
            S("negative", T(3, 2, 2), T(2, 3, 2), ([-3, 1], [-2, 0])),
            S("all", T(2, 3), T(2, 3), ([0, 1], [0, 1])),
            S("empty", T(2, 0), T(0, 3), 1),
            S("repeated", T(2, 1), T(3, 4), 1),
            S("repeated-lists", T(3, 1, 2), T(2, 3, 4), ([1, 2], [1, 0])),
            S("repeated-both", T(1, 3), T(3, 1), ([0, 1], [0, 1])),
        ],
        errors=[
            E("too-many", RuntimeError, "tensordot expects dims < ndim_a or ndim_b, but got dims=3",
              T(2, 3), T(3, 2), 3),
            E("negative", RuntimeError, "tensordot expects dims >= 0, but got dims=-1",
              T(2, 3), T(3, 2), -1),
            E("extents", RuntimeError, "contracted dimensions need to match, but first has size 3 "
              "in dim -1 and second has size 2 in dim 0", T(2, 3), T(2, 3), 1),
            E("lengths", RuntimeError, "both dimension lists should have same length",
              T(2, 3), T(3, 2), ([0, 1], [0])),
            E("range", IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\],"
              r" but got 5\)", T(2, 3), T(3, 2), ([5], [0])),
            E("twice", RuntimeError, "dim 0 appears multiple times in the list of dims",
              T(3, 3), T(3, 3), ([0, 0], [0, 1])),
            E("dtypes", RuntimeError, "both inputs should have same dtype",
              T(2, 3), T(3, 2, dtype=INT64), 1),
        ],
    ),
    product(
        "kron", _kron,
        [
            S("matrices", T(2, 3), T(3, 2)),
            S("vectors", T(2), T(3)),
            S("ranks", T(2), T(2, 3, 2)),
            S("scalar", T(), T(2, 2)),
            S("empty", T(0, 2), T(2, 2)),
        ],
        dtypes=ANY, ulp=1.0, promotes="dims",
        errors=[E("number", TypeError, r"kron\(\): argument 'other' \(position 2\) must be Tensor, "
                  "not int", T(2), 2)],
    ),
    product(
        "cross", _cross,
        [
            S("rows", T(2, 3), T(2, 3), 1),
            S("columns", T(3, 2), T(3, 2), 0),
            S("first", T(3, 3), T(3, 3)),
            S("broadcast", T(4, 3), T(1, 3), -1),
            S("empty", T(0, 3), T(0, 3), 1),
        ],
        scale=_CROSS_SIZE, ulp=2.0,
        errors=[
            E("ranks", RuntimeError, r"linalg\.cross: inputs must have the same number of "
              r"dimensions\.", T(2, 3), T(3)),
            E("none", RuntimeError, "no dimension of size 3 in input", T(2, 2), T(2, 2)),
            E("dtypes", RuntimeError, "expected scalar type Float but found Long",
              T(3), T(3, dtype=INT64), 0),
            E("extent", RuntimeError, _APART.format(0, "2 and 2"), T(2, 3), T(2, 3), 0),
            E("range", IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\],"
              r" but got 5\)", T(2, 3), T(2, 3), 5),
        ],
    ),
    product(
        "linalg.cross", _linalg_cross,
        [
            S("rows", T(2, 3), T(2, 3)),
            S("columns", T(3, 2), T(3, 2), dim=0),
            S("broadcast", T(4, 3), T(1, 3)),
            S("empty", T(0, 3), T(0, 3)),
        ],
        scale=_LINALG_CROSS_SIZE, ulp=2.0,
        errors=[
            E("extent", RuntimeError, _APART.format(-1, "2 and 3"), T(3, 2), T(2, 3)),
            E("bool", NotImplementedError, "\"cross\" not implemented for 'Bool'",
              T(3), T(3), dtype=BOOL),
            E("broadcast", RuntimeError, r"The size of tensor a \(2\) must match the size of "
              r"tensor b \(4\) at non-singleton dimension 0", T(2, 3), T(4, 3)),
        ],
    ),
    product(
        "chain_matmul", _chain,
        [
            S("three", T(2, 3), T(3, 4), T(4, 2)),
            S("two", T(2, 3), T(3, 2)),
            S("one", T(2, 3)),
            S("four", T(4, 1), T(1, 5), T(5, 1), T(1, 3)),
            S("no-inner", T(2, 0), T(0, 4), T(4, 2)),
        ],
        ulp=8.0, fresh=False,
        errors=[
            E("none", RuntimeError, r"chain_matmul\(\): Expected one or more matrices"),
            E("vector", RuntimeError, r"Tensor dimension is 1, expected 2 instead\.",
              T(2, 3), T(3)),
            E("shapes", RuntimeError, _UNFIT.format("0 and 1", r"\[2, 3\] and \[2, 3\]"),
              T(2, 3), T(2, 3)),
        ],
    ),
    product(
        "linalg.multi_dot", _multi_dot,
        [
            S("three", [T(2, 3), T(3, 4), T(4, 2)]),
            S("two", [T(2, 3), T(3, 2)]),
            S("left-vector", [T(3), T(3, 4), T(4, 2)]),
            S("right-vector", [T(2, 3), T(3, 4), T(4)]),
            S("vectors", [T(3), T(3, 4), T(4)]),
            S("four", [T(4, 1), T(1, 5), T(5, 1), T(1, 3)]),
        ],
        ulp=8.0,
        errors=[
            E("none", RuntimeError, r"multi_dot\(\): expected at least 2 tensors but got 0", []),
            E("one", RuntimeError, r"multi_dot\(\): expected at least 2 tensors but got 1",
              [T(2, 2)]),
            E("shapes", RuntimeError, _UNFIT.format("1 and 2", r"\[3, 4\] and \[3, 2\]"),
              [T(2, 3), T(3, 4), T(3, 2)]),
            E("first", RuntimeError, r"multi_dot\(\): the first tensor must be 1D or 2D but got 3D",
              [T(2, 2, 3), T(2, 3)]),
            E("middle", RuntimeError, r"multi_dot\(\): tensor 1 must be 2D but got 1D",
              [T(2, 3), T(3), T(3)]),
            E("dtypes", RuntimeError, r"multi_dot\(\): all tensors must have be the same dtype but "
              "tensor 0 is float and tensor 1 long int", [T(2, 3), T(3, 4, dtype=INT64)]),
        ],
    ),
    product(
        "matrix_power", _power,
        [
            S("cube", T(3, 3), 3),
            S("seventh", T(2, 2), 7),
            S("one", T(3, 3), 1),
            S("nought", T(3, 3, grad=False), 0),
            S("batch", T(2, 2, 2), 2),
            S("empty", T(0, 2, 2), 3),
        ],
        ulp=16.0,
        errors=[
            E("shape", RuntimeError, _SQUARE + "A must be batches of square matrices, but they are "
              "2 by 3 matrices", T(2, 3), 2),
            E("vector", RuntimeError, _SQUARE + "The input tensor A must have at least 2 "
              r"dimensions\.", T(2), 2),
            E("fraction", TypeError, r"matrix_power\(\): argument 'n' \(position 2\) must be int, "
              "not float", T(2, 2), 2.0),
        ],
    ),
    product(
        "linalg.vecdot", _vecdot,
        [
            S("rows", T(2, 4), T(2, 4)),
            S("vectors", T(4), T(4)),
            S("columns", T(3, 2), T(3, 2), dim=0),
            S("broadcast", T(3, 1, 4), T(2, 4)),
            S("empty", T(2, 0), T(2, 0)),
        ],
        dtypes=(*FLOATING, *COMPLEX),
        errors=[
            E("integers", RuntimeError, r"linalg\.vecdot: Expected a floating point or complex "
              "tensor as input. Got Long", T(3), T(3), dtype=INT64),
            E("shapes", RuntimeError, r"The size of tensor a \(3\) must match the size of tensor b "
              r"\(2\) at non-singleton dimension 1", T(2, 3), T(2, 2)),
        ],
    ),
    product(
        "vander", _vander,
        [
            S("plain", T(4)),
            S("more", T(3), 5),
            S("increasing", T(3), increasing=True),
            S("none", T(3), 0),
            S("empty", T(0)),
        ],
        dtypes=ANY, result="sum", ulp=4.0,
        errors=[
            E("matrix", RuntimeError, r"x must be a one-dimensional tensor\.", T(2, 2)),
            E("negative", RuntimeError, r"N must be non-negative\.", T(2), -1),
        ],
    ),
    product(
        "linalg.vander", _linalg_vander,
        [S("plain", T(4)), S("more", T(3), N=5), S("batch", T(2, 3)), S("empty", T(0, 3)),
         S("scalar", T(), N=3)],
        dtypes=tuple(d for d in NUMBERS if d not in (FLOAT16, BFLOAT16)), result="sum", ulp=4.0,
        errors=[
            E("one", RuntimeError, r"N must be greater than 1\.", T(2), N=1),
            E("scalar", RuntimeError, r"N must be greater than 1\.", T()),
        ],
    ),
    Op(
        "cdist", _cdist,
        [
            S("plain", T(3, 4), T(2, 4)),
            S("one", T(3, 4), T(2, 4), 1.0),
            S("three", T(3, 4), T(2, 4), p=3.0),
            S("infinity", T(3, 4), T(2, 4), p=float("inf")),
            S("count", T(3, 4, grad=False), T(2, 4, grad=False), p=0.0),
            S("batch", T(2, 3, 2), T(4, 2)),
            S("mode", T(3, 4), T(2, 4), compute_mode="donot_use_mm_for_euclid_dist"),
            S("no-rows", T(0, 4), T(2, 4)),
            S("no-columns", T(3, 0), T(2, 0)),
        ],
        dtypes=(FLOAT32, FLOAT64), ulp=6.0, measure="norm", family="matmul",
        errors=[
            E("vector", RuntimeError, "cdist only supports at least 2D tensors, X1 got: 1D",
              T(3), T(2, 3)),
            E("columns", RuntimeError, r"X1 and X2 must have the same number of columns\. X1: 3 "
              "X2: 2", T(2, 3), T(2, 2)),
            E("dtypes", RuntimeError, "expected scalar type Float but found Half",
              T(2, 3), T(2, 3, dtype=FLOAT16)),
            E("negative", RuntimeError, "cdist only supports non-negative p values",
              T(2, 3), T(2, 3), p=-1),
            E("mode", ValueError, "x is not a valid value for compute_mode",
              T(2, 3), T(2, 3), compute_mode="x"),
            E("integers", RuntimeError, "cdist only supports floating-point dtypes, X1 got: Long",
              T(2, 3), T(2, 3), dtype=INT64),
        ],
    ),
    Op(
        "trace", lambda x: np.trace(x, dtype=np.int64 if x.dtype.kind in "iu" else None),
        [S("square", T(3, 3)), S("wide", T(2, 4)), S("tall", T(4, 2)), S("empty", T(0, 3))],
        dtypes=NUMBERS, result="sum", ulp=2.0, scale=lambda x: np.trace(np.abs(x)), family="matmul",
        errors=[E("vector", RuntimeError, "trace: expected a matrix, but got tensor with dim 1",
                  T(2)),
                E("bool", NotImplementedError, "\"trace\" not implemented for 'Bool'",
                  T(2, 2), dtype=BOOL)],
    ),
]  # fmt: skip
