"""Matrices and signals that hypothesis makes for the array API's extensions, and new arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_cases import DTYPES, Family
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SIZES = st.integers(0, 3)


@st.composite
def matrices(draw: Any) -> dict[str, Any]:
    """Square matrices ``a``, others ``r``, positive definite ``p``, vectors ``b``, ``c``, ``x``."""
    dtype = draw(st.sampled_from((*DTYPES["f"], *DTYPES["z"])))
    batch = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=2))
    n, m = draw(SIZES), draw(SIZES)
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        made = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        return made.astype(dtype) if "c" in dtype else made.real.astype(dtype)

    a = normal(*batch, n, n)
    return {
        "a": a + 3 * np.eye(n, dtype=dtype), "r": normal(*batch, n, m), "b": normal(n),
        "c": normal(m), "x": normal(*batch, 3), "y": normal(3), "o": draw(st.integers(-2, 2)),
        "p": a @ a.conj().swapaxes(-1, -2) + 3 * np.eye(n, dtype=dtype), "q": draw(st.booleans()),
        "ord": draw(st.sampled_from((1, 2, 3, 0.5, -1, float("inf")))) if a.size else 2,
        "i": rng.integers(-4, 5, (2, n)).astype("int16"), "j": rng.integers(-4, 5, (n, 3)),
    }  # fmt: skip


MATRICES = Family(
    matrices(),
    (
        "xp.linalg.det(a)", "xp.linalg.inv(a)", "[xp.abs(e) for e in xp.linalg.slogdet(a)]",
        "xp.linalg.solve(a, r)", "xp.linalg.solve(a, b)", "xp.linalg.svdvals(r)",
        "[e.shape for e in xp.linalg.svd(r, full_matrices=q)]", "xp.linalg.svd(r).S",
        "xp.linalg.qr(r).Q @ xp.linalg.qr(r).R", "[e.shape for e in xp.linalg.qr(r)]",
        "xp.linalg.cholesky(p, upper=q)", "xp.linalg.eigvalsh(p)", "xp.linalg.eigh(p).eigenvalues",
        "xp.abs(xp.sum(xp.linalg.eigvals(a), axis=-1))", "xp.linalg.pinv(a)",
        "xp.linalg.matrix_rank(p)", "xp.linalg.matrix_norm(r)", "xp.linalg.matrix_power(a, 3)",
        "xp.linalg.matrix_norm(a, ord='nuc', keepdims=q)", "xp.linalg.matrix_norm(p, ord=1)",
        "xp.linalg.matrix_power(a, -2)", "xp.linalg.matrix_power(a, 0)", "xp.linalg.outer(b, c)",
        "xp.linalg.matrix_norm(p, ord=-2)", "xp.linalg.vector_norm(x, axis=-1, ord=ord)",
        "xp.linalg.vector_norm(a, ord=ord, keepdims=q)", "xp.linalg.diagonal(r, offset=o)",
        "xp.linalg.trace(r, offset=o)", "xp.linalg.cross(x, y)", "xp.linalg.cross(y, x)",
        "xp.matmul(a, r)", "xp.matmul(a, b)", "xp.matmul(b, a)", "xp.matmul(b, b)", "a @ r",
        "xp.matmul(i, j)", "i @ j", "xp.vecdot(x, y)", "xp.vecdot(y, x)", "xp.vecdot(x, x)",
        "xp.tensordot(a, r, axes=((-1,), (-2,)))", "xp.tensordot(b, c, axes=0)",
        "xp.tensordot(i, j, axes=1)", "xp.matrix_transpose(r)", "xp.linalg.trace(i)",
    ),
)  # fmt: skip


@st.composite
def signals(draw: Any) -> dict[str, Any]:
    """A complex signal ``z`` and a real one ``f``, with lengths, axes and ways to scale."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    wide = draw(st.booleans())
    made = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    axes = draw(st.permutations(range(len(shape))))[: draw(st.integers(1, len(shape)))]
    return {
        "z": made.astype("complex128" if wide else "complex64"), "axes": tuple(axes),
        "f": made.real.astype("float64" if wide else "float32"),
        "n": draw(st.none() | st.integers(1, 8)), "k": draw(st.integers(-len(shape), -1)),
        "s": draw(st.none() | st.tuples(*(st.integers(1, 6) for _ in axes))),
        "norm": draw(st.sampled_from(("backward", "ortho", "forward"))), "d": 0.5,
        "m": draw(st.integers(1, 8)),
    }  # fmt: skip


