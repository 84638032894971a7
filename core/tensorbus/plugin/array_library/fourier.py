"""Fourier transforms, by those of the array module, in the dtype of the operand."""

from __future__ import annotations

import functools
import math
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT, Table
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()

_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(scale: float, n: int) -> str:
    """The module's word for a forward transform that is scaled so, as far as it has one."""
    if scale == 1.0:
        return "backward"
    if scale == 1.0 / n:
        return "forward"
    return "ortho" if scale == 1.0 / math.sqrt(n) else "backward"


def _finished(xp: Any, made: Array, scale: float, norm: str) -> Array:
    """The result in row-major memory, scaled where the module has not done it."""
    made = xp.ascontiguousarray(made)
    if norm == "backward" and scale != 1.0:
        parts = made.view(made.real.dtype)
        parts *= scale
    return made


def _whole(xp: Any, x: Array, dims: tuple[int, ...], inverse: bool, scale: float) -> Array:
    if len(dims) == 1:  # by functions that cost less
        dim = dims[0]
        norm = _norm(scale, x.shape[dim])
        if inverse:
            made = xp.fft.ifft(x, None, dim, _OTHER[norm])
        else:
            made = xp.fft.fft(x, None, dim, norm)
    else:
        norm = _norm(scale, math.prod([x.shape[d] for d in dims]))
        if inverse:
            made = xp.fft.ifftn(x, None, dims, _OTHER[norm])
        else:
            made = xp.fft.fftn(x, None, dims, norm)
    return _finished(xp, made, scale, norm)


@TABLE.row("fft_c2c", COMPLEX)
def _c2c(xp: Any, dtype: dtype) -> Kernel:
    return functools.partial(_whole, xp)


@TABLE.row("fft_real", FLOAT)
def _of_real(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def of_real(x: Array, dims: tuple[int, ...], inverse: bool, scale: float) -> Array:
        made = _whole(xp, x, dims, inverse, scale)
        # Modules compute half and mirror it. Elements that are their own mirror images may have
        # -0 for imaginary parts then, and angles of -pi in place of pi.
        own = [slice(None)] * x.ndim
        for d in dims:
            n = x.shape[d]
            own[d] = slice(None, None, n if n % 2 else n // 2)
        made.imag[tuple(own)] = -0.0 if inverse and len(dims) == 1 else 0.0
        return made

    return of_real


@TABLE.row("fft_real_half", FLOAT)
def _real_half(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def real_half(x: Array, dims: tuple[int, ...], inverse: bool, scale: float) -> Array:
        norm = _norm(scale, math.prod([x.shape[d] for d in dims]))
        if len(dims) == 1:
            made = xp.fft.rfft(x, None, dims[0], norm)
        else:
            made = xp.fft.rfftn(x, None, dims, norm)
        if inverse:
            xp.conjugate(made, made)
        return _finished(xp, made, scale, norm)

    return real_half


@TABLE.row("fft_r2c", FLOAT)
def _r2c(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def r2c(x: Array, dim: int, scale: float) -> Array:
        norm = _norm(scale, x.shape[dim])
        return _finished(xp, xp.fft.rfft(x, None, dim, norm), scale, norm)

    return r2c


@TABLE.row("fft_c2r", COMPLEX)
def _c2r(xp: Any, dtype: dtype) -> Kernel:
    def c2r(x: Array, dim: int, size: int, scale: float) -> Array:
        norm = _norm(scale, size)
        return _finished(xp, xp.fft.irfft(x, size, dim, _OTHER[norm]), scale, norm)

    return c2r


@TABLE.row("fft_c2r_forward", COMPLEX)
def _c2r_forward(xp: Any, dtype: dtype) -> Kernel:
    def c2r_forward(x: Array, dim: int, size: int, scale: float) -> Array:
        norm = _norm(scale, size)
        return _finished(xp, xp.fft.hfft(x, size, dim, norm), scale, norm)

    return c2r_forward
