"""Linear algebra and Fourier transforms: what is measured beside NumPy's and SciPy's own calls.

A case says the call three times: on tensors (ours and PyTorch's), with NumPy, with SciPy. Where
both have a call for the same job, the quicker one is what counts. SciPy's calls are those without
the search for elements that are not finite, which ours make as well, where they let it be left
out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Call = Callable[..., Any]
SIZE, BATCH, SMALL = 256, 64, 16
ELEMENTS = 1_000_000
POWER_OF_2 = 1 << 20


@dataclass(frozen=True)
class LibraryCase:
    """One function: the operands, and the call of each library."""

    name: str
    operands: Callable[[np.dtype], tuple[np.ndarray, ...]]
    tensors: Call
    """``tensors(torch, *operands)``."""
    numpy: Call | None = None
    """``numpy(np, *operands)``."""
    scipy: Call | None = None
    """``scipy(scipy, *operands)``; None where SciPy has no such function, or copies NumPy's."""
    dtypes: tuple[str, ...] = field(default=("float32", "float64"))
    limit: float | None = 1.3
    backward: bool = False


def matrices(kind: str, batch: bool = False) -> Callable[[np.dtype], tuple[np.ndarray, ...]]:
    """Operands: one matrix of 256 x 256, or 64 of 16 x 16, and a right-hand side of that shape."""

    def make(dtype: np.dtype) -> tuple[np.ndarray, ...]:
        shape = (BATCH, SMALL, SMALL) if batch else (SIZE, SIZE)
        draw = np.random.default_rng(0).standard_normal
        n = shape[-1]
        a, b = draw(shape), draw(shape)
        if kind == "positive":
            a = a @ a.swapaxes(-1, -2) / n + np.eye(n)
        elif kind == "symmetric":
            a = a + a.swapaxes(-1, -2)
        elif kind == "triangular":
            a = np.tril(a) / n + 2 * np.eye(n)
        elif kind == "small":
            a = a / n
        return a.astype(dtype), b.astype(dtype)

    return make


def _linalg(name: str, kind: str, tensors: Call, numpy: Call | None, scipy: Call | None) -> None:
    for batch in (False, True):
        suffix = f", {BATCH} of {SMALL} x {SMALL}" if batch else f", {SIZE} x {SIZE}"
        LINALG.append(LibraryCase(name + suffix, matrices(kind, batch), tensors, numpy, scipy))


def _each(call: Call, *arrays: np.ndarray) -> list[Any]:
    """The calls of a function that takes one matrix."""
    flat = [a.reshape(-1, *a.shape[-2:]) for a in arrays]
    return [call(*one) for one in zip(*flat, strict=True)]


def _sytrf(sp: Any, a: np.ndarray) -> Any:
    routine = sp.linalg.get_lapack_funcs("sytrf", (a,))
    return _each(lambda one: routine(one, lower=1, lwork=64 * len(one)), a)


def _sytrs(sp: Any, packed: np.ndarray, pivots: np.ndarray, b: np.ndarray) -> Any:
    routine = sp.linalg.get_lapack_funcs("sytrs", (packed,))
    return routine(packed, pivots, b, lower=1)


LINALG: list[LibraryCase] = []
# fmt: off
_linalg("cholesky", "positive", lambda t, a, b: t.linalg.cholesky(a),
        lambda np, a, b: np.linalg.cholesky(a),
        lambda sp, a, b: sp.linalg.cholesky(a, lower=True, check_finite=False))
_linalg("qr", "any", lambda t, a, b: t.linalg.qr(a),
        lambda np, a, b: np.linalg.qr(a),
        lambda sp, a, b: sp.linalg.qr(a, mode="economic", check_finite=False))
_linalg("svd", "any", lambda t, a, b: t.linalg.svd(a),
        lambda np, a, b: np.linalg.svd(a),
        lambda sp, a, b: sp.linalg.svd(a, check_finite=False))
_linalg("svdvals", "any", lambda t, a, b: t.linalg.svdvals(a),
        lambda np, a, b: np.linalg.svd(a, compute_uv=False),
        lambda sp, a, b: sp.linalg.svdvals(a, check_finite=False))
_linalg("eig", "any", lambda t, a, b: t.linalg.eig(a),
        lambda np, a, b: np.linalg.eig(a),
        lambda sp, a, b: sp.linalg.eig(a, check_finite=False))
_linalg("eigvals", "any", lambda t, a, b: t.linalg.eigvals(a),
        lambda np, a, b: np.linalg.eigvals(a),
        lambda sp, a, b: sp.linalg.eigvals(a, check_finite=False))
