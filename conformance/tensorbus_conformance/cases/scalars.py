"""Level 4: a Python number beside a dtype: what takes it, wraps it, or refuses it.

Every function that puts a number into a tensor of a given dtype refuses what the dtype cannot
hold; arithmetic wraps integers around instead, and rounds to infinity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
import tensorbus.nn.functional
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "scalars"

_NUMBERS: tuple[Any, ...] = (
    0, 3, -3, 127, 128, -128, -129, 255, 256, -255, -256, 32768, 65504, 70000, 2**31, -(2**31) - 1,
    2**63 - 1, -(2**63), 2**63, 2.5, -0.5, 255.5, 65504.0, 65505.0, 1e39, -1e39, 1e300, math.inf,
    -math.inf, math.nan, True, 2 + 0j, 1j, 1e39 + 0j,
)  # fmt: skip
_BEYOND = (2**64, -(2**63) - 1, 10**30)
"""No dtype holds these: an OverflowError, as Python's own conversions have it."""

_DTYPES = tuple(d for d in formats.ALL if d is not formats.BFLOAT16)


def holds(d: Dtype, value: Any) -> bool:
    """Whether a dtype has a number: exactly, cut to an integer, or rounded."""
    if d is formats.BOOL:
        return True
    parts = (value.real, value.imag) if isinstance(value, complex) else (value, 0)
    if d in formats.INTS:
        low, high = formats.limits(d)
        if d is formats.UINT8 and isinstance(value, int):
            low = -high  # whole negative numbers wrap around
        return parts[1] == 0 and low <= parts[0] <= high
    if d in formats.FLOATS and parts[1] != 0:
        return False
    most = formats.largest(d.to_real())
    return all(abs(p) <= most or (isinstance(p, float) and not math.isfinite(p)) for p in parts)


def held(d: Dtype, value: Any) -> np.ndarray:
    """The number as the dtype has it."""
    if d is formats.BOOL:
        return np.asarray(bool(value))
    if isinstance(value, complex) and d not in formats.COMPLEX:
        value = value.real
    if d in formats.INTS:
        return np.asarray(formats.wrap(int(value), d), formats.value_dtype(d))
    if isinstance(value, int):
        value = float(value)
    return np.asarray(formats.round_to(np.asarray(value), d))


def _pick(x: Any) -> Any:
    return tensorbus.zeros(1, dtype=formats.INT64, device=x.device)


def _mask(x: Any) -> Any:
    return tensorbus.ones(1, dtype=formats.BOOL, device=x.device)


def _assigned(index: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def call(x: Any, value: Any) -> Any:
        x = x.clone()
        x[index(x)] = value
        return x

    return call


_OF_ONE: dict[str, Callable[[Any, Any], Any]] = {
    "fill": lambda x, v: tensorbus.fill(x, v),
    "fill_": lambda x, v: x.clone().fill_(v),
    "full": lambda x, v: tensorbus.full((1,), v, dtype=x.dtype, device=x.device),
    "full_like": lambda x, v: tensorbus.full_like(x, v),
    "new_full": lambda x, v: x.new_full((1,), v),
    "masked_fill": lambda x, v: x.masked_fill(_mask(x), v),
    "masked_fill_": lambda x, v: x.clone().masked_fill_(_mask(x), v),
    "scatter": lambda x, v: x.scatter(0, _pick(x), v),
    "addmm": lambda x, v: _added(tensorbus.addmm, x, v),
    "addcmul": lambda x, v: tensorbus.addcmul(tensorbus.zeros_like(x), x, x, value=v),
    "add-alpha": lambda x, v: tensorbus.add(tensorbus.zeros_like(x), x, alpha=v),
}
"""A tensor of one 1 and a number: the number, in the tensor's dtype."""

_CONVERTED: dict[str, Callable[[Any, Any], Any]] = {
    "item": _assigned(lambda _: 0),
    "mask": _assigned(_mask),
    "index": _assigned(_pick),
}
"""The same, where the number becomes a tensor first: half precision takes more as infinite."""


def _added(addmm: Any, x: Any, value: Any) -> Any:
    one = x.reshape(1, 1)
    return addmm(tensorbus.zeros_like(one), one, one, alpha=value).reshape(1)


def _takes(name: str, d: Dtype, value: Any) -> bool:
    """Whether PyTorch gives a meaning to the dtype, or to the number's type, at all."""
    # An infinite factor of a complex number gives NaN.
    finite = not isinstance(value, (float, complex)) or bool(np.isfinite(value))
    if d in formats.COMPLEX and name in ("add-alpha", "addmm", "addcmul") and not finite:
        return False
    if name == "add-alpha":  # whole numbers for integers, True for bools alone
        whole = type(value) is int
        if d is formats.BOOL:
            return type(value) is bool
        return whole or (d in formats.FLOATS and type(value) is float) or (
            d in formats.COMPLEX and type(value) in (float, complex)
        )  # fmt: skip
    if name in ("addmm", "addcmul"):
        return d not in (formats.BOOL, formats.FLOAT16)  # which is added up in float32
    return True


def cases() -> Iterator[Case]:
    for d in _DTYPES:
        for name, call in {**_OF_ONE, **_CONVERTED}.items():
            check = functools.partial(_holds, name, call, d)
            yield Case(f"L4/scalars/{d.name}/{name}", FAMILY, check, (d,))


def _holds(name: str, call: Callable[[Any, Any], Any], d: Dtype, t: Trial) -> None:
    bench = Bench(t)
    one = bench.send(np.ones(1, formats.value_dtype(d)), d)
    wide = formats.FLOAT64 if d is formats.FLOAT16 and name in _CONVERTED else d
    for value in _NUMBERS:
        if not _takes(name, d, value) or (name in _CONVERTED and value == 2**63):
            continue
        if holds(wide, value):
            bench.same(call(one, value), held(d, value).reshape(1), d, where=f"{value!r}: ")
            continue
        raised = expect_raises(functools.partial(call, one, value), RuntimeError)
        if "without overflow" not in str(raised):
            raise Mismatch(f"{value!r}: the message is {str(raised)!r}")
    for value in _BEYOND:
        if _takes(name, d, value):
            kind = ValueError if name in _CONVERTED else OverflowError
            expect_raises(functools.partial(call, one, value), kind)
