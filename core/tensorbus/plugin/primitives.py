"""The primitives: how each is called, what it is defined on, what it gives. The one list of them.

The frontend, the base classes of backends, the conformance suite and ``docs/primitives.md`` have
what they need to know of a primitive from here; the page says in words what each computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tensorbus.plugin import shape_rules
from tensorbus.plugin.shape_rules import Shape

FAMILIES = ("pointwise", "reduction", "scan", "contraction", "index", "order", "creation")

_OPERANDS = {"c": "bool", "i": "int64", **dict.fromkeys(["x", "y", "a", "b", "src"], "same")}
"""The dtype of each argument that is an array: the call's own, bool or int64."""

JOINS = {
    "set": "bool int float complex",
    "add": "int float complex",
    "mul": "int float complex",
    "amax": "bool int float",
    "amin": "bool int float",
}
"""How ``put`` and ``scatter`` join what is there and what comes, and the dtypes of each way."""


class Primitive(NamedTuple):
    """What is to be known of a primitive without knowing what it computes."""

    name: str
    family: str
    """One of ``FAMILIES``."""
    signature: str
    """Its positional arguments, as in ``SIGNATURES``."""
    dtypes: str
    """What it is defined on: ``bool``, ``int``, ``float``, ``complex``, or the name of a dtype."""
    optional: str = ""
    """What else a backend may offer it on."""
    result: str = "same"
    """The result's dtype: ``same``, ``bool``, ``int64``; ``given`` as the last argument."""
    ulp: float = 0.0
    """The error that is allowed, in units in the last place; 0: exact, or correctly rounded."""
    signed_zeros: bool = False
    """Whether the sign of a zero in the result of a pointwise primitive is specified."""
    divides: bool = False
    """Whether integers have any value where the second operand is 0."""

    @property
    def shape(self) -> Callable[..., Shape]:
        """The shape of the result, from what the primitive is called with but ``out``."""
        return _SHAPES.get(self.name) or _SHAPES[self.family]

    @property
    def operands(self) -> dict[str, str]:
        """The arrays among its arguments in order, with the dtype of each: see ``result``."""
        names = re.findall(r"\w+", self.signature)
        found = {name: _OPERANDS[name] for name in names if name in _OPERANDS}
        return {"out": "same", **found} if self.writes else found

    @property
    def writes(self) -> bool:
        """Whether it writes into its first operand, and returns that."""
        return self.signature.startswith("(out,")


_SHAPES: dict[str, Callable[..., Shape]] = {
    "pointwise": shape_rules.broadcast,
    "reduction": shape_rules.reduced,
    "scan": shape_rules.same,
    "contraction": shape_rules.product,
    "order": shape_rules.same,
    "take": shape_rules.taken,
    "gather": shape_rules.of_index,
    "put": shape_rules.same,
    "scatter": shape_rules.same,
    "arange": shape_rules.counted,
    "random_bits": shape_rules.counted_last,
}
"""The shape rule of each family, and of the primitives of the other families."""

_UNARY, _BINARY = "(x, out=None)", "(x, y, out=None)"
_ALL, _NUMBER, _ORDERED = "bool int float complex", "int float", "bool int float"


def _pointwise(
    signature: str,
    dtypes: str,
    names: str,
    *,
    optional: str = "",
    result: str = "same",
    ulp: float = 0.0,
    signed_zeros: bool = False,
    divides: bool = False,
) -> list[Primitive]:
    return [
        Primitive(
            name, "pointwise", signature, dtypes, optional, result, ulp, signed_zeros, divides
        )
        for name in names.split()
    ]


