"""Truth values, bits and shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.elementwise import binary, unary
from tensorbus_conformance.op import ANY, BOOL, INTEGRAL, E, ErrorSample, Op, T
from tensorbus_conformance.samples.pointwise_binary import integers

_WHOLE = (*BOOL, *INTEGRAL)


def _refuses_floats(name: str, *rest: Any) -> ErrorSample:
    text = f"\"{name}\" not implemented for 'Float'"
    return E("float", NotImplementedError, text, T(3), *rest)


def _logical(name: str, reference: Callable[..., Any]) -> Op:
    return binary(
        name,
        reference,
        of="ties",
        dtypes=ANY,
        result=formats.BOOL,
        number=None,
        gradient=False,
        promotes=True,
        family="logic",
    )


def _bitwise(name: str, reference: Callable[..., Any]) -> Op:
    return binary(
        name,
        reference,
        of="ties",
        dtypes=_WHOLE,
        number=5,
        gradient=False,
        promotes=True,
        family="logic",
        errors=[_refuses_floats(name, T(3))],
    )


def _shift(name: str) -> Op:
    """Counts below 0, or of all the bits and more, move every bit out."""
    return binary(
        name,
        integers(name, np.equal),
        other=(0, 3),
        dtypes=INTEGRAL,
        number=2,
        gradient=False,
        promotes=True,
        family="logic",
    )


OPS = [
    _logical("logical_and", np.logical_and),
    _logical("logical_or", np.logical_or),
    _logical("logical_xor", np.logical_xor),
    unary(
        "logical_not",
        np.logical_not,
        of="ties",
        dtypes=ANY,
        result=formats.BOOL,
        gradient=False,
        family="logic",
    ),
    _bitwise("bitwise_and", np.bitwise_and),
    _bitwise("bitwise_or", np.bitwise_or),
    _bitwise("bitwise_xor", np.bitwise_xor),
    unary(
        "bitwise_not",
        np.invert,
        dtypes=_WHOLE,
        gradient=False,
        family="logic",
        errors=[_refuses_floats("bitwise_not")],
    ),
    _shift("lshift"),
    _shift("rshift"),
]
