"""Level 5: derivatives element by element, to the last digits, against closed forms in float64.

Level 3 compares along a direction, at the magnitude of all terms: an element that is small beside
the others may be wrong there. Here each has to be right at its own magnitude.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, values
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "gradient digits"
DTYPES = (formats.FLOAT32, formats.FLOAT64)

_POINTS = np.array([1e-3, 0.03, 0.25, 0.5, 0.9, 1.0, 1.4, 1.5, 2.0, 3.7, 10.0, 50.0, 1e3, 1e5])
_AMONG = np.random.default_rng(7).normal(0.0, 3.0, 60)

_Closed = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _prefixes(x: np.ndarray) -> np.ndarray:
    """Row j: the softmax of the elements up to the j-th."""
    p = np.exp(x[None, :] - np.logaddexp.accumulate(x)[:, None])
    return np.tril(p)


def _log_sums(w: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    return w @ _prefixes(x)


def _log_sums_twice(w: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    p = _prefixes(x)
    return w @ (p * (u[None, :] - (p @ u)[:, None]))


def _gamma(n: int) -> tuple[_Closed, _Closed]:
    """The derivatives of the *n*-th derivative of digamma."""
    once = functools.partial(scipy.special.polygamma, n + 1)
    twice = functools.partial(scipy.special.polygamma, n + 2)
    return lambda w, x, u: w * once(x), lambda w, x, u: w * u * twice(x)


_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], np.ndarray, tuple[_Closed, _Closed]]] = {
    "digamma": (lambda x: tensorbus.digamma(x), _POINTS, _gamma(0)),
    "polygamma": (lambda x: tensorbus.polygamma(1, x), _POINTS, _gamma(1)),
    "logcumsumexp": (lambda x: tensorbus.logcumsumexp(x, 0), _AMONG, (_log_sums, _log_sums_twice)),
}
"""The function, where it is taken, and the closed forms of <w, f>' and of its change along u."""


def cases() -> Iterator[Case]:
    for name, (f, points, closed) in _FUNCTIONS.items():
        for d in DTYPES:
            for order in (1, 2):
                check = functools.partial(_check, f, points, closed, d, order)
                yield Case(f"L5/{name}/{d.name}/digits-grad{order}", FAMILY, check, (d,))


def _check(
    f: Callable[[Any], Any],
    points: np.ndarray,
    closed: tuple[_Closed, _Closed],
    d: Dtype,
    order: int,
    t: Trial,
) -> None:
    bench = Bench(t)
    x, w, u = (
        np.asarray(formats.round_to(a, d), np.float64)
        for a in (
            points,
            values.rng("weights", len(points)).uniform(0.5, 1.5, points.shape),
            values.rng("direction", len(points)).uniform(0.5, 1.5, points.shape),
        )
    )
    sent = bench.send(x.astype(formats.value_dtype(d)), d).requires_grad_()
    weights, direction = (bench.send(a.astype(formats.value_dtype(d)), d) for a in (w, u))
    (found,) = tensorbus.autograd.grad((f(sent) * weights).sum(), sent, create_graph=order == 2)
    if order == 2:
        (found,) = tensorbus.autograd.grad((found * direction).sum(), sent)
    got, want = bench.read(found).astype(np.float64), closed[order - 1](w, x, u)
    scale = np.abs(want)
    if order == 2 and points is _AMONG:  # a difference of terms: its digits are the largest's
        scale = np.maximum(scale, 1e-2 * scale.max())
    error = np.abs(got - want) / (2 * formats.unit_roundoff(d) * scale)
    worst = int(np.argmax(error))
    t.ulp = max(t.ulp or 0.0, float(error[worst]))
    # Where float64 computes, float32 loses nothing on the way.
    wider = formats.FLOAT64 in t.capabilities.dtypes
    allowed = 8.0 if wider and d is not formats.FLOAT64 else 64.0
    if not error[worst] <= allowed:
        raise Mismatch(
            f"at {x[worst]:.9g}: got {got[worst]:.9g}, expected {want[worst]:.9g}; "
            f"{error[worst]:.3g} units, allowed {allowed:g}"
        )