_ROWS = [
    *_pointwise(_UNARY, _NUMBER, "abs", signed_zeros=True),
    *_pointwise(_UNARY, "float", "floor round"),
    *_pointwise(_UNARY, "float", "sqrt", signed_zeros=True),
    *_pointwise(_UNARY, "float", "exp expm1 log", ulp=3),
    *_pointwise(_UNARY, "float", "log1p", ulp=2),
    *_pointwise(_UNARY, "float", "sin cos", ulp=4),
    *_pointwise(_UNARY, "float", "tanh", ulp=5),
    *_pointwise(_BINARY, _NUMBER, "add sub mul", optional="complex", signed_zeros=True),
    *_pointwise(_BINARY, "float", "div", optional="complex", signed_zeros=True),
    *_pointwise(_BINARY, _NUMBER, "floor_divide fmod", divides=True),
    *_pointwise(_BINARY, _NUMBER, "pow", ulp=16),
    *_pointwise(_BINARY, "float", "atan2", ulp=6, signed_zeros=True),
    *_pointwise(_BINARY, _ORDERED, "maximum minimum"),
    *_pointwise(_BINARY, _ORDERED, "eq ne", optional="complex", result="bool"),
    *_pointwise(_BINARY, _ORDERED, "lt le", result="bool"),
    *_pointwise(_BINARY, "bool int", "bitwise_and bitwise_or bitwise_xor"),
    *_pointwise(_BINARY, "int", "lshift rshift"),
    *_pointwise("(c, x, y, out=None)", _ALL, "where", signed_zeros=True),
    Primitive("sum", "reduction", "(x, dims, dtype, out=None)", _ORDERED, "complex", "given"),
    Primitive("prod", "reduction", "(x, dims, dtype, out=None)", _ORDERED, "complex", "given"),
    Primitive("amax", "reduction", "(x, dims, out=None)", _ORDERED),
    Primitive("amin", "reduction", "(x, dims, out=None)", _ORDERED),
    Primitive("argmax", "reduction", "(x, dim, out=None)", _ORDERED, result="int64"),
    Primitive("argmin", "reduction", "(x, dim, out=None)", _ORDERED, result="int64"),
    Primitive("cumsum", "scan", "(x, dim, dtype, out=None)", _ORDERED, "complex", "given"),
    Primitive("cumprod", "scan", "(x, dim, dtype, out=None)", _ORDERED, "complex", "given"),
    Primitive("cummax", "scan", "(x, dim, out=None)", _ORDERED),
    Primitive("cummin", "scan", "(x, dim, out=None)", _ORDERED),
    Primitive("matmul", "contraction", "(a, b, dtype, out=None)", _NUMBER, "complex", "given"),
    Primitive("take", "index", "(x, dim, i, wrap)", _ALL),
    Primitive("gather", "index", "(x, dim, i)", _ALL),
    Primitive("put", "index", "(out, dim, i, src, op, wrap)", _ALL),
    Primitive("scatter", "index", "(out, dim, i, src, op)", _ALL),
    Primitive("argsort", "order", "(x, dim)", _ORDERED, result="int64"),
    Primitive("arange", "creation", "(n, start, step, dtype)", _NUMBER, result="given"),
    Primitive("random_bits", "creation", "(key, offset, n)", "int64"),
]

PRIMITIVE_TABLE: dict[str, Primitive] = {p.name: p for p in _ROWS}
"""Each primitive by its name, in the order of ``docs/primitives.md``."""


def of_family(*families: str) -> list[str]:
    """The names of the primitives of these families."""
    return [p.name for p in _ROWS if p.family in families]


POINTWISE = of_family("pointwise")
REDUCTIONS = of_family("reduction")
SCANS = of_family("scan")
OTHERS = of_family("contraction", "index", "order", "creation")
PRIMITIVES: tuple[str, ...] = tuple(PRIMITIVE_TABLE)
"""The 49 kernels (the runtime's ``copy_`` is the fiftieth thing that moves data)."""

SIGNATURES: dict[str, str] = {p.name: p.signature for p in _ROWS}
"""Positional arguments of each primitive.

Arrays first, then parameters. ``dims`` is a sorted tuple of non-negative ints (never empty),
``dim`` a non-negative int. ``dtype`` is what ``Backend.dtype`` returned for the result's dtype.
``op`` is one of ``"set" "add" "mul" "amax" "amin"``. ``put`` and ``scatter`` write into ``out``
and return it. ``key`` is a pair of ints below 2**64, ``offset`` an int below 2**256 counted in
blocks of four words. ``x`` and ``y`` of a pointwise kernel may be Python scalars (made by
``Backend.scalar``) as long as one value operand is an array.
"""
