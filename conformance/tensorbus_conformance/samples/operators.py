"""Operators: between tensors, in place, with a number on the left, and signs before a tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorbus_conformance.elementwise import real
from tensorbus_conformance.op import BOOL, FLOATING, INTEGRAL, NUMBERS, REAL, E, Op, S, T
from tensorbus_conformance.samples import comparisons, logic, pointwise_binary
from tensorbus_conformance.samples.pointwise_binary import integers


def _left(
    name: str, reference: Callable[..., Any], dtypes: Any, *, of: str = "spread", **fields: Any
) -> Op:
    """``number OPERATOR tensor``."""
    samples = [S("number", T(3, 4, of=of), 3), S("scalar", T(of=of), 3), S("empty", T(0, 3), 3)]
    if set(dtypes) & set(FLOATING):
        samples.append(S("fraction", T(3, 4, of=of), 2.5).only(*FLOATING))
    return Op(
        f"Tensor.__r{name}__",
        lambda x, n: reference(np.asarray(n, x.dtype), x),
        samples,
        dtypes=dtypes,
        keeps_order=True,
        family="operators",
        **fields,
    )


_BETWEEN = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "pow": "pow", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "lshift": "lshift", "rshift": "rshift",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


def _operators() -> list[Op]:
    """``x OPERATOR y``, and ``x OPERATOR= y`` where there is that: the functions' first samples."""
    made = []
    for op in (*pointwise_binary.OPS, *logic.OPS, *comparisons.OPS):
        symbol = _BETWEEN.get(op.name)
        if symbol is None:
            continue
        few: dict[str, Any] = {
            "samples": tuple(op.samples)[:1],
            "errors": (),
            "layouts": (),
            "family": "operators",
            "promotes": False,  # as the functions do
        }
        made.append(replace(op, name=f"Tensor.__{symbol}__", **few))
        if symbol not in _COMPARE:
            dtypes = op.dtypes if op.result == "same" else FLOATING
            in_place = functools.partial(_write, f"__i{symbol}__")
            made.append(
                replace(
                    op,
                    name=f"Tensor.__i{symbol}__",
                    call=in_place,
                    dtypes=dtypes,
                    **few,
                )
            )
    return made


def _write(method: str, x: Any, y: Any) -> Any:
    """The in-place operator on a copy, for the operand is to stay as it is."""
    return getattr(x.clone(), method)(y)


def _true_quotient(x: Any, y: Any) -> Any:
    return real(x) / real(y)


_ONE = S("plain", T(3, 4))

OPS = [
    *_operators(),
    _left("add", np.add, NUMBERS, ulp=0),
    _left("sub", np.subtract, NUMBERS, ulp=0),
    _left("mul", np.multiply, NUMBERS, ulp=0.5),
    _left("truediv", _true_quotient, NUMBERS, of="positive", result="float", ulp=1),
    _left("floordiv", np.floor_divide, REAL, of="nonzero", gradient=False, ulp=0),
    _left("mod", np.remainder, REAL, of="nonzero", gradient=False, ulp=0),
    _left("pow", integers("pow", np.power), NUMBERS, of="positive", ulp=4),
    _left("and", np.bitwise_and, INTEGRAL, gradient=False, ulp=0),
    _left("or", np.bitwise_or, INTEGRAL, gradient=False, ulp=0),
    _left("xor", np.bitwise_xor, INTEGRAL, gradient=False, ulp=0),
    _left("lshift", integers("lshift", np.equal), INTEGRAL, of="ties", gradient=False, ulp=0),
    _left("rshift", integers("rshift", np.equal), INTEGRAL, of="ties", gradient=False, ulp=0),
    Op("Tensor.__pos__", lambda x: x, [_ONE], dtypes=NUMBERS, fresh=False, ulp=0,
       family="operators"),
    Op("Tensor.__neg__", np.negative, [_ONE], dtypes=NUMBERS, ulp=0, keeps_order=True,
       family="operators"),
    Op("Tensor.__abs__", np.abs, [_ONE], dtypes=NUMBERS, result="real", ulp=2,
       keeps_order=True, family="operators"),
    Op(
        "Tensor.__invert__",
        np.invert,
        [_ONE],
        dtypes=(*BOOL, *INTEGRAL),
        gradient=False,
        keeps_order=True,
        family="operators",
        errors=[
            E("float", TypeError, r"~ \(operator\.invert\) is only implemented on integer and "
              "Boolean-type tensors", T(3)),
        ],
    ),
]  # fmt: skip
