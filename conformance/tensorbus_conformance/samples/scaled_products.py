"""Products and quotients that are scaled and added: ``addcmul`` and ``addcdiv``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import COMPLEX, FLOATING, NUMBERS, E, Op, S, Sample, T

FLOAT32, INT64 = formats.FLOAT32, formats.INT64
_FLOATS = (*FLOATING, *COMPLEX)


def _addcmul(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    a, b = (np.asarray(t, np.result_type(x, a, b)) for t in (a, b))
    return x + np.multiply(a, value, dtype=a.dtype) * b


def _addcdiv(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + value * a / b


def _terms(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the terms' magnitudes."""
    return lambda x, *more, **options: np.abs(x) + np.abs(reference(0 * x, *more, **options))


_BYTES = T(data=[127, 127, -128], dtype=formats.INT8)


def _added(
    name: str,
    reference: Callable[..., Any],
    other: str,
    more: Sequence[Sample] = (),
    **fields: Any,
) -> Op:
    three = (T(3, 4), T(3, 4), T(3, 4, of=other))
    return Op(
        name,
        reference,
        [
            S("plain", *three),
            S("value", *three, value=2),
            S("fraction", *three, value=-0.75).only(*_FLOATS),
            S("broadcast", T(3, 4), T(4), T(3, 1, of=other)),
            S("scalar", T(), T(), T(of=other)),
            S("empty", T(0, 3), T(3), T(3, of=other)),
            *more,
        ],
        ulp=2,
        scale=_terms(reference),
        family="pointwise",
        keeps_order=True,
        **fields,
    )


_INTEGER_DIVISION = re.escape(
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
    "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
    "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
    "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
    "dtypes."
)


OPS = [
    _added(
        "addcmul",
        _addcmul,
        "spread",
        [
            S("promoted", T(3), _BYTES, _BYTES).only(INT64, FLOAT32, *COMPLEX),
            S("promoted-value", T(3), _BYTES, _BYTES, value=-3).only(formats.INT32, FLOAT32),
        ],
        dtypes=NUMBERS,
        promotes=True,
        errors=[
            E(
                "bool",
                NotImplementedError,
                "\"addcmul_cpu_out\" not implemented for 'Bool'",
                T(3),
                T(3),
                T(3),
                dtype=formats.BOOL,
            ),
            E(
                "value",
                RuntimeError,
                "value cannot be converted to type int8_t without overflow",
                T(3),
                T(3),
                T(3),
                value=300,
                dtype=formats.INT8,
            ),
        ],
    ),
    _added(
        "addcdiv",
        _addcdiv,
        "positive",
        dtypes=_FLOATS,
        errors=[
            E("integers", RuntimeError, _INTEGER_DIVISION, T(3), T(3), T(3), dtype=INT64),
            E(
                "value",
                RuntimeError,
                "value cannot be converted to type float without overflow",
                T(3),
                T(3),
                T(3),
                value=1e39,
            ),
        ],
    ),
]
