"""Groups of kernels that a backend may bring, as a whole or in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Results = tuple[tuple[tuple[int, ...], str], ...]
"""Of each result of a kernel its shape and its dtype: ``same`` as the operand's, ``real`` or
``complex`` of the same width, or ``int32``."""

KERNEL_GROUPS: dict[str, dict[str, str]] = {
    "linalg": {
        "linalg_cholesky": "(a)",
        "linalg_lu": "(a)",
        "linalg_solve": "(a, b)",
        "linalg_inv": "(a)",
        "linalg_det": "(a)",
        "linalg_slogdet": "(a)",
        "linalg_solve_triangular": "(a, b, upper, unit)",
        "linalg_qr": "(a, complete)",
        "linalg_geqrf": "(a)",
        "linalg_lstsq": "(a, b, rcond)",
        "linalg_ldl": "(a, hermitian)",
        "linalg_ldl_solve": "(ld, pivots, b, hermitian)",
        "linalg_eigh": "(a)",
        "linalg_eigvalsh": "(a)",
        "linalg_svd": "(a, complete)",
        "linalg_svdvals": "(a)",
        "linalg_eig": "(a)",
        "linalg_eigvals": "(a)",
    },
    "fft": {
        "fft_c2c": "(x, dims, inverse, scale)",
        "fft_r2c": "(x, dim, scale)",
        "fft_real": "(x, dims, inverse, scale)",
        "fft_real_half": "(x, dims, inverse, scale)",
        "fft_c2r": "(x, dim, size, scale)",
        "fft_c2r_forward": "(x, dim, size, scale)",
    },
}
"""The kernels of each group with their positional arguments; ``docs/contract.md`` has each rule.

They are asked for through ``Backend.kernel`` like every other op, and None means that the op is
composed of primitives or runs on the CPU.
"""


def _factored(a: Any) -> Results:
    return (tuple(a.shape), "same"), (tuple(a.shape[:-2]), "int32")


def _lu(a: Any) -> Results:
    *batch, m, n = a.shape
    return (tuple(a.shape), "same"), ((*batch, min(m, n)), "int32"), (tuple(batch), "int32")


def _solved(a: Any, b: Any, upper: bool, unit: bool) -> Results:
    return ((tuple(b.shape), "same"),)


def _qr(a: Any, complete: bool) -> Results:
    *batch, m, n = a.shape
    inner = m if complete else min(m, n)
    return ((*batch, m, inner), "same"), ((*batch, inner, n), "same")


def _geqrf(a: Any) -> Results:
    *batch, m, n = a.shape
    return (tuple(a.shape), "same"), ((*batch, min(m, n)), "same")


def _lstsq(a: Any, b: Any, rcond: float) -> Results:
    *batch, m, n = a.shape
    return (
        ((*batch, n, b.shape[-1]), "same"),
        ((*batch, min(m, n)), "real"),
        (tuple(batch), "int32"),
        (tuple(batch), "int32"),
    )


def _ldl(a: Any, hermitian: bool) -> Results:
    batch = tuple(a.shape[:-1])
    return (tuple(a.shape), "same"), (batch, "int32"), (batch[:-1], "int32")


def _eigh(a: Any) -> Results:
    batch = tuple(a.shape[:-1])
    return (batch, "real"), (tuple(a.shape), "same"), (batch[:-1], "int32")


def _svd(a: Any, complete: bool) -> Results:
    *batch, m, n = a.shape
    least = min(m, n)
    left, right = (m, n) if complete else (least, least)
    return (
        ((*batch, m, left), "same"),
        ((*batch, least), "real"),
        ((*batch, right, n), "same"),
        (tuple(batch), "int32"),
    )


def _eig(a: Any) -> Results:
    batch = tuple(a.shape[:-1])
    return (batch, "complex"), (tuple(a.shape), "complex"), (batch[:-1], "int32")


def _resized(x: Any, dim: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:dim], n, *x.shape[dim + 1 :])


def _real_half(x: Any, dims: tuple[int, ...], inverse: bool, scale: float) -> Results:
    return ((_resized(x, dims[-1], x.shape[dims[-1]] // 2 + 1), "complex"),)


def _c2r(x: Any, dim: int, size: int, scale: float) -> Results:
    return ((_resized(x, dim, size), "real"),)


GROUP_RESULTS: dict[str, Callable[..., Results]] = {
    "linalg_cholesky": _factored,
    "linalg_lu": _lu,
    "linalg_solve": lambda a, b: ((tuple(b.shape), "same"), (tuple(a.shape[:-2]), "int32")),
    "linalg_inv": _factored,
    "linalg_det": lambda a: ((tuple(a.shape[:-2]), "same"),),
    "linalg_slogdet": lambda a: ((tuple(a.shape[:-2]), "same"),) * 2,
    "linalg_solve_triangular": _solved,
    "linalg_qr": _qr,
    "linalg_geqrf": _geqrf,
    "linalg_lstsq": _lstsq,
    "linalg_ldl": _ldl,
    "linalg_ldl_solve": lambda ld, pivots, b, hermitian: ((tuple(b.shape), "same"),),
    "linalg_eigh": _eigh,
    "linalg_eigvalsh": lambda a: _eigh(a)[::2],
    "linalg_svd": _svd,
    "linalg_svdvals": lambda a: _svd(a, False)[1::2],
    "linalg_eig": _eig,
    "linalg_eigvals": lambda a: _eig(a)[::2],
    "fft_c2c": lambda x, dims, inverse, scale: ((tuple(x.shape), "same"),),
    "fft_r2c": lambda x, dim, scale: _real_half(x, (dim,), False, scale),
    "fft_real": lambda x, dims, inverse, scale: ((tuple(x.shape), "complex"),),
    "fft_real_half": _real_half,
    "fft_c2r": _c2r,
    "fft_c2r_forward": _c2r,
}
"""The results of each kernel, from what it is called with."""
