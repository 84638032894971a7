"""Connectionist temporal classification over probabilities instead of their logarithms.

A step is then four calls of NumPy. Probabilities are float64, relative to the most probable label
of their step, and what a sample has is scaled now and then. Numbers whose range that does not
cover are left to the composition: whatever is not zero stays far above what float64 rounds to it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tensorbus.plugin import Array, Kernel, dtype, may_decline
from tensorbus.plugin.array_library import Table, quiet
from tensorbus.plugin.array_library.table import FLOAT

TABLE = Table()

_STEP = 100.0
"""The largest difference of logarithms within a step."""
_RANGE = 600.0
"""How far below 1 logarithms may be: with a step more they are still in the range of float64."""
_PERIOD = 16
"""The most steps after which a sample is scaled."""


class _Lattice(NamedTuple):
    """A state for each label and for each blank around them, in all steps."""

    labels: Array
    """(S, N): the class of each label, blank behind the last."""
    p: Array
    """(T, 2 S + 1, N): how probable the state is, relative to the most probable one."""
    most: Array
    """(T, N): the logarithm of the probability of that one."""
    leaps: Array
    """(2 S + 1, N): 1 where a path may come from two states before."""
    period: int


def _lattice(x: Array, y: Array, lengths: Array, blank: int) -> _Lattice | None:
    """None for labels that are no classes, and numbers of too wide a range."""
    (times, n, classes), count = x.shape, y.shape[1]
    labels = np.where(np.arange(count)[:, None] < lengths, y.T, blank)
    if count and (
        np.minimum.reduce(labels, None) < 0 or np.maximum.reduce(labels, None) >= classes
    ):
        return None
    states = np.full((2 * count + 1, n), blank)
    states[1::2] = labels
    leaps = np.zeros(states.shape)
    leaps[3::2] = (labels[1:] != labels[:-1]) & (labels[1:] != blank)
    places = states + np.arange(0, n * classes, classes)
    p = x.reshape(times, n * classes).take(places, 1).astype(np.float64)
    most = np.maximum.reduce(p, 1)
    p -= most[:, None]
    widest = -float(np.minimum.reduce(p, None))
    if not widest <= _STEP:  # nor for NaN
        return None
    period = max(1, min(_PERIOD, int(_RANGE / 3 / max(widest, 1.0))))
    return _Lattice(labels, np.exp(p, p), most, leaps, period)


def _in_range(x: Array) -> bool:
    """Whether nothing that should be more has become zero."""
    return bool(np.minimum.reduce(np.where(x == 0, 1.0, x), None) > math.exp(-_RANGE))


def ctc_loss(x: Array, y: Array, steps: Array, lengths: Array, blank: int) -> Any:
    """The losses, and the logarithms of the probabilities of the beginnings of paths."""
    lattice = _lattice(x, y, lengths, blank)
    if lattice is None:
        return NotImplemented
    _, p, most, leaps, period = lattice
    times, size, n = p.shape
    # Two states before the first, which no path is in, stand for what is not there.
    alpha, scales = np.zeros((times, size + 2, n)), np.ones((times, n))
    alpha[0, 2:4] = p[0, :2]
    before, after, leaping = alpha[:-1], alpha[1:, 2:], np.empty((size, n))
    ways = before[:, 2:], before[:, 1:-1], before[:, :-2], after, p[1:]
    for t, (stay, go, leap, now, own) in enumerate(zip(*ways, strict=True), 1):
        np.add(stay, go, now)
        np.multiply(leap, leaps, leaping)
        np.add(now, leaping, now)
        np.multiply(now, own, now)
        if not t % period:
            np.add.reduce(now, 0, None, scales[t])
            np.divide(now, scales[t], now)
    if not _in_range(alpha):
        return NotImplemented
    np.log(alpha, alpha)
    alpha += np.cumsum(np.log(scales) + most, 0)[:, None]
    each = np.arange(n)
    last = alpha[np.maximum(steps - 1, 0), :, each]
    loss = -np.logaddexp(last[each, 2 * lengths + 2], last[each, 2 * lengths + 1])
    loss = np.where(steps < 1, np.where(lengths < 1, 0, math.inf), loss)
    made = np.empty((times, n, size + 2), x.dtype)
    made[...] = alpha.transpose(0, 2, 1)
    return loss.astype(x.dtype), made


def ctc_loss_backward(
    g: Array, x: Array, y: Array, steps: Array, lengths: Array, loss: Array, alpha: Array,
    blank: int,
) -> Any:  # fmt: skip
    """The gradient for what *x* is the log-softmax of."""
    lattice = _lattice(x, y, lengths, blank)
    if lattice is None:
        return NotImplemented
    labels, p, most, leaps, period = lattice
    times, size, n = p.shape
    during = np.arange(times)[:, None] < steps
    p *= during[:, None]
    beta, scales = np.zeros(p.shape), np.ones((times, n))
    ends = np.flatnonzero(steps > 0)
    for shift in (0, 1):
        own = ends[2 * lengths[ends] >= shift]
        beta[steps[own] - 1, 2 * lengths[own] - shift, own] = 1
    begins = {int(t) - 1 for t in steps}
    # Two states behind the last, which no path is in, stand for what is not there.
    ahead, leaping, onward = np.zeros((size + 2, n)), np.empty((size, n)), np.zeros((size, n))
    onward[:-2] = leaps[2:]
    stay, go, leap = ahead[:-2], ahead[1:-1], ahead[2:]
    for t in range(times - 1, -1, -1):
        now = beta[t]
        np.multiply(leap, onward, leaping)
        np.add(leaping, go, leaping)
        np.add(leaping, stay, leaping)
        np.add(now, leaping, now) if t in begins else np.copyto(now, leaping)
        np.multiply(now, p[t], stay)
        if not t % period:
            np.add.reduce(stay, 0, None, scales[t])
            np.copyto(scales[t], 1, where=scales[t] == 0)
            np.divide(stay, scales[t], stay)
    if not _in_range(beta):
        return NotImplemented
    logs = np.where(during, np.log(scales) + most, 0)
    behind = np.cumsum(logs[::-1], 0)[::-1] - logs  # of the steps that come
    shares = np.add(alpha[:, :, 2:].transpose(0, 2, 1), (behind + loss)[:, None])
    np.minimum(shares, _RANGE + _STEP, out=shares)  # what no path goes on from may be infinite
    np.exp(shares, shares)
    shares *= beta
    taken = _by_class(shares, labels, x.shape, blank)
    scale = np.where(loss < math.inf, g, math.nan * g)
    wanted = during & (g != 0)
    made = (np.exp(x) - taken) * scale[:, None]
    return np.where(wanted[:, :, None], made, 0).astype(x.dtype)


def _by_class(shares: Array, labels: Array, shape: tuple[int, ...], blank: int) -> Array:
    """The sums of the shares of all states of a class."""
    times, n, classes = shape
    rows = np.arange(0, times * n * classes, classes).reshape(times, 1, n)
    places, own = (rows + labels).reshape(-1), shares[:, 1::2].reshape(-1)
    found = np.bincount(places, own, times * n * classes)
    made = found.astype(np.float64, copy=False).reshape(shape)  # without labels they are integers
    made[:, :, blank] += np.add.reduce(shares[:, ::2], 1)
    return made


def _offer(function: Kernel) -> None:
    def maker(xp: Any, dtype: dtype) -> Kernel | None:
        return quiet(may_decline(function)) if dtype.itemsize > 2 else None

    TABLE.add(function.__name__, (FLOAT,), maker)


for _function in (ctc_loss, ctc_loss_backward):
    _offer(_function)
