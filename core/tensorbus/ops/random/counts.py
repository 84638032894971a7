"""Random counts: of events at a rate, of successes among trials.

Where few are expected, the probabilities of 0, 1, 2... are summed up until they exceed a uniform
number. Else a number of a curve that lies above all probabilities is drawn, and taken with the
chance that they leave it. Source: Hörmann, "The transformed rejection method for generating Poisson
random variables", 1993, and "The generation of binomial random variates", 1993.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.autograd.node import UNKNOWN
from tensorbus.autograd.underived import not_written, underived
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.factories import zeros_like
from tensorbus.ops.indexing.masking import nonzero
from tensorbus.ops.random.rejection import Draw, drawn, until_taken
from tensorbus.ops.random.slopes import without_slope
from tensorbus.ops.reduce.value_checks import refuse_values
from tensorbus.random import Generator

_FEW = 10.0
"""From this many expected counts on, a curve is drawn from."""

_NEGLIGIBLE = 2.0**-60


@public(method=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts of events, each of Poisson's distribution with the rate that *input* says.

    Floating point; an infinite rate gives infinity, and the gradient is zero. RuntimeError for
    rates that are negative or NaN.

    Source: https://pytorch.org/docs/stable/generated/torch.poisson.html
    """
    check_tensors("poisson", input=input)
    if not input._k.is_float:
        raise not_implemented("poisson_cpu", input)
    with no_grad():
        refuse_values((~(input >= 0), "invalid Poisson rate, expected rate to be non-negative"))
        counts = drawn([input], generator, _events)
    return without_slope(counts, [input] * input.requires_grad, "PoissonBackward0")


