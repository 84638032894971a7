"""The pointwise primitives, and unary ops offered besides, as C expressions of x and y."""

from __future__ import annotations

import re

from tensorbus._base.dtypes import FLOAT, INTEGER, dtype
from tensorbus.plugin.kernel_language.types import compute_type, unsigned
from tensorbus.plugin.kernel_language.vector_maths import POLYNOMIALS

_FLOAT = {
    "abs": "fabs(x)",
    "round": "rint(x)",
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y",
    "floor_divide": "floor_divide_{T}(x, y)",
    "maximum": "(x > y || x != x) ? x : y",
    "minimum": "(x < y || x != x) ? x : y",
    **{name: f"{name}(x)" for name in "floor sqrt exp expm1 log log1p sin cos tanh".split()},
    **{name: f"{name}(x, y)" for name in "fmod pow atan2".split()},
    # Not primitives: one line each, so offered as well.
    "neg": "-x",
    "reciprocal": "({T})1 / x",
    "square": "x * x",
    "rsqrt": "({T})1 / sqrt(x)",
    # Below, exp(-x) overflows before the result is 0.
    "sigmoid": "x < -80 ? exp(x) : ({T})1 / (({T})1 + exp(-x))",
    "relu": "x > 0 || x != x ? x : ({T})0",
    "sign": "({T})((x > 0) - (x < 0))",
    "remainder": "remainder_{T}(x, y)",
    "isnan": "x != x",
    "isinf": "fabs(x) == INFINITY",
    "isfinite": "fabs(x) < INFINITY",
    **{name: f"{name}(x)" for name in "ceil trunc exp2 log2 log10 tan asin acos atan".split()},
    **{name: f"{name}(x)" for name in "sinh cosh asinh acosh atanh erf".split()},
}

# Drivers' exp of a double overflows a little early; x - 1 is exact.
_EXP_OF_DOUBLE = "x > 709.5 ? exp(x - 1) * 2.718281828459045 : exp(x)"

_INTEGER = {
    "abs": "x < 0 ? ({T})(({U})0 - ({U})x) : x",
    "add": "({T})(({U})x + ({U})y)",
    "sub": "({T})(({U})x - ({U})y)",
    "mul": "({T})(({U})x * ({U})y)",
    "floor_divide": "floor_divide_{T}(x, y)",
    "fmod": "fmod_{T}(x, y)",
    "pow": "pow_{T}(x, y)",
    "lshift": "(y < 0 || y >= {W}) ? ({T})0 : ({T})(({U})x << y)",
    "rshift": "(y < 0 || y >= {W}) ? ({T})(x < 0 ? -1 : 0) : ({T})(x >> y)",
    "neg": "({T})(({U})0 - ({U})x)",
    "square": "({T})(({U})x * ({U})x)",
    "relu": "x > 0 ? x : ({T})0",
    "sign": "({T})((x > 0) - (x < 0))",
    "bitwise_not": "({T})~x",
    "remainder": "remainder_{T}(x, y)",
}

_ORDERED = {
    "maximum": "x > y ? x : y",
    "minimum": "x < y ? x : y",
}

_COMPARE = {"eq": "x == y", "ne": "x != y", "lt": "x < y", "le": "x <= y", "gt": "x > y",
            "ge": "x >= y", "logical_not": "x == 0"}  # fmt: skip

_BITS = {"bitwise_and": "({T})(x & y)", "bitwise_or": "({T})(x | y)", "bitwise_xor": "({T})(x ^ y)"}

TO_BOOL = frozenset([*_COMPARE, "isnan", "isinf", "isfinite"])
UNARY = frozenset(
    op
    for table in (_FLOAT, _INTEGER, _ORDERED, _COMPARE, _BITS)
    for op, text in table.items()
    if not re.search(r"\by\b", text)
)

# The exact remainder keeps C's sign; the quotient is mended as Python's float // does it.
_FLOAT_FLOOR_DIVIDE = """
FUNCTION {T} floor_divide_{T}({T} a, {T} b) {
    if (b == 0) return a / b;
    {T} m = fmod(a, b), q = (a - m) / b, f;
    if (m != 0 && (b < 0) != (m < 0)) q -= 1;
    if (q == 0) return copysign(({T})0, a / b);
    f = floor(q);
    return q - f > ({T})0.5 ? f + 1 : f;
}
"""

_INTEGER_FLOOR_DIVIDE = """
FUNCTION {T} floor_divide_{T}({T} a, {T} b) {
    if (b == 0) return 0;
    {MINUS_ONE}if (b == ({T})-1) return ({T})(({U})0 - ({U})a);
    {T} q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
"""

_INTEGER_FMOD = """
FUNCTION {T} fmod_{T}({T} a, {T} b) {
    if (b == 0) return 0;
    {MINUS_ONE}if (b == ({T})-1) return 0;
    return a % b;
}
"""

# The sign is the divisor's.
_FLOAT_REMAINDER = """
FUNCTION {T} remainder_{T}({T} a, {T} b) {
    {T} m = fmod(a, b);
    return m != 0 && (b < 0) != (m < 0) ? m + b : m;
}
"""

_INTEGER_REMAINDER = """
FUNCTION {T} remainder_{T}({T} a, {T} b) {
    if (b == 0) return 0;
    {MINUS_ONE}if (b == ({T})-1) return 0;
    {T} m = a % b;
    return m != 0 && (b < 0) != (m < 0) ? m + b : m;
}
"""

_INTEGER_POW = """
FUNCTION {T} pow_{T}({T} a, {T} b) {
    if (b < 0) return a == 1 ? 1 : a == ({T})-1 ? ((b & 1) ? a : 1) : 0;
    {U} result = 1, factor = ({U})a;
    for (; b; b >>= 1) {
        if (b & 1) result *= factor;
        factor *= factor;
    }
    return ({T})result;
}
"""


def _fill(text: str, d: dtype) -> str:
    c_type = compute_type(d)
    # Only for signed types: uint8's 255 is no -1.
    minus_one = "" if d.is_signed else "if (0) "
    values = {"T": c_type, "U": unsigned(c_type), "W": str(d.bits), "MINUS_ONE": minus_one}
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def expression(op: str, d: dtype) -> tuple[str, str] | None:
    """(C expression of x and y, helper functions it needs) of *op* on *d*, or None."""
    if op in _COMPARE:
        return _COMPARE[op], ""
    if op in _BITS:
        return (_fill(_BITS[op], d), "") if d.category < FLOAT else None
    if d.category == FLOAT:
        text = _EXP_OF_DOUBLE if op == "exp" and d.itemsize == 8 else _FLOAT.get(op)
        if op in POLYNOMIALS and compute_type(d) == "f32":
            text = f"{op}_f32(x)"
        helper = {"floor_divide": _FLOAT_FLOOR_DIVIDE, "remainder": _FLOAT_REMAINDER}.get(op, "")
    elif d.category == INTEGER:
        text = _INTEGER.get(op) or _ORDERED.get(op)
        helper = {"floor_divide": _INTEGER_FLOOR_DIVIDE, "fmod": _INTEGER_FMOD,
                  "pow": _INTEGER_POW, "remainder": _INTEGER_REMAINDER}.get(op, "")  # fmt: skip
    else:
        text, helper = _ORDERED.get(op), ""
    return None if text is None else (_fill(text, d), _fill(helper, d))
