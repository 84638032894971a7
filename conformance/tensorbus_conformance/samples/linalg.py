"""Products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.formats import BOOL, INT64
from tensorbus_conformance.op import ANY, NUMBERS, E, Op, S, T

Reference = Callable[..., Any]


def whole(x: Any) -> Any:
    """An integer array as int64, so that Python numbers beside it never overflow its dtype."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "iub":
        return x.astype(np.int64)
    return x


def magnitude(reference: Reference) -> Reference:
    """The sum of absolute terms: the reference of a product, over absolute operands."""

    def size(value: Any, name: str = "") -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            return [size(v) for v in value]
        return np.abs(value) if isinstance(value, np.ndarray) or name in _FACTORS else value

    def scale(*args: Any, **kwargs: Any) -> Any:
        return reference(*map(size, args), **{k: size(v, k) for k, v in kwargs.items()})

    return scale


_FACTORS = ("alpha", "beta")


def product(name: str, reference: Reference, samples: list[Any], **settings: Any) -> Op:
    """An op whose elements are sums of products: errors are measured at the terms' magnitude."""
    fields: dict[str, Any] = {
        "dtypes": NUMBERS, "ulp": 4.0, "scale": magnitude(reference), "family": "matmul"
    }  # fmt: skip
    return Op(name, reference, samples, **(fields | settings))


def factor(value: Any, x: np.ndarray) -> Any:
    """A number as it multiplies *x*: fractions are dropped for integers."""
    return int(value) if x.dtype.kind in "iub" else value


def affine(base: Any, term: Any, beta: Any, alpha: Any) -> Any:
    """``beta * base + alpha * term``."""
    base, term = whole(base), whole(term)
    scaled = factor(alpha, term) * term
    return scaled + (0 if beta == 0 else factor(beta, base) * base)


def _matmul(a: Any, b: Any) -> Any:
    return np.matmul(whole(a), whole(b))


