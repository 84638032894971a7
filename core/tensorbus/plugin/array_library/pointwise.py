"""The 31 pointwise primitives: the module's own universal functions wherever they do right."""

from __future__ import annotations

from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus.plugin.array_library.table import (
    ALL,
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    NUMBERS,
    ORDERED,
    REAL,
    Table,
    into,
)
from tensorbus.plugin.backend import Array, Kernel

TABLE = Table()

# Sums and products of bools are "or" and "and", in the module as in PyTorch.
TABLE.names(ALL, add="add", mul="multiply", eq="equal", ne="not_equal")
TABLE.names(NUMBERS, sub="subtract", abs="absolute")
TABLE.names(
    (FLOAT, COMPLEX),
    div="true_divide",
    sqrt="sqrt",
    exp="exp",
    expm1="expm1",
    log="log",
    log1p="log1p",
    sin="sin",
    cos="cos",
    tanh="tanh",
)
TABLE.names((FLOAT,), floor="floor", round="rint", atan2="arctan2")
TABLE.names(REAL, floor_divide="floor_divide", fmod="fmod")
TABLE.names(ORDERED, maximum="maximum", minimum="minimum", lt="less", le="less_equal")
TABLE.names(
    (BOOL, INTEGER),
    bitwise_and="bitwise_and",
    bitwise_or="bitwise_or",
    bitwise_xor="bitwise_xor",
)
TABLE.names((INTEGER,), lshift="left_shift", rshift="right_shift")


@TABLE.row("pow", *NUMBERS)
def _pow(xp: Any, dtype: dtype) -> Kernel:
    if dtype.name == "uint8" or dtype.is_floating_point or dtype.is_complex:
        return xp.power

    def integer_power(x: Array, y: Array, out: Array | None = None) -> Array:
        # The module refuses negative exponents, some after having written a part of the result.
        if not (y < 0).any():
            # Not every module has ``out=``: it is named where there is one.
            return xp.power(x, y) if out is None else xp.power(x, y, out=out)
        whole = xp.power(x, xp.maximum(y, 0))
        # 1 / x rounded towards zero: only 1 and -1 have a reciprocal that is not 0.
        sign = xp.where((y & 1) == 0, xp.abs(x), x)
        inverse = xp.where(xp.abs(x) == 1, sign, xp.zeros_like(x))
        return into(out, xp.where(y < 0, inverse, whole))

    return integer_power


@TABLE.row("where", *ALL)
def _where(xp: Any, dtype: dtype) -> Kernel:
    def where(c: Array, x: Array, y: Array, out: Array | None = None) -> Array:
        return into(out, xp.where(c, x, y))

    return where
