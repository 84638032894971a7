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
from tensorbus_cpu_numpy.loops import pieces

TABLE = Table()

_FEW = 1 << 11
"""For fewer elements compositions, which are fewer calls, are as quick."""

Step = Callable[..., None]
"""``step(x, ..., out, scratch)``: what is done to a piece of each operand."""


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


_LOGIT = (
    3.512343163122472e-09, -2.645267160238297e-07, 7.9294890078746e-06, -1.1061238672984097e-04,
    -6.51899570619569e-05, 7.2666169158074e-02, 1.595769882916672,
)  # fmt: skip
"""``log(p / (1 - p)) / x`` in ``x * x``, where p is the normal distribution's integral up to x.

Fitted at Chebyshev's nodes up to 5.5 so that p's error is even and at most 3e-8. The leading
coefficient is positive, so that what lies beyond goes to the limits.
"""


def _inverse(x: Array, square: Array, out: Array) -> None:
    """Write ``1 / p`` into *out*; *square* is ``x * x``."""
    np.multiply(square, -_LOGIT[0], out=out)
    for coefficient in _LOGIT[1:-1]:
        out -= coefficient
        out *= square
    out -= _LOGIT[-1]
    out *= x
    np.exp(out, out=out)
    out += 1.0


@_offer("gelu", "float32")
def _gelu(x: Array, out: Array, scratch: Array) -> None:
    np.multiply(x, x, out=scratch)
    _inverse(x, scratch, out)
    np.true_divide(x, out, out=out)


@_offer("gelu_backward", "float32")
def _gelu_backward(g: Array, x: Array, out: Array, scratch: Array) -> None:
    """``g * (p + x * density)``."""
    np.multiply(x, x, out=scratch)
    _inverse(x, scratch, out)
    np.reciprocal(out, out=out)
    scratch *= -0.5
    np.exp(scratch, out=scratch)
    scratch *= 1.0 / math.sqrt(2.0 * math.pi)
    scratch *= x
    out += scratch
    out *= g


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
