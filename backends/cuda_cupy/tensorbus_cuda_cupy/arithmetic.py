"""Pointwise kernels that CuPy lacks or leaves to the hardware at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype
from tensorbus.plugin.array_library import Table, into
from tensorbus.plugin.array_library.table import ALL, FLOAT, INTEGER, ORDERED

TABLE = Table()


@TABLE.row("floor_divide", FLOAT)
def _floor_divide(xp: Any, dtype: dtype) -> Kernel:
    def floor_divide(x: Array, y: Array, out: Array | None = None) -> Array:
        # The quotient of what is left after an exact remainder, corrected by at most one.
        rest = xp.fmod(x, y)
        quotient = (x - rest) / y
        one = quotient.dtype.type(1)
        quotient = quotient - xp.where((rest != 0) & ((rest < 0) != (y < 0)), one, one * 0)
        whole = xp.floor(quotient)
        whole = whole + xp.where(quotient - whole > one / 2, one, one * 0)
        return into(out, xp.where(y == 0, x / y, whole))

    return floor_divide


@TABLE.row("pow", INTEGER)
def _pow(xp: Any, dtype: dtype) -> Kernel | None:
    if not dtype.is_signed:
        return None

    def integer_power(x: Array, y: Array, out: Array | None = None) -> Array:
        zero = np.dtype(dtype.name).type(0)
        whole = xp.power(x, xp.maximum(y, zero))
        # 1 / x rounded towards zero: only 1 and -1 have a reciprocal that is not 0.
        sign = xp.where((y & 1) == 0, abs(x), x)
        inverse = xp.where(abs(x) == 1, sign, zero)
        return into(out, xp.where(y < 0, inverse, whole))

    return integer_power


@TABLE.row("lshift", INTEGER)
def _lshift(xp: Any, dtype: dtype) -> Kernel:
    bits = dtype.bits
    zero = np.dtype(dtype.name).type(0)

    def lshift(x: Array, y: Array, out: Array | None = None) -> Array:
        beyond = (y < 0) | (y >= bits)
        return into(out, xp.where(beyond, zero, xp.left_shift(x, xp.where(beyond, zero, y))))

    return lshift


@TABLE.row("rshift", INTEGER)
def _rshift(xp: Any, dtype: dtype) -> Kernel:
    bits = dtype.bits
    kind = np.dtype(dtype.name).type
    zero, last = kind(0), kind(bits - 1)

    def rshift(x: Array, y: Array, out: Array | None = None) -> Array:
        beyond = (y < 0) | (y >= bits)
        shifted = xp.right_shift(x, xp.where(beyond, last, y))
        # A signed number shifted to its sign bit is 0 or -1 already.
        return into(out, shifted if dtype.is_signed else xp.where(beyond, zero, shifted))

    return rshift


@TABLE.row("argsort", *ORDERED)
def _argsort(xp: Any, dtype: dtype) -> Kernel:
    def argsort(x: Array, dim: int) -> Array:
        if x.ndim == 0:
            return xp.zeros((), np.int64)
        # Adding 0 makes -0 into +0, for sorts that look at the bits.
        keys = x + x.dtype.type(0) if dtype.is_floating_point else x
        return xp.argsort(keys, axis=dim, kind="stable").astype(np.int64, copy=False)

    return argsort


@TABLE.row("expand", *ALL)
def _expand(xp: Any, dtype: dtype) -> Kernel:
    return xp.broadcast_to
