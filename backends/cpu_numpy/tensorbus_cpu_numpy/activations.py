"""Activations of many elements, in blocks that stay in the cache."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, into, quiet
from tensorbus.plugin.array_library.table import FLOAT
from tensorbus_cpu_numpy.loops import Step, pieces

TABLE = Table()

_FEW = 1 << 11
"""For fewer elements compositions, which are fewer calls, are as quick."""


def _offer(op: str, *names: str) -> Callable[[Step], Step]:
    """Offer *op* for the dtypes of these *names*, by what is done to a piece of its operands."""

    def decorate(step: Step) -> Step:
        @may_decline
        @functools.wraps(step)
        def kernel(*operands: Array, out: Array | None = None) -> Any:
            x = operands[-1]
            if x.size < _FEW or any(other.shape != x.shape for other in operands):
                return NotImplemented
            made = np.empty(x.shape, x.dtype)
            pieces(step, *operands, made)
            return into(out, made)

        def maker(xp: Any, dtype: dtype) -> Kernel | None:
            return quiet(kernel) if dtype.name in names else None

        TABLE.add(op, (FLOAT,), maker)
        return step

    return decorate


def _constants(*numbers: float) -> tuple[Array, ...]:
    """Arrays, which NumPy's calls take in less time than numbers."""
    return tuple([np.array(number, np.float32) for number in numbers])


_ONE, _HALF, _MINUS_HALF = _constants(1.0, 0.5, -0.5)
_LOGIT = _constants(
    3.512343163122472e-09, -2.645267160238297e-07, 7.9294890078746e-06, -1.1061238672984097e-04,
    -6.51899570619569e-05, 7.2666169158074e-02, 1.595769882916672,
)  # fmt: skip
"""``log(p / (1 - p)) / x`` in ``x * x``, where p is the normal distribution's integral up to x.

Fitted at Chebyshev's nodes up to 5.5 so that p's error is even and at most 3e-8. The leading
coefficient is positive, so that what lies beyond goes to the limits.
"""
_MINUS_LEADING = np.negative(_LOGIT[0])


@_offer("gelu", "float32")
def _gelu(x: Array, out: Array, scratch: Array) -> None:
    """As ``x / (1 + exp(-logit))``."""
    np.square(x, scratch)
    np.multiply(scratch, _MINUS_LEADING, out)
    for coefficient in _LOGIT[1:-1]:
        np.subtract(out, coefficient, out)
        np.multiply(out, scratch, out)
    np.subtract(out, _LOGIT[-1], out)
    np.multiply(out, x, out)
    np.exp(out, out)
    np.add(out, _ONE, out)
    np.true_divide(x, out, out)


_TAIL = _constants(
    -239.61488, 252.66049, -46.829906, 13.886467, 0.73004252, 0.42145497
)  # fmt: skip
"""``(1 - p) * exp(x * x / 2)`` of a positive x as a polynomial in ``1 / (x + _AWAY)``, without its
constant term, which is 0.

Fitted so that the error of p is at most 6e-9, then moved by some last places, so that p of 0 is
rounded to 0.5.
"""
_AWAY, _DENSITY = _constants(3.6, 1.0 / math.sqrt(2.0 * math.pi))
_SIGN = np.array(-(1 << 31), np.int32)
_HALF_BITS = _HALF.view(np.int32)


@_offer("gelu_backward", "float32")
def _gelu_backward(g: Array, x: Array, out: Array, scratch: Array) -> None:
    """``g * (p + x * density)`` by one exponential, of which both are multiples.

    p is that of a tail of the distribution, or what this leaves of 1. Signs are copied as bits,
    for which NumPy has vectors, as it has for quotients and not for reciprocals.
    """
    bits, out_bits, scratch_bits = (a.view(np.int32) for a in (x, out, scratch))
    np.absolute(x, scratch)
    np.add(scratch, _AWAY, scratch)
    np.true_divide(_ONE, scratch, scratch)
    np.multiply(scratch, _TAIL[0], out)
    for coefficient in _TAIL[1:]:
        np.add(out, coefficient, out)
        np.multiply(out, scratch, out)
    np.bitwise_and(bits, _SIGN, scratch_bits)
    np.bitwise_or(out_bits, scratch_bits, out_bits)
    np.multiply(x, _DENSITY, scratch)
    np.subtract(out, scratch, out)
    np.square(x, scratch)
    np.multiply(scratch, _MINUS_HALF, scratch)
    np.exp(scratch, scratch)
    np.multiply(out, scratch, out)
    np.bitwise_and(bits, _SIGN, scratch_bits)
    np.bitwise_or(scratch_bits, _HALF_BITS, scratch_bits)
    np.add(scratch, _HALF, scratch)
    np.subtract(scratch, out, out)
    np.multiply(out, g, out)


_TANH = -2.0 * math.sqrt(2.0 / math.pi)


@_offer("gelu_tanh", "float32", "float64")
def _gelu_tanh(x: Array, out: Array, scratch: Array) -> None:
    """As ``x / (1 + exp(-2 * inner))``: an exponential where the formula has a tangent."""
    np.multiply(x, x, out=out)
    out *= 0.044715 * _TANH
    out += _TANH
    out *= x
    np.exp(out, out=out)
    out += 1.0
    np.true_divide(x, out, out=out)
