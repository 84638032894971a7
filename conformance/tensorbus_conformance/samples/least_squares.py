"""Least squares, and products of Householder's reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance.formats import FLOAT16, FLOAT64, INT64
from tensorbus_conformance.op import E, Op, S, T
from tensorbus_conformance.samples.factorizations import PRECISE
from tensorbus_conformance.samples.orthogonal import REAL, apart, tall
from tensorbus_conformance.samples.spectra import low


# -- least squares ---------------------------------------------------------------------------
def _lstsq(a: Any, b: Any, rcond: Any = None, *, driver: str = "gelsy") -> Any:
    vector = a.ndim > b.ndim
    b = b[..., None] if vector else b
    m, n = a.shape[-2:]
    bound = max(m, n) * 1e-7 if rcond is None else rcond
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > bound * s[..., :1]
    inverses = np.where(kept, 1 / np.where(kept, s, 1), 0)
    along = np.conj(np.swapaxes(u, -1, -2)) @ b
    x = np.conj(np.swapaxes(vh, -1, -2)) @ (inverses[..., None] * along)
    rank = kept.sum(-1)
    beyond = m > n and driver != "gelsy" and (rank == n).all()
    residuals = (np.abs(a @ x - b) ** 2).sum(-2) if beyond else np.zeros(0)
    if driver == "gels":
        rank = np.zeros(0, np.int64)
    values = s if driver in ("gelsd", "gelss") else np.zeros(0)
    return x[..., 0] if vector else x, residuals, rank, values


def _driven(*drivers: str) -> list[Any]:
    shapes = {"tall": (4, 2), "wide": (2, 4), "batch": (2, 3, 2)}
    return [
        S(f"{driver}-{name}", T(data=apart(*shape)), T(*shape[:-1], 2), driver=driver)
        for driver in drivers
        for name, shape in shapes.items()
    ]


_NAME = r"torch\.linalg\.lstsq: "


def _lstsq_errors() -> list[Any]:
    from tensorbus.linalg import LinAlgError

    text = _NAME + "{}The least squares solution could not be computed because the input matrix {}"
    rank = r"does not have full rank \(error code: 2\)\."
    broken = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    return [
        E("rank", LinAlgError, text.format("", rank), T(data=[[1.0, 0.0], [1.0, 0.0]]), T(2, 1),
          driver="gels"),
        E("rank-batch", LinAlgError, text.format(r"\(Batch element 1\): ", rank),
          T(data=[np.eye(2), np.diag([1.0, 0.0])]), T(2, 2, 1), driver="gels"),
        E("nan", LinAlgError, text.format(r"\(Batch element 1\): ", "contained non-finite values."),
          T(data=broken), T(2, 3, 1)),
        E("vector", RuntimeError, _NAME + r"input must have at least 2 dimensions\.", T(2), T(2)),
        E("number", RuntimeError, _NAME + r"other must have at least 1 dimension\.", T(2, 2), T()),
        E("rows", RuntimeError, _NAME + r"input\.size\(-2\) should match other\.size\(-2\)",
          T(3, 2), T(2, 1)),
        E("elements", RuntimeError, _NAME + r"input\.size\(-2\) should match other\.size\(-1\)",
          T(3, 2), T(1)),
        E("ranks", RuntimeError, _NAME + r"input\.dim\(\) must be greater or equal to other\.dim\("
          r"\) and \(input\.dim\(\) - other\.dim\(\)\) <= 1", T(2, 3, 2), T(3)),
        E("batches", RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b "
          r"\(4\) at non-singleton dimension 0", T(2, 3, 2), T(4, 3, 1)),
        E("driver", RuntimeError, _NAME + r"parameter `driver` should be one of \(gels, gelsy, "
          r"gelsd, gelss\)", T(2, 2), T(2, 1), driver="x"),
        E("dtypes", RuntimeError, _NAME + "Expected input and other to have the same dtype, but "
          "got input's dtype Float and other's dtype Double", T(2, 2),
          T(data=np.eye(2), dtype=FLOAT64)),
        E("half", RuntimeError, _NAME + r"Low precision dtypes not supported\. Got Half", T(2, 2),
          T(2, 1), dtype=FLOAT16),
    ]  # fmt: skip


# -- reflections -----------------------------------------------------------------------------
def _packed(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    packed, tau = np.linalg.qr(tall(*shape), "raw")
    return packed.swapaxes(-1, -2), tau


def _operand(values: np.ndarray) -> T:
    return T(data=values)


def _geqrf(a: Any) -> Any:
    packed, tau = np.linalg.qr(a, "raw")
    return np.swapaxes(packed, -1, -2), tau


def _whole(a: Any, tau: Any) -> Any:
    """The square product of the reflections, one after the other."""
    *batch, m, _ = a.shape
    q = np.broadcast_to(np.eye(m), (*batch, m, m))
    for i in range(tau.shape[-1]):
        v = np.where(np.arange(m) > i, a[..., i], np.arange(m) == i)[..., None]
        q = q - (q @ v) * tau[..., i, None, None] @ np.conj(np.swapaxes(v, -1, -2))
    return q


def _householder_product(a: Any, tau: Any) -> Any:
    return _whole(a, tau)[..., : a.shape[-1]]


def _ormqr(a: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    q = _whole(a, tau)
    q = np.conj(np.swapaxes(q, -1, -2)) if transpose else q
    return q @ other if left else other @ q


_PRODUCT = r"torch\.linalg\.householder_product: "
_OTHER = r"torch\.ormqr: "


def _product_errors() -> list[Any]:
    return [
        E("vector", RuntimeError, _PRODUCT + r"input must have at least 2 dimensions\.", T(3),
          T(2)),
        E("wide", RuntimeError, _PRODUCT + r"input\.shape\[-2\] must be greater than or equal to "
          r"input\.shape\[-1\]", T(2, 3), T(2)),
        E("many", RuntimeError, _PRODUCT + r"input\.shape\[-1\] must be greater than or equal to "
          r"tau\.shape\[-1\]", T(3, 2), T(3)),
        E("ranks", RuntimeError, _PRODUCT + "Expected tau to have one dimension less than input, "
          r"but got tau\.ndim equal to 1 and input\.ndim is equal to 3", T(2, 3, 2), T(2)),
        E("batches", RuntimeError, _PRODUCT + r"Expected batch dimensions of tau to be equal to "
          r"input\.shape\[:-2\], but got \[3\]", T(2, 3, 2), T(3, 2)),
        E("half", NotImplementedError, "\"orgqr_cpu\" not implemented for 'Half'", T(3, 2), T(2),
          dtype=FLOAT16),
    ]  # fmt: skip


_ANY: Any = {"ulp": 64.0, "measure": "norm", "layouts": ("transposed", "strided"),
             "family": "linalg", "grad_ulp": 512.0}  # fmt: skip

OPS = [
    Op("linalg.lstsq", _lstsq,
       [
           S("tall", T(data=apart(4, 2)), T(4, 3)),
           S("wide", T(data=apart(2, 4)), T(2, 3)),
           S("square", T(data=apart(3, 3)), T(3, 1)),
           S("vector", T(data=apart(4, 2)), T(4)),
           S("vectors", T(data=apart(2, 4, 2)), T(2, 4)),
           S("batch", T(data=apart(2, 1, 4, 2)), T(1, 3, 4, 1)),
           S("low", T(data=low(4, 3), grad=False), T(4, 1, grad=False)),
           S("rcond", T(data=np.diag([3.0, 0.2, 0.01]), grad=False), T(3, 1), 0.03),
           *_driven("gels", "gelsd", "gelss"),
           S("gelsd-low", T(data=low(3, 3), grad=False), T(3, 1, grad=False), driver="gelsd"),
           S("gels-vector", T(data=apart(4, 2)), T(4), driver="gels"),
       ],
       PRECISE, result=("same", "real", INT64, "real"), gradient=False, **_ANY,
       errors=_lstsq_errors()),
    Op("linalg.lstsq-solution", lambda *args, **named: _lstsq(*args, **named)[0],
       [
           S("tall", T(data=apart(4, 2)), T(4, 3)),
           S("wide", T(data=apart(2, 4)), T(2, 3)),
           S("vectors", T(data=apart(2, 4, 2)), T(2, 4)),
           S("batch", T(data=apart(2, 1, 4, 2)), T(1, 3, 4, 1)),
           *_driven("gels", "gelsd"),
       ],
       PRECISE, call=lambda *args, **named: tensorbus.linalg.lstsq(*args, **named).solution,
       **_ANY),
    Op("linalg.lstsq-residuals", lambda *args, **named: _lstsq(*args, **named)[1],
       [s for s in _driven("gels", "gelsd") if "wide" not in s.variant],
       PRECISE, call=lambda *args, **named: tensorbus.linalg.lstsq(*args, **named).residuals,
       result="real", **_ANY),
    Op("geqrf", _geqrf,
       [
           S("one", T(data=tall(1, 1), grad=False)),
           S("tall", T(data=tall(4, 2), grad=False)),
           S("wide", T(data=tall(2, 4), grad=False)),
           S("batch", T(data=tall(2, 1, 3, 3), grad=False)),
           S("dependent", T(data=[[2.0, 1.0], [0.0, 0.0], [0.0, 0.0]], grad=False)),
           S("large", T(data=1e30 * tall(3, 2), grad=False)),
           S("no-rows", T(2, 0, 3, grad=False)),
       ],
       PRECISE, result=("same", "same"), gradient=False, **_ANY,
       errors=[
           E("vector", RuntimeError, r"torch\.geqrf: input must have at least 2 dimensions\.",
             T(3)),
           E("integers", NotImplementedError, "\"geqrf_cpu\" not implemented for 'Long'", T(2, 2),
             dtype=INT64),
       ]),
    Op("linalg.householder_product", _householder_product,
       [
           S("tall", *map(_operand, _packed(4, 2))),
           S("square", *map(_operand, _packed(3, 3))),
           S("fewer", T(4, 3), T(2)),
           S("batch", *map(_operand, _packed(2, 1, 4, 3))),
           S("none", T(3, 2), T(0)),
           S("no-columns", T(3, 0), T(0)),
           S("no-matrix", T(0, 3, 2), T(0, 2)),
       ],
       PRECISE, **_ANY, errors=_product_errors()),
    Op("orgqr", _householder_product, [S("tall", *map(_operand, _packed(4, 2)))], REAL, **_ANY,
       errors=_product_errors()[:1]),
    Op("ormqr", _ormqr,
       [
           S("left", *map(_operand, _packed(4, 2)), T(4, 3)),
           S("left-transpose", *map(_operand, _packed(4, 2)), T(4, 3), True, True),
           S("right", *map(_operand, _packed(3, 3)), T(2, 3), False),
           S("right-transpose", *map(_operand, _packed(3, 2)), T(2, 3), left=False, transpose=True),
           S("batch", *map(_operand, _packed(2, 4, 3)), T(2, 4, 2)),
           S("no-columns", *map(_operand, _packed(3, 2)), T(3, 0)),
       ],
       PRECISE, **_ANY,
       errors=[
           E("vector", RuntimeError, _OTHER + r"input must have at least 2 dimensions\.", T(3),
             T(2), T(3, 2)),
           E("other", RuntimeError, _OTHER + r"other must have at least 2 dimensions\.", T(3, 2),
             T(2), T(3)),
           E("rows", RuntimeError, _OTHER + r"other\.shape\[-2\] must be equal to input\.shape\[-2"
             r"\]", T(3, 2), T(2), T(4, 3)),
           E("tau", RuntimeError, _OTHER + r"tau\.shape\[-1\] must be equal to min\(other\.shape\["
             r"-2\], input\.shape\[-1\]\)", T(3, 2), T(3), T(3, 4)),
           E("ranks", RuntimeError, _OTHER + "Expected other to have the same number of dimensions "
             r"as input, but got other\.ndim equal to 2 and input\.ndim is equal to 3", T(2, 3, 2),
             T(2, 2), T(3, 4)),
           E("batches", RuntimeError, _OTHER + "Expected batch dimensions of other to be equal to "
             r"input\.shape\[:-2\], but got \[3\]", T(2, 3, 2), T(2, 2), T(3, 3, 4)),
       ]),
]  # fmt: skip
