"""Level 4: sparse tensors, whose indices and values are dense ones of the device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import same
from tensorbus_conformance.trial import Trial

FAMILY = "sparse"
_F32, _I64 = formats.FLOAT32, formats.INT64
_DENSE = np.array(
    [[0, 3, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 5, 0], [0, 0, 7, 0, 0, 4]], np.float32
)
_OTHER = np.arange(12, dtype=np.float32).reshape(6, 2) - 4
_COORDINATES = np.array([[1, 0, 1, 1], [2, 0, 0, 2]])
_VALUES = np.array([3, 4, 5, 6], np.float32)


def cases() -> Iterator[Case]:
    checks: dict[str, Callable[[Bench], None]] = {
        "coordinates": _coordinates,
        "resized": _resized,
        "layouts": _layouts,
        "products": _products,
        "gradients": _gradients,
        "masked": _masked,
        "of-dense": _of_dense,
    }
    for variant, check in checks.items():
        yield Case(
            f"L4/sparse/float32/{variant}", FAMILY, functools.partial(_run, check), (_F32, _I64)
        )


def _run(check: Callable[[Bench], None], t: Trial) -> None:
    check(Bench(t))


def _made(bench: Bench, values: Any = None) -> Any:
    values = bench.send(_VALUES, _F32) if values is None else values
    return tensorbus.sparse_coo_tensor(bench.send(_COORDINATES, _I64), values, (2, 3))


def _coordinates(bench: Bench) -> None:
    x = _made(bench)
    same("layout", x.layout, tensorbus.sparse_coo)
    same("device", x.device.type, tensorbus.device(bench.device).type)
    same("number of elements", (x._nnz(), x.is_coalesced()), (4, False))
    bench.same(x._indices(), _COORDINATES, _I64)
    bench.same(x._values(), _VALUES, _F32)
    bench.same(x.to_dense(), np.array([[4, 0, 0], [5, 0, 9]], np.float32), _F32)
    joined = x.coalesce()
    same("coalesced", joined.is_coalesced(), True)
    bench.same(joined.indices(), np.array([[0, 1, 1], [0, 0, 2]]), _I64)
    bench.same(joined.values(), np.array([4, 5, 9], np.float32), _F32)
    joined._coalesced_(False)
    same("as it was told", joined.is_coalesced(), False)


def _resized(bench: Bench) -> None:
    x = _made(bench).coalesce()
    x.sparse_resize_((3, 4), 2, 0)
    wide = np.zeros((3, 4), np.float32)
    wide[:2, :3] = [[4, 0, 0], [5, 0, 9]]
    bench.same(x.to_dense(), wide, _F32)
    x.sparse_resize_and_clear_((2, 5), 2, 0)
    same("cleared", (x._nnz(), tuple(x.shape)), (0, (2, 5)))


def _layouts(bench: Bench) -> None:
    dense = bench.send(_DENSE, _F32)
    rows, columns = np.nonzero(_DENSE)
    ends = np.concatenate([[0], np.cumsum((_DENSE != 0).sum(1))])
    for x in (dense.to_sparse(), dense.to_sparse_coo()):
        bench.same(x.indices(), np.stack([rows, columns]), _I64)
        bench.same(x.values(), _DENSE[rows, columns], _F32)
    x = dense.to_sparse_csr()
    bench.same(x.crow_indices(), ends, _I64)
    bench.same(x.col_indices(), columns, _I64)
    bench.same(x.values(), _DENSE[rows, columns], _F32)
    x = dense.to_sparse_csc()
    bench.same(x.ccol_indices(), np.concatenate([[0], np.cumsum((_DENSE != 0).sum(0))]), _I64)
    bench.same(x.row_indices(), np.nonzero(_DENSE.T)[1], _I64)
    for made in (x, dense.to_sparse_bsr((2, 3)), dense.to_sparse_bsc((2, 2))):
        bench.same(made.to_dense(), _DENSE, _F32)


def _products(bench: Bench) -> None:
    x, other = bench.send(_DENSE, _F32).to_sparse(), bench.send(_OTHER, _F32)
    want = _DENSE @ _OTHER
    bench.same(tensorbus.sparse.mm(x, other), want, _F32)
    bench.same(x @ other, want, _F32)
    bench.same(x.smm(other).to_dense(), want, _F32)
    start = bench.send(np.ones_like(want), _F32)
    bench.same(tensorbus.sparse.addmm(start, x, other, beta=2), want + 2, _F32)
    bench.same(start.to_sparse().sspaddmm(x, other).to_dense(), want + 1, _F32)
    bench.same((x + x).to_dense(), 2 * _DENSE, _F32)
    bench.same(tensorbus.sparse.sum(x, 0).to_dense(), _DENSE.sum(0), _F32)


def _gradients(bench: Bench) -> None:
    values = bench.send(_VALUES, _F32).requires_grad_()
    other = bench.send(_OTHER[:3], _F32).requires_grad_()
    weight = np.array([[1, -2], [3, 5]], np.float32)
    product = tensorbus.sparse.mm(_made(bench, values), other)
    (product * bench.send(weight, _F32)).sum().backward()
    rows, columns = _COORDINATES
    want = (weight[rows] * _OTHER[columns]).sum(1)
    bench.same(values.grad, want, _F32)
    dense = np.array([[4, 0, 0], [5, 0, 9]], np.float32)
    bench.same(other.grad, dense.T @ weight, _F32)


def _masked(bench: Bench) -> None:
    mask = _made(bench).coalesce()
    full = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    kept = bench.send(full, _F32).sparse_mask(mask)
    bench.same(kept.values(), np.array([1, 4, 6], np.float32), _F32)


def _of_dense(bench: Bench) -> None:
    """Methods of sparse tensors are errors for dense ones."""
    x = bench.send(_DENSE, _F32)
    for name in (
        "indices", "values", "coalesce", "is_coalesced", "crow_indices", "col_indices",
        "ccol_indices", "row_indices", "_indices", "_values", "_nnz",
    ):  # fmt: skip
        expect_raises(getattr(x, name), RuntimeError)
    other = bench.send(_OTHER, _F32)
    for call in (
        functools.partial(x.sparse_resize_, (2, 2), 2, 0),
        functools.partial(x.sparse_resize_and_clear_, (2, 2), 2, 0),
        functools.partial(x._coalesced_, True),
        functools.partial(x.sparse_mask, x),
        functools.partial(x.smm, other),
        functools.partial(x.sspaddmm, x, other),
    ):
        expect_raises(call, RuntimeError)
