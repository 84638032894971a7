"""Pointwise ops as C expressions of scalars."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtypes import BOOL, FLOAT, dtype
from tensorbus.plugin.kernel_language.axes import Declined
from tensorbus.plugin.kernel_language.scalars import TO_BOOL, expression
from tensorbus.plugin.kernel_language.types import cast, compute_type
from tensorbus.plugin.nest import Apply

_SELECT32 = """
#ifndef SELECT32
#define SELECT32(c, x, y) ((c) ? (x) : (y))
#endif
"""


def knows(op: str) -> bool:
    """Whether there is an expression for an op, so that it is not taken apart."""
    of = dtypes.float32, dtypes.int64
    return op in ("cast", "where") or any(expression(op, d) is not None for d in of)


class Expressions:
    """The expressions of one kernel, and the functions that they call."""

    def __init__(self) -> None:
        self._helpers: dict[str, None] = {}
        self._count = 0

    @property
    def helpers(self) -> str:
        """The text of the functions."""
        return "".join(self._helpers)

    def count(self) -> int:
        """A number that was not given before."""
        self._count += 1
        return self._count

    def of(self, applied: Apply, names: dict[Any, str]) -> str:
        """The C text over the names of the operands; ``Declined`` where there is none."""
        op, args = applied.op, applied.args
        d = next((x.dtype for x in args if x in names), None)  # type: ignore[union-attr]
        if d is None:
            raise Declined

        def name(x: Any, d: dtype) -> str:
            return names[x] if x in names else literal(x, d)

        if op == "cast":
            return cast(name(args[0], d), d, applied.dtype)
        if op == "where":
            c = name(args[0], dtypes.bool)
            x, y = (name(v, applied.dtype) for v in args[1:])
            if compute_type(applied.dtype) != "f32":
                return f"{c} ? {x} : {y}"
            self._helpers[_SELECT32] = None
            return f"SELECT32({c}, {x}, {y})"
        found = expression(op, d)
        if found is None or len(args) > 2:
            raise Declined
        text, helpers = found
        self._helpers[helpers] = None
        operands = dict(zip("xy", (name(x, d) for x in args), strict=False))
        text = re.sub(r"\b[xy]\b", lambda found: operands[found[0]], text)
        return f"(u8)({text})" if op in TO_BOOL else text


def literal(value: Any, d: dtype) -> str:
    """A Python number as a C constant of the type that *d* is computed in."""
    if not isinstance(value, (bool, int, float)):
        raise Declined
    t = compute_type(d)
    if d.category == FLOAT:
        number = float(value)
        if math.isnan(number):
            return f"(({t})NAN)"
        if math.isinf(number):
            return f"(({t})({'-' if number < 0 else ''}INFINITY))"
        text = f"{np.float32(number)!s}f" if t == "f32" else repr(number)
        return f"(({t}){text})"
    if d.category == BOOL:
        return f"((u8){int(bool(value))})"
    number = int(value)
    if number == -(1 << 63):
        return "((i64)((u64)1 << 63))"
    return f"(({t}){number})"