_linalg("eigh", "symmetric", lambda t, a, b: t.linalg.eigh(a),
        lambda np, a, b: np.linalg.eigh(a),
        lambda sp, a, b: sp.linalg.eigh(a, driver="evd", check_finite=False))
_linalg("eigvalsh", "symmetric", lambda t, a, b: t.linalg.eigvalsh(a),
        lambda np, a, b: np.linalg.eigvalsh(a),
        lambda sp, a, b: sp.linalg.eigvalsh(a, driver="evd", check_finite=False))
_linalg("inv", "any", lambda t, a, b: t.linalg.inv(a),
        lambda np, a, b: np.linalg.inv(a),
        lambda sp, a, b: sp.linalg.inv(a, check_finite=False, assume_a="gen"))
_linalg("solve", "any", lambda t, a, b: t.linalg.solve(a, b),
        lambda np, a, b: np.linalg.solve(a, b),
        lambda sp, a, b: sp.linalg.solve(a, b, check_finite=False, assume_a="gen"))
_linalg("solve_triangular", "triangular",
        lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False), None,
        lambda sp, a, b: sp.linalg.solve_triangular(a, b, lower=True, check_finite=False))
_linalg("lstsq", "any", lambda t, a, b: t.linalg.lstsq(a, b, driver="gelsd"), None,
        lambda sp, a, b: _each(lambda x, y: sp.linalg.lstsq(x, y, check_finite=False), a, b))
_linalg("lu", "any", lambda t, a, b: t.linalg.lu(a), None,
        lambda sp, a, b: sp.linalg.lu(a, check_finite=False))
_linalg("lu_factor", "any", lambda t, a, b: t.linalg.lu_factor(a), None,
        lambda sp, a, b: sp.linalg.lu_factor(a, check_finite=False))
_linalg("ldl_factor", "symmetric", lambda t, a, b: t.linalg.ldl_factor(a), None,
        lambda sp, a, b: _sytrf(sp, a))
_linalg("det", "any", lambda t, a, b: t.linalg.det(a),
        lambda np, a, b: np.linalg.det(a),
        lambda sp, a, b: sp.linalg.det(a, check_finite=False))
_linalg("slogdet", "any", lambda t, a, b: t.linalg.slogdet(a),
        lambda np, a, b: np.linalg.slogdet(a), None)
_linalg("pinv", "any", lambda t, a, b: t.linalg.pinv(a),
        lambda np, a, b: np.linalg.pinv(a),
        lambda sp, a, b: sp.linalg.pinv(a, check_finite=False))
_linalg("matrix_rank", "any", lambda t, a, b: t.linalg.matrix_rank(a),
        lambda np, a, b: np.linalg.matrix_rank(a), None)
_linalg("matrix_exp", "small", lambda t, a, b: t.linalg.matrix_exp(a), None,
        lambda sp, a, b: sp.linalg.expm(a))
_linalg("matrix_power 7", "small", lambda t, a, b: t.linalg.matrix_power(a, 7),
        lambda np, a, b: np.linalg.matrix_power(a, 7), None)
_linalg("matrix_norm nuc", "any", lambda t, a, b: t.linalg.matrix_norm(a, "nuc"),
        lambda np, a, b: np.linalg.norm(a, "nuc", (-2, -1)), None)
_linalg("matrix_norm 2", "any", lambda t, a, b: t.linalg.matrix_norm(a, 2),
        lambda np, a, b: np.linalg.norm(a, 2, (-2, -1)), None)
_linalg("matrix_norm fro", "any", lambda t, a, b: t.linalg.matrix_norm(a),
        lambda np, a, b: np.linalg.norm(a, "fro", (-2, -1)), None)
_linalg("matrix_norm 1", "any", lambda t, a, b: t.linalg.matrix_norm(a, 1),
        lambda np, a, b: np.linalg.norm(a, 1, (-2, -1)), None)
_linalg("vector_norm", "any", lambda t, a, b: t.linalg.vector_norm(a, dim=-1),
        lambda np, a, b: np.linalg.norm(a, axis=-1), None)
_linalg("cond", "any", lambda t, a, b: t.linalg.cond(a),
        lambda np, a, b: np.linalg.cond(a), None)
_linalg("cond 1", "any", lambda t, a, b: t.linalg.cond(a, 1),
        lambda np, a, b: np.linalg.cond(a, 1), None)
# fmt: on


def _lu_solve(dtype: np.dtype) -> tuple[np.ndarray, ...]:
    from scipy.linalg import lu_factor

    a, b = matrices("any")(dtype)
    factors, pivots = lu_factor(a)
    return np.ascontiguousarray(factors), pivots.astype(np.int32), b