def _addmm(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return affine(x, _matmul(a, b), beta, alpha)


def _outer(a: Any, b: Any) -> Any:
    return a[:, None] * b


_VECTOR = T(3)
_WORD = "expected m1 and m2 to have the same dtype, but got: "
_BATCH = "Expected size for first two dimensions of batch2 tensor to be: "
_VECTORS = (
    r"inconsistent tensor size, expected tensor \[2\] and src \[3\] to have the same number of "
    "elements, but got 2 and 3 elements respectively"
)
_MATRICES = r"mat1 and mat2 shapes cannot be multiplied \({}\)"
_EXPANDED = (
    r"The expanded size of the tensor \(2\) must match the existing size \(3\) at non-singleton "
    r"dimension {}\.  Target sizes: \[{}\]\.  Tensor sizes: \[{}\]"
)
_GRIDS = [
    S("matrices", T(2, 3), T(3, 4)),
    S("row", T(1, 5), T(5, 3)),
    S("column", T(4, 1), T(1, 3)),
    S("no-inner", T(2, 0), T(0, 3)),
    S("no-rows", T(0, 3), T(3, 2)),
]

OPS = [
    product("Tensor.__matmul__", lambda a, b: _matmul(a, b), _GRIDS),
    product("Tensor.__rmatmul__", lambda b, a: _matmul(a, b), [S("matrices", T(3, 4), T(2, 3))]),
    product(
        "matmul",
        _matmul,
        [
            *_GRIDS,
            S("vectors", T(5), T(5)),
            S("empty-vectors", T(0), T(0)),
            S("matrix-vector", T(3, 4), T(4)),
            S("vector-matrix", T(3), T(3, 4)),
            S("batches", T(2, 3, 4), T(2, 4, 2)),
            S("batch-matrix", T(2, 3, 4), T(4, 2)),
            S("matrix-batch", T(3, 4), T(2, 4, 2)),
            S("batch-vector", T(2, 3, 4), T(4)),
            S("vector-batch", T(4), T(2, 4, 3)),
            S("broadcast", T(3, 1, 2, 3), T(2, 3, 2)),
            S("broadcast-ones", T(1, 2, 3), T(4, 3, 2)),
            S("empty-batch", T(0, 2, 3), T(3, 2)),
            S("batch-no-inner", T(2, 2, 0), T(2, 0, 3)),
        ],
        errors=[
            E("vectors", RuntimeError, _VECTORS, T(2), T(3)),
            E("matrices", RuntimeError, _MATRICES.format("2x3 and 2x3"), T(2, 3), T(2, 3)),
            E("batch-matrix", RuntimeError, _MATRICES.format("4x3 and 2x3"), T(2, 2, 3), T(2, 3)),
            E("vector-matrix", RuntimeError, _MATRICES.format("1x2 and 3x2"), T(2), T(3, 2)),
            E("matrix-vector", RuntimeError,
              r"size mismatch, got input \(4\), mat \(4x3\), vec \(2\)", T(2, 2, 3), T(2)),
            E("batches", RuntimeError, _BATCH + r"\[2, 3\] but got: \[2, 2\]\.",
              T(2, 2, 3), T(2, 2, 3)),
            E("broadcast", RuntimeError, r"The size of tensor a \(2\) must match the size of "
              r"tensor b \(3\) at non-singleton dimension 0", T(2, 2, 3), T(3, 3, 2)),
            E("scalar", RuntimeError, "both arguments to matmul need to be at least 1D, but they "
              "are 0D and 1D", T(), T(3)),
            E("dtypes", RuntimeError, _WORD + "float != long int", T(2, 3), T(3, 2, dtype=INT64)),
            E("bool", NotImplementedError, "\"matmul\" not implemented for 'Bool'",
              T(2, 3), T(3, 2), dtype=BOOL),
            E("number", TypeError, r"matmul\(\): argument 'other' \(position 2\) must be Tensor, "
              "not int", T(2, 3), 2),
        ],
    ),
    product(
        "mm", _matmul, _GRIDS,
        errors=[
            E("shapes", RuntimeError, _MATRICES.format("2x3 and 2x3"), T(2, 3), T(2, 3)),
            E("first-vector", RuntimeError, "self must be a matrix", T(3), T(3, 2)),
            E("second-vector", RuntimeError, "mat2 must be a matrix", T(2, 3), T(3)),
            E("batch", RuntimeError, "self must be a matrix", T(2, 2, 3), T(3, 2)),
            E("dtypes", RuntimeError, _WORD + "float != long int", T(2, 3), T(3, 2, dtype=INT64)),
        ],
    ),
    product(
        "bmm", _matmul,
        [
            S("batches", T(2, 3, 4), T(2, 4, 2)),
            S("one", T(1, 2, 2), T(1, 2, 2)),
            S("no-inner", T(2, 3, 0), T(2, 0, 2)),
            S("empty", T(0, 3, 4), T(0, 4, 2)),
        ],
        errors=[
            E("shapes", RuntimeError, _BATCH + r"\[2, 3\] but got: \[2, 2\]\.",
              T(2, 2, 3), T(2, 2, 3)),
            E("batches", RuntimeError, _BATCH + r"\[2, 3\] but got: \[3, 3\]\.",
              T(2, 2, 3), T(3, 3, 2)),
            E("first-matrix", RuntimeError, "batch1 must be a 3D tensor", T(2, 3), T(3, 3, 2)),
            E("second-matrix", RuntimeError, "batch2 must be a 3D tensor", T(2, 2, 3), T(3, 2)),
            E("dtypes", RuntimeError, "expected scalar type Float but found Long",
              T(2, 2, 3), T(2, 3, 2, dtype=INT64)),
        ],
    ),
    product(
        "mv", _matmul,
        [S("plain", T(3, 4), T(4)), S("no-inner", T(3, 0), T(0)), S("empty", T(0, 3), T(3))],
        errors=[
            E("shapes", RuntimeError, r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)",
              T(2, 3), T(2)),
            E("matrix", RuntimeError, r"vector \+ matrix @ vector expected, got 1, 2, 2",
              T(2, 3), T(3, 1)),
            E("vector", RuntimeError, r"vector \+ matrix @ vector expected, got 1, 1, 1",
              T(3), T(3)),
            E("dtypes", RuntimeError, "addmv input tensors must have the same dtype, but got Long, "
              "Float, and Long", T(2, 3), T(3, dtype=INT64)),
        ],
    ),
    product(
        "dot", _matmul,
        [S("plain", T(7), T(7)), S("one", T(1), T(1)), S("empty", T(0), T(0))],
        errors=[
            E("shapes", RuntimeError, _VECTORS, T(2), T(3)),
            E("matrix", RuntimeError, "1D tensors expected, but got 2D and 1D tensors",
              T(2, 2), T(2)),
            E("dtypes", RuntimeError, "dot : expected both vectors to have same dtype, but found "
              "Float and Long", T(3), T(3, dtype=INT64)),
            E("bool", NotImplementedError, "\"dot\" not implemented for 'Bool'",
              T(3), T(3), dtype=BOOL),
        ],
    ),
    product(
        "vdot", lambda a, b: _matmul(a.conj(), b),
        [S("plain", T(7), T(7)), S("empty", T(0), T(0))],
        errors=[
            E("shapes", RuntimeError, _VECTORS, T(2), T(3)),
            E("matrix", RuntimeError, "1D tensors expected, but got 2D and 2D tensors",
              T(2, 2), T(2, 2)),
        ],
    ),
    product(
        "outer", _outer,
        [S("plain", T(3), T(4)), S("one", T(1), T(3)), S("empty", T(0), T(3))],
        dtypes=ANY, ulp=1.0, promotes="dims",
        errors=[
            E("first-matrix", RuntimeError, "outer: Expected 1-D argument self, but got 2-D",
              T(2, 2), T(2)),
            E("second-matrix", RuntimeError, "outer: Expected 1-D argument vec2, but got 2-D",
              T(2), T(2, 2)),
            E("number", TypeError, r"outer\(\): argument 'vec2' \(position 2\) must be Tensor, not "
              "int", T(2), 2),
        ],
    ),
    product(
        "ger", _outer, [S("plain", T(3), T(4)), S("empty", T(0), T(3))], dtypes=ANY, ulp=1.0,
        promotes="dims",
        errors=[E("matrix", RuntimeError, "outer: Expected 1-D argument self, but got 2-D",
                  T(2, 2), T(2))],
    ),
    product(
        "addmm", _addmm,
        [
            S("plain", T(2, 4), T(2, 3), T(3, 4)),
            S("factors", T(2, 4), T(2, 3), T(3, 4), beta=2, alpha=3),
            S("fractions", T(2, 4), T(2, 3), T(3, 4), beta=0.5, alpha=1.75),
            S("without-input", T(2, 4, grad=False), T(2, 3), T(3, 4), beta=0),
            S("input-row", T(4), T(2, 3), T(3, 4)),
            S("input-column", T(2, 1), T(2, 3), T(3, 4)),
            S("input-number", T(), T(2, 3), T(3, 4), beta=2),
            S("no-inner", T(2, 4), T(2, 0), T(0, 4), beta=2),
            S("empty", T(0, 4), T(0, 3), T(3, 4)),
        ],
        ulp=6.0,
        errors=[
            E("input", RuntimeError, _EXPANDED.format(1, "2, 2", "3, 3"),
              T(3, 3), T(2, 3), T(3, 2)),
            E("shapes", RuntimeError, _MATRICES.format("2x3 and 2x2"), T(2, 2), T(2, 3), T(2, 2)),
            E("first-vector", RuntimeError, "mat1 must be a matrix, got 1-D tensor",
              T(2, 2), T(3), T(3, 2)),
            E("second-vector", RuntimeError, "mat2 must be a matrix, got 1-D tensor",
              T(2, 2), T(2, 3), T(3)),
            E("dtypes", RuntimeError, "self and mat2 must have the same dtype, but got Long and "
              "Float", T(2, 2, dtype=INT64), T(2, 3), T(3, 2)),
            E("complex-factor", RuntimeError, "value cannot be converted to type float without "
              "overflow", T(2, 2), T(2, 3), T(3, 2), alpha=1j),
        ],
    ),
    product(
        "addmv", _addmm,
        [
            S("plain", T(3), T(3, 4), T(4)),
            S("factors", T(3), T(3, 4), T(4), beta=2, alpha=-3),
            S("without-input", T(3, grad=False), T(3, 4), T(4), beta=0),
            S("input-number", T(), T(3, 4), T(4)),
            S("no-inner", T(3), T(3, 0), T(0)),
        ],
        ulp=6.0,
        errors=[
            E("input", RuntimeError, r"size mismatch, got input \(3\), mat \(2x3\), vec \(3\)",
              T(3), T(2, 3), T(3)),
            E("vector", RuntimeError, r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)",
              T(2), T(2, 3), T(2)),
            E("ranks", RuntimeError, r"vector \+ matrix @ vector expected, got 2, 2, 1",
              T(2, 2), T(2, 3), T(3)),
            E("dtypes", RuntimeError, "addmv input tensors must have the same dtype, but got Long, "
              "Float, and Float", T(2, dtype=INT64), T(2, 3), T(3)),
        ],
    ),
    product(
        "baddbmm", _addmm,
        [
            S("plain", T(2, 3, 2), T(2, 3, 4), T(2, 4, 2)),
            S("factors", T(2, 3, 2), T(2, 3, 4), T(2, 4, 2), beta=2, alpha=-3),
            S("without-input", T(2, 3, 2, grad=False), T(2, 3, 4), T(2, 4, 2), beta=0),
            S("input-matrix", T(3, 2), T(2, 3, 4), T(2, 4, 2)),
            S("no-inner", T(2, 3, 2), T(2, 3, 0), T(2, 0, 2)),
        ],
        ulp=6.0,
        errors=[
            E("input", RuntimeError, _EXPANDED.format(2, "2, 2, 2", "3, 3, 3"),
              T(3, 3, 3), T(2, 2, 3), T(2, 3, 2)),
            E("batches", RuntimeError, _BATCH + r"\[2, 3\] but got: \[3, 3\]\.",
              T(2, 2, 2), T(2, 2, 3), T(3, 3, 2)),
            E("dtypes", RuntimeError, "Input dtypes must be the same, got: input long int, batch1: "
              "float, batch2: float", T(2, 2, 2, dtype=INT64), T(2, 2, 3), T(2, 3, 2)),
        ],
    ),
]  # fmt: skip
