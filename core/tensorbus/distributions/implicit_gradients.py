"""How samples move with their distribution's parameters while their probability stays the same.

For a sample x of a distribution with the density p and the parameter a this slope of the quantile
function is ``-(d/da cdf(x)) / p(x)``. The derivative of the cdf is an integral of ``p(t)`` times a
function of t that changes its sign once, up to x, or from x on with the other sign: of the two, the
one whose integrand has one sign everywhere is computed, so nothing cancels.

The integrals go from 0 to infinity over ``u``, the logarithm of how far t is from x. With
``u = s * exp(v - exp(-v))`` the integrand falls double exponentially on both sides, and a sum over
equal steps of v gives it. Where the sample is small the integral is a short series instead.

Sources: Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018; Takahasi and
Mori, "Double exponential formulas for numerical integration", 1974.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.casting import to_kind
from tensorbus.ops.pointwise.special import widest

_STEPS = np.linspace(-3.7, 3.5, 80)
_POINTS = np.exp(_STEPS - np.exp(-_STEPS))
_WEIGHTS = (_STEPS[1] - _STEPS[0]) * _POINTS * (1 + np.exp(-_STEPS))
_AT_ONCE = 8
"""How many points are computed together: temporaries are so many times as large as the sample."""


def _integral(integrand: Callable[[Tensor], Tensor], scale: Tensor) -> Tensor:
    """The integral from 0 to infinity of what falls within some *scale*."""
    total = tensorbus.zeros_like(scale)
    for start in range(0, len(_POINTS), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        column = (-1,) + (1,) * scale.dim()
        points = scale.new_tensor(_POINTS[part].tolist()).reshape(column)
        weights = scale.new_tensor(_WEIGHTS[part].tolist()).reshape(column)
        total = total + (integrand(points * scale) * weights).sum(0)
    return total * scale


def _fall(slope: Tensor, bend: Tensor) -> Tensor:
    """Where ``slope * u + bend * u**2 / 2`` is 1."""
    return 2 / (slope + (slope * slope + 2 * bend).sqrt())


# -- the gamma distribution ------------------------------------------------------------------
_SMALL_SAMPLE = 0.5
_TERMS = 24


def standard_gamma_grad(concentration: Tensor, sample: Tensor) -> Tensor:
    """The slope in *concentration* of quantiles of the gamma distribution with rate 1."""
    k = concentration._k
    a, x = (to_kind(t, widest(k)) for t in (concentration, sample))
    small = x < _SMALL_SAMPLE
    found = tensorbus.where(
        small,
        _gamma_series(a, x.clamp(max=_SMALL_SAMPLE)),
        _gamma_integral(a, x.clamp(min=_SMALL_SAMPLE)),
    )
    return to_kind(found, k)


def _gamma_series(a: Tensor, x: Tensor) -> Tensor:
    """``log(x) - digamma(a + 1 + n)`` is negative for all n."""
    term, total = tensorbus.ones_like(x), tensorbus.zeros_like(x)
    middle = x.log() - (a + 1).digamma()
    for n in range(_TERMS):
        total = total - term * middle
        term = term * x / (a + (1 + n))
        middle = middle - 1 / (a + (1 + n))
    return total * x / a


def _gamma_integral(a: Tensor, x: Tensor) -> Tensor:
    above = (x / a).log() + (a.log() - a.digamma())
    side = tensorbus.where(above < 0, -1.0, 1.0).to(x)
    far = above.abs()

    def integrand(u: Tensor) -> Tensor:
        t = side * u
        return (a * t - x * t.expm1()).exp() * (u + far)

    return x * _integral(integrand, _fall((a - x).abs(), x))


# -- the beta distribution -------------------------------------------------------------------
_SMALL_SHARE = 0.4


def dirichlet_grad(sample: Tensor, concentration: Tensor, total: Tensor) -> Tensor:
    """The slope in *concentration* of quantiles of beta distributions, over ``1 - sample``.

    The second parameter is ``total - concentration``, and stays the same.
    """
    k = sample._k
    x, a, total = (to_kind(t, widest(k)) for t in (sample, concentration, total))
    limits = tensorbus.finfo(x.dtype)
    x = x.clamp(min=limits.tiny, max=1 - limits.eps)
    b = total - a
    most = _SMALL_SHARE / total.clamp(min=2.0)
    found = tensorbus.where(
        x < most,
        _beta_series(x.minimum(most), a, b),
        _beta_integral(x.maximum(most), a, b),
    )
    return to_kind(found, k)


def _beta_series(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Powers of x from ``(1 - t) ** (b - 1)``; the first has the pole of ``digamma(a)`` at 0."""
    middle = a.digamma() - (a + b).digamma() - x.log()
    total = ((a + 1).digamma() - (a + b).digamma() - x.log()) / a
    term = tensorbus.ones_like(x)
    for n in range(1, _TERMS):
        term = term * x * (n - b) / n
        total = total + term * (middle + 1 / (a + n)) / (a + n)
    return total * x * (-b * (-x).log1p()).exp()


def _beta_integral(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    middle = a.digamma() - (a + b).digamma()
    log_x, rest = x.log(), 1 - x
    below = log_x < middle
    # Up to x: t = x * exp(-u). From x on: 1 - t = (1 - x) * exp(-u).
    own, other = tensorbus.where(below, a, b), tensorbus.where(below, b, a) - 1
    near, far = tensorbus.where(below, x, rest), tensorbus.where(below, rest, x)
    bends = other > 0
    slope = tensorbus.where(bends, own - other * near / far, own)
    bend = tensorbus.where(bends, other * near / (far * far), tensorbus.zeros_like(x))
    log_far = far.log()

    def integrand(u: Tensor) -> Tensor:
        log_other = (-near * (-u).exp()).log1p()
        weight = tensorbus.where(below, u + (middle - log_x), log_other - middle)
        return (-own * u + other * (log_other - log_far)).exp() * weight

    found = _integral(integrand, _fall(slope.clamp(min=0.0), bend))
    return tensorbus.where(below, found * x / rest, found)
