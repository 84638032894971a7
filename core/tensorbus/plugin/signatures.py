"""How each primitive is called: the one table that documentation and conformance read."""

from __future__ import annotations

SIGNATURES: dict[str, str] = {
    **dict.fromkeys(
        "abs floor round sqrt exp expm1 log log1p sin cos tanh".split(), "(x, out=None)"
    ),
    **dict.fromkeys(
        "add sub mul div floor_divide fmod pow atan2 maximum minimum eq ne lt le bitwise_and "
        "bitwise_or bitwise_xor lshift rshift".split(),
        "(x, y, out=None)",
    ),
    "where": "(c, x, y, out=None)",
    **dict.fromkeys(["sum", "prod"], "(x, dims, dtype, out=None)"),
    **dict.fromkeys(["amax", "amin"], "(x, dims, out=None)"),
    **dict.fromkeys(["argmax", "argmin"], "(x, dim, out=None)"),
    **dict.fromkeys(["cumsum", "cumprod"], "(x, dim, dtype, out=None)"),
    **dict.fromkeys(["cummax", "cummin"], "(x, dim, out=None)"),
    "matmul": "(a, b, dtype, out=None)",
    "take": "(x, dim, i, wrap)",
    "gather": "(x, dim, i)",
    "put": "(out, dim, i, src, op, wrap)",
    "scatter": "(out, dim, i, src, op)",
    "argsort": "(x, dim)",
    "arange": "(n, start, step, dtype)",
    "random_bits": "(key, offset, n)",
}
"""Positional arguments of each primitive.

Arrays first, then parameters. ``dims`` is a sorted tuple of non-negative ints (never empty),
``dim`` a non-negative int. ``dtype`` is what ``Backend.dtype`` returned for the result's dtype.
``op`` is one of ``"set" "add" "mul" "amax" "amin"``. ``put`` and ``scatter`` write into ``out``
and return it. ``key`` is a pair of ints below 2**64, ``offset`` an int below 2**256 counted in
blocks of four words. ``x`` and ``y`` of a pointwise kernel may be Python scalars (made by
``Backend.scalar``) as long as one value operand is an array.
"""
