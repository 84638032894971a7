"""The table of primitives in the suite's terms: the dtypes of operands and results of each.

What the suite knows of a primitive without computing it comes from here, and here it comes from
``tensorbus.plugin.PRIMITIVE_TABLE``.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorbus.plugin import JOINS, PRIMITIVE_TABLE, Primitive, dtype
from tensorbus_conformance import formats

_WORDS: dict[str, tuple[dtype, ...]] = {
    "bool": (formats.BOOL,),
    "int": formats.INTS,
    "float": formats.FLOATS,
    "complex": formats.COMPLEX,
    "int64": (formats.INT64,),
}


def _those(which: Callable[[Primitive], object]) -> tuple[str, ...]:
    return tuple(p.name for p in PRIMITIVE_TABLE.values() if which(p))


OF_ARRAYS = _those(lambda p: p.operands)
"""The primitives that have operands."""
CREATING = _those(lambda p: not p.operands)
UNARY = _those(lambda p: p.family == "pointwise" and len(p.operands) == 1)
INDEXED = _those(lambda p: p.family == "index")
WRITING = _those(lambda p: p.writes)
WRAPPING = _those(lambda p: "wrap" in p.signature)
DIVIDING = _those(lambda p: p.divides)
"""Where an integer has any value beside a zero divisor."""
TO_BOOL = _those(lambda p: p.result == "bool")
TO_INDICES = _those(lambda p: p.result == "int64")
TO_A_DTYPE = _those(lambda p: p.result == "given" and p.operands)
"""Those that convert each element to a dtype that the call names, as they load it."""
SIGNED_ZEROS = _those(lambda p: p.signed_zeros)
ULP_BOUNDS = {p.name: p.ulp for p in PRIMITIVE_TABLE.values() if p.ulp}
"""Rule 7; every other pointwise primitive is exact or correctly rounded."""


def in_family(family: str) -> tuple[str, ...]:
    """The primitives of a family of the table."""
    return _those(lambda p: p.family == family)


ACCUMULATING = tuple(op for op in TO_A_DTYPE if op in in_family("reduction") + in_family("scan"))
"""Sums and products, whole and running."""


def dtypes_of(words: str) -> tuple[dtype, ...]:
    """The dtypes that words of the table mean: ``"int float"``."""
    return tuple(d for word in words.split() for d in _WORDS[word])


def whole_domain(op: str) -> tuple[dtype, ...]:
    """The dtypes of operands for which the result may have the same, optional ones last.

    What converts to a given dtype takes bool too, but gives numbers.
    """
    p = PRIMITIVE_TABLE[op]
    found = dtypes_of(f"{p.dtypes} {p.optional}")
    return tuple(d for d in found if d is not formats.BOOL or p.result != "given")


def domain(op: str) -> tuple[dtype, ...]:
    """The same without complex numbers."""
    return tuple(d for d in whole_domain(op) if d not in formats.COMPLEX)


def arity(op: str) -> int:
    """How many arrays it is called with."""
    return len(PRIMITIVE_TABLE[op].operands)


def operand_dtypes(op: str, d: dtype) -> list[dtype]:
    """The dtype of each array of a call on *d*."""
    kinds = {"same": d, "bool": formats.BOOL, "int64": formats.INT64}
    return [kinds[kind] for kind in PRIMITIVE_TABLE[op].operands.values()]


def result_dtype(op: str, d: dtype) -> dtype:
    """The dtype of the result of a call on *d*; where the call names one, the same."""
    return {"bool": formats.BOOL, "int64": formats.INT64}.get(PRIMITIVE_TABLE[op].result, d)


def joins(d: dtype) -> tuple[str, ...]:
    """The ways in which ``put`` and ``scatter`` join values of *d*."""
    return tuple(how for how, words in JOINS.items() if d in dtypes_of(words))
