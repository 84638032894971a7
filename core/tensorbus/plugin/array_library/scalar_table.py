"""Ops that are no primitives but that every array module has a function for."""

from __future__ import annotations

from tensorbus.plugin.array_library.table import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    NUMBERS,
    ORDERED,
    Table,
)

TABLE = Table()

TABLE.names(
    (FLOAT,),
    ceil="ceil",
    trunc="trunc",
    exp2="exp2",
    copysign="copysign",
    hypot="hypot",
)
TABLE.names(
    (FLOAT, COMPLEX),
    log2="log2",
    log10="log10",
    tan="tan",
    asin="arcsin",
    acos="arccos",
    atan="arctan",
    sinh="sinh",
    cosh="cosh",
    asinh="arcsinh",
    acosh="arccosh",
    atanh="arctanh",
)
TABLE.names((FLOAT,), reciprocal="reciprocal")  # NumPy's of a complex 0 is NaN, but 1 / 0 is not
TABLE.names(NUMBERS, neg="negative", square="square")
TABLE.names((FLOAT, COMPLEX), isnan="isnan", isinf="isinf", isfinite="isfinite")
TABLE.names(ORDERED, logical_not="logical_not")
TABLE.names((BOOL, INTEGER), bitwise_not="invert")
TABLE.names(ORDERED, gt="greater", ge="greater_equal")