def _ldl_solve(dtype: np.dtype) -> tuple[np.ndarray, ...]:
    from scipy.linalg import get_lapack_funcs

    a, b = matrices("symmetric")(dtype)
    packed, pivots, _ = get_lapack_funcs("sytrf", (a,))(a, lower=1)
    return np.ascontiguousarray(packed), pivots.astype(np.int32), b


# fmt: off
LINALG += [
    LibraryCase("vector_norm, 1,000,000 elements",
                lambda dtype: signal(ELEMENTS)(dtype),
                lambda t, x: t.linalg.vector_norm(x),
                lambda np, x: np.linalg.norm(x),
                lambda sp, x: sp.linalg.norm(x, check_finite=False)),
    LibraryCase("lu_solve, 256 x 256", _lu_solve,
                lambda t, f, p, b: t.linalg.lu_solve(f, p + 1, b), None,
                lambda sp, f, p, b: sp.linalg.lu_solve((f, p), b, check_finite=False)),
    LibraryCase("ldl_solve, 256 x 256", _ldl_solve,
                lambda t, f, p, b: t.linalg.ldl_solve(f, p, b), None,
                lambda sp, f, p, b: _sytrs(sp, f, p, b)),
]
# fmt: on


# -- with their backward passes, beside PyTorch alone ------------------------------------------
def _both_ways(name: str, kind: str, call: Callable[[Any, Any, Any], Any]) -> LibraryCase:
    def run(t: Any, a: Any, b: Any) -> Any:
        a.grad = None
        call(t, a, b).sum().backward()
        return a.grad

    title = f"{name}, forward and backward, 256 x 256"
    return LibraryCase(title, matrices(kind), run, limit=None, backward=True)


# fmt: off
BACKWARD = [
    _both_ways("solve", "any", lambda t, a, b: t.linalg.solve(a, b)),
    _both_ways("inv", "any", lambda t, a, b: t.linalg.inv(a)),
    _both_ways("det", "small", lambda t, a, b: t.linalg.slogdet(a)[1]),
    _both_ways("cholesky", "positive", lambda t, a, b: t.linalg.cholesky(a)),
    _both_ways("qr", "any", lambda t, a, b: t.linalg.qr(a)[1]),
    _both_ways("eigh", "symmetric", lambda t, a, b: t.linalg.eigh(a)[1].abs()),
    _both_ways("svd", "any", lambda t, a, b: t.linalg.svd(a)[0].abs()),
]
# fmt: on


# -- Fourier transforms ------------------------------------------------------------------------
def signal(*shape: int, complex: bool = False) -> Callable[[np.dtype], tuple[np.ndarray, ...]]:
    """One array of normal numbers."""

    def make(dtype: np.dtype) -> tuple[np.ndarray, ...]:
        draw = np.random.default_rng(0).standard_normal
        if not complex:
            return (draw(shape).astype(dtype),)
        wide = np.complex64 if dtype == np.float32 else np.complex128
        return ((draw(shape) + 1j * draw(shape)).astype(wide),)

    return make


def _fft(name: str, *shape: int, complex: bool = False, title: str = "") -> LibraryCase:
    def call(library: Any, x: Any) -> Any:
        return getattr(library.fft, name)(x)

    sizes = " x ".join(f"{n:,}" for n in shape)
    return LibraryCase(
        f"{title or name}, {sizes}", signal(*shape, complex=complex), call, call, call
    )


FFT = [
    *(
        case
        for n in (ELEMENTS, POWER_OF_2)
        for case in (
            _fft("fft", n, complex=True),
            _fft("fft", n, title="fft of real numbers"),
            _fft("ifft", n, complex=True),
            _fft("rfft", n),
            _fft("irfft", n // 2 + 1, complex=True),
            _fft("hfft", n // 2 + 1, complex=True),
        )
    ),
    _fft("fft", 1000, 1000, complex=True),
    _fft("rfft", 1000, 1000),
    *(
        case
        for side in (1000, 1024)
        for case in (
            _fft("fft2", side, side, complex=True),
            _fft("ifft2", side, side, complex=True),
            _fft("rfft2", side, side),
            _fft("irfft2", side, side // 2 + 1, complex=True),
        )
    ),
    _fft("fftn", 100, 100, 100, complex=True),
    _fft("ifftn", 100, 100, 100, complex=True),
    _fft("rfftn", 100, 100, 100),
    _fft("irfftn", 100, 100, 51, complex=True),
    _fft("fft", 256, complex=True),
]
