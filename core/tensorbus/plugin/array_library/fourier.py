"""Fourier transforms, by those of the array module, in the dtype of the operand."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.table import COMPLEX, FLOAT, Table
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()

_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(scale: float, n: int) -> str:
    """The module's word for a forward transform that is scaled so, as far as it has one."""
    if scale == 1.0 / n and n > 1:
        return "forward"
    return "ortho" if scale == 1.0 / math.sqrt(n) and n > 1 else "backward"


def _finished(xp: Any, made: Array, scale: float, norm: str) -> Array:
    """The result in row-major memory, scaled where the module has not done it."""
    made = xp.ascontiguousarray(made)
    if norm == "backward" and scale != 1.0:
        parts = made.view(made.real.dtype)
        parts *= scale
    return made


@TABLE.row("fft_c2c", COMPLEX)
def _c2c(xp: Any, dtype: dtype) -> Kernel:
    def c2c(x: Array, dims: tuple[int, ...], inverse: bool, scale: float) -> Array:
        norm = _norm(scale, math.prod(x.shape[d] for d in dims))
        if inverse:
            made = xp.fft.ifftn(x, axes=dims, norm=_OTHER[norm])
        else:
            made = xp.fft.fftn(x, axes=dims, norm=norm)
        return _finished(xp, made, scale, norm)

    return c2c


@TABLE.row("fft_r2c", FLOAT)
def _r2c(xp: Any, dtype: dtype) -> Kernel | None:
    if dtype.name == "float16":
        return None

    def r2c(x: Array, dim: int, scale: float) -> Array:
        norm = _norm(scale, x.shape[dim])
        return _finished(xp, xp.fft.rfft(x, axis=dim, norm=norm), scale, norm)

    return r2c


@TABLE.row("fft_c2r", COMPLEX)
def _c2r(xp: Any, dtype: dtype) -> Kernel:
    def c2r(x: Array, dim: int, size: int, scale: float) -> Array:
        norm = _norm(scale, size)
        return _finished(xp, xp.fft.irfft(x, size, dim, norm=_OTHER[norm]), scale, norm)

    return c2r