SIGNALS = Family(
    signals(),
    (
        *(f"xp.fft.{f}(z, n=n, axis=k, norm=norm)" for f in ("fft", "ifft", "irfft", "hfft")),
        *(f"xp.fft.{f}(f, n=n, axis=k, norm=norm)" for f in ("fft", "ifft", "rfft", "ihfft")),
        *(f"xp.fft.{f}(z, s=s, axes=axes, norm=norm)" for f in ("fftn", "ifftn", "irfftn")),
        "xp.fft.rfftn(f, s=s, axes=axes, norm=norm)", "xp.fft.fftn(z)", "xp.fft.irfftn(z)",
        "xp.fft.fftshift(f)", "xp.fft.fftshift(z, axes=axes)", "xp.fft.ifftshift(f, axes=axes)",
        "xp.fft.fftfreq(m)", "xp.fft.fftfreq(m, d=d, dtype=xp.float32)", "xp.fft.rfftfreq(m, d=d)",
    ),
)  # fmt: skip


@st.composite
def numbers(draw: Any) -> dict[str, Any]:
    """What new arrays are made of: integers ``i``, ``j``, ``k``, floats ``a``, ``b``, ``c``."""
    whole = st.integers(-9, 9)
    return {
        "i": draw(whole), "j": draw(whole), "k": draw(whole.filter(bool)), "n": draw(SIZES),
        "m": draw(SIZES), "a": draw(whole) / 4, "b": draw(whole) / 4, "q": draw(st.booleans()),
        "c": draw(whole.filter(bool)) / 4,
    }  # fmt: skip


MADE = Family(
    numbers(),
    (
        "xp.arange(i, j, k)", "xp.arange(a, b, c)", "xp.arange(i, j, c)", "xp.arange(j)",
        "xp.arange(i, j, k, dtype=xp.int8)", "xp.arange(i, j, k, dtype=xp.float32)",
        "xp.linspace(a, b, n, endpoint=q)", "xp.linspace(i, j, m + 2, dtype=xp.float32)",
        "xp.linspace(complex(a, b), c, n, endpoint=q)", "xp.eye(n, m, k=k)",
        "xp.eye(n, k=k, dtype=xp.int16)", "xp.full((n, m), a)", "xp.full((n, m), i)",
        "xp.full(n, q)", "xp.full((), complex(a, b), dtype=xp.complex64)", "xp.zeros((n, 2, m))",
        "xp.ones(n, dtype=xp.uint8)", "xp.empty((m, n)).shape", "xp.asarray([[a, b], [c, i]])",
        "xp.asarray([i, j, k])", "xp.asarray([i, q])", "xp.asarray(complex(a, b))",
        "xp.meshgrid(xp.arange(n), xp.arange(m), xp.arange(2))",
        "xp.meshgrid(xp.arange(n), xp.arange(m), xp.arange(2), indexing='ij')",
        "xp.tril(xp.ones((n, m)), k=k)", "xp.asarray(xp.ones(n), dtype=xp.float32, copy=q)",
        "xp.broadcast_shapes((n, 1), (m,))", "xp.broadcast_to(xp.asarray(a), (n, m))",
    ),
)  # fmt: skip

PAIRS = Family(
    st.just({}),
    tuple(
        f"{call.format(f'xp.{a}', f'xp.{b}')}{end}"
        for a in sum(DTYPES.values(), ())
        for b in sum(DTYPES.values(), ())
        for call, end in (
            ("str(xp.result_type({}, {}))", ".split('.')[-1]"), ("xp.can_cast({}, {})", ""),
        )
    )
    + tuple(
        f"xp.astype(xp.asarray([0, 1, 3], dtype=xp.{a}), xp.{b})"
        for a in sum(DTYPES.values(), ())
        for b in sum(DTYPES.values(), ())
        if a not in DTYPES["z"] or b in DTYPES["z"]
    ),
)  # fmt: skip
"""The table of promotion, and every conversion."""