@public(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of *count* trials succeed, each with probability *prob*: random counts.

    Both have the same dtype, float32 or float64, and broadcast. As in PyTorch, counts below 0 are
    as 0, probabilities are cut to [0, 1], and NaN gives NaN. ValueError or NotImplementedError for
    other dtypes, RuntimeError where they differ.

    Source: https://pytorch.org/docs/stable/generated/torch.binomial.html
    """
    check_tensors("binomial", count=count, prob=prob)
    for name, t in (("count", count), ("prob", prob)):
        if not t._k.is_float:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{scalar_name(t._k.dtype)}"
            )
    if count._k.dtype is not prob._k.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_name(prob._k.dtype)} but expected {scalar_name(count._k.dtype)}"
        )
    if count._k.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("binomial_cpu", count)
    if count._k is not prob._k:
        core("add")(count, prob)  # says that the devices differ
    with no_grad():
        made = drawn([count, prob], generator, _successes)
    return underived([made], (count, prob), not_written("binomial"), UNKNOWN)[0]


# -- what is counted -------------------------------------------------------------------------
def _events(draw: Draw, rate: Tensor) -> Tensor:
    endless = rate == math.inf
    finite = rate.masked_fill(endless, 0.0)
    found = _found(
        draw,
        finite,
        [finite],
        first=lambda rate: (-rate).exp(),
        ratio=lambda k, rate: rate / k,
        curve=_curve_of_events,
        log_chance=lambda k, rate: -_deviance(k, rate) - _log_factorial(k),
    )
    return found.masked_fill(endless, math.inf)


def _curve_of_events(rate: Tensor) -> list[Tensor]:
    spread = rate.sqrt() * 2.53 + 0.931
    tails = spread * 0.02483 - 0.059
    # By 1 % more than Hörmann's, which lies up to 0.6 % too low for rates below 1,200.
    scale = (1.1239 + 1.1328 / (spread - 3.4)) * 1.01
    return [spread, tails, rate + 0.43, scale, rate * 0 + math.inf]


def _successes(draw: Draw, count: Tensor, prob: Tensor) -> Tensor:
    certain = core("where")(
        (count <= 0) | (prob <= 0),
        zeros_like(count),
        core("where")(prob >= 1, count, core("where")(count == math.inf, count, count * math.nan)),
    )
    usual = (count > 0) & (count < math.inf) & (prob > 0) & (prob < 1)
    n = count.floor().masked_fill(~usual, 0.0)
    rarely = core("where")(prob > 0.5, 1 - prob, prob).masked_fill(~usual, 0.25)
    found = _found(
        draw,
        n * rarely,
        [n, rarely],
        first=lambda n, p: ((-p).log1p() * n).exp(),
        ratio=lambda k, n, p: (n - (k - 1)) / k * (p / (1 - p)),
        curve=_curve_of_successes,
        log_chance=_log_chance_of_successes,
    )
    return core("where")(usual, core("where")(prob > 0.5, n - found, found), certain)


def _curve_of_successes(n: Tensor, p: Tensor) -> list[Tensor]:
    root = (n * p * (1 - p)).sqrt()
    spread = root * 2.53 + 1.15
    tails = spread * 0.0248 + p * 0.01 - 0.0873
    largest = _log_chance_of_successes(((n + 1) * p).floor(), n, p).exp()
    return [spread, tails, n * p + 0.5, (5.1 / spread + 2.83) * root * largest, n]


def _log_chance_of_successes(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    rest = n - k
    orders = _log_factorial(n) - _log_factorial(k) - _log_factorial(rest)
    return orders - _deviance(k, n * p) - _deviance(rest, n * (1 - p))


# -- how -------------------------------------------------------------------------------------
def _found(
    draw: Draw,
    mean: Tensor,
    operands: list[Tensor],
    *,
    first: Callable[..., Tensor],
    ratio: Callable[..., Tensor],
    curve: Callable[..., list[Tensor]],
    log_chance: Callable[..., Tensor],
) -> Tensor:
    """Counts of a distribution for a vector of operands.

    *first* is the probability of 0, *ratio* that of a count by that of the one before it, and
    *curve* gives the spread, tails, middle and scale of Hörmann's curve, and the largest count.
    """
    n = mean._s[0]
    u, v = draw(0, n)
    many = nonzero(mean >= _FEW).reshape(-1)
    if many._s[0] == 0:
        return _summed(u, first(*operands), ratio, operands)
    chosen = [x[many] for x in operands]
    found = until_taken(
        draw,
        (u[many], v[many]),
        [*curve(*chosen), *chosen],
        lambda u, v, *given: _under_curve(u, v, list(given), log_chance),
    )
    if many._s[0] == n:
        return found
    few = nonzero(mean < _FEW).reshape(-1)
    chosen = [x[few] for x in operands]
    rest = _summed(u[few], first(*chosen), ratio, chosen)
    return zeros_like(mean).index_copy(0, many, found).index_copy(0, few, rest)


def _summed(u: Tensor, chance: Tensor, ratio: Any, operands: list[Tensor]) -> Tensor:
    """The least counts whose probabilities sum up to more than *u*."""
    total, found, k = chance, zeros_like(u), 0
    while True:
        for _ in range(4):  # steps between two looks at the values
            k += 1
            more = (u >= total) & (chance > _NEGLIGIBLE)
            found = found + more
            chance = chance * ratio(k, *operands)
            total = total + chance
        if not every_value(more).any():
            return found


def _under_curve(
    u: Tensor, v: Tensor, given: list[Tensor], log_chance: Any
) -> tuple[Tensor, Tensor]:
    """Counts under the curve, and which of them are taken."""
    spread, tails, middle, scale, most, *operands = given
    across = u - 0.5
    margin = 0.5 - across.abs()
    k = ((tails * 2 / margin + spread) * across + middle).floor()
    allowed = (k >= 0) & (k <= most)
    k = core("minimum")(k.clamp(min=0.0), most)
    height = v * scale / (tails / (margin * margin) + spread)
    return k, allowed & (height <= log_chance(k, *operands).exp())


# -- probabilities without cancellation ------------------------------------------------------
def _deviance(k: Tensor, mean: Tensor) -> Tensor:
    """``k * log(k / mean) - (k - mean)``, exact to rounding near the mean, too.

    Source: Loader, "Fast and accurate computation of binomial probabilities", 2000.
    """
    x = (k - mean) / mean
    series = 1 / 90 - x / 110
    for j in (9, 8, 7, 6, 5, 4, 3, 2):
        series = (1 if j % 2 == 0 else -1) / (j * (j - 1)) + x * series
    far = core("xlog1py")(x + 1, x) - x
    return mean * core("where")(x.abs() < 0.02, x * x * series, far)


_TABLE = 16


@functools.cache
def _table() -> np.ndarray:
    """``log(k!) - k log(k) + k``."""
    return np.array([math.lgamma(k + 1) - k * math.log(k or 1) + k for k in range(_TABLE)])


def _log_factorial(k: Tensor) -> Tensor:
    """``log(k!) - k log(k) + k``, by a table and by Stirling's series."""
    kind = k._k
    table = from_array(kind.from_host(_table().astype(kind.dtype.name)), kind)
    small = table[k.clamp(max=_TABLE - 1).to(dtypes.int64)]
    z = 1 / k.clamp(min=_TABLE)
    square = z * z
    series = z * (
        1 / 12
        - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188))))
    )
    large = (k.clamp(min=_TABLE) * (2 * math.pi)).log() * 0.5 + series
    return core("where")(k < _TABLE, small, large)
