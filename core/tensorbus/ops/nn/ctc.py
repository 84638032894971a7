"""Rows of connectionist temporal classification: sums over all alignments, in logarithms.

*x* is (T, N, C), of logarithms of probabilities. A target with a blank around each of its S labels
is a row of L = 2 S + 1 states; a path begins in one of its first two states and ends in one of the
last two, and each step stays, goes to the next state, or leaves out a blank between two labels that
differ. Both passes go through time with all samples and all states at once.
"""

from __future__ import annotations

import math
from typing import Any

from tensorbus.rows.registry import row, underivable

_LEAST = -1e30
"""Below every sum of logarithms that is not -inf; differences from it are no NaN."""

# fmt: off
row("ctc_loss", "x:T, y:int64, steps:int64, lengths:int64, blank",
    results="loss:same alpha:same", domain="ordered float",
    doc="The negated logarithm of the probability of each row of *y*, whose first *lengths* "
        "labels count, in the first *steps* steps of *x*, and the logarithms *alpha* of the "
        "probabilities of the beginnings of paths.",
    composite=lambda F, x, y, steps, lengths, blank: _loss(F, x, y, steps, lengths, blank),
    x=lambda F, g, x, y, steps, lengths, loss, alpha, blank:
        F.ctc_loss_backward(g[0], x, y, steps, lengths, loss, alpha, blank))
row("ctc_loss_backward", "g:T, x:T, y:int64, steps:int64, lengths:int64, loss:T, alpha:T, blank",
    domain="ordered float",
    doc="The gradient of ``ctc_loss`` for what *x* is the log-softmax of, times *g*.",
    composite=lambda F, g, x, y, steps, lengths, loss, alpha, blank:
        _backward(F, g, x, y, steps, lengths, loss, alpha, blank),
    g=underivable("_ctc_loss_backward: grad"),
    x=underivable("_ctc_loss_backward: log_probs"))
row("ctc_step", "stay:T, go:T, leap:T, allowed:T",
    domain="ordered float",
    doc="``log(exp(stay) + exp(go) + exp(leap + allowed))`` without overflow, also of -inf.",
    composite=lambda F, stay, go, leap, allowed: _step(F, stay, go, F.add(leap, allowed)))
# fmt: on


def _step(F: Any, a: Any, b: Any, c: Any) -> Any:
    top = F.maximum(F.maximum(a, b), F.maximum(c, _LEAST))
    terms = F.add(F.add(F.exp(F.sub(a, top)), F.exp(F.sub(b, top))), F.exp(F.sub(c, top)))
    return F.add(F.log(terms), top)


def _states(F: Any, y: Any, lengths: Any, blank: int) -> tuple[Any, Any]:
    """The class of each state, (N, L), and 0 where a path may leap to it from two before."""
    J, (n, labels) = F.i64, y.shape
    states = J.full((n, 2 * labels + 1), blank)
    allowed = F.full((n, 2 * labels + 1), -math.inf)
    if labels:
        counted = J.lt(J.arange(labels, 0, 1), J.unsqueeze(lengths, 1))
        named = J.where(counted, y, J.full((), blank))
        J.copy_(J.slice(states, 1, 1, 2 * labels + 1, 2), named)
    if labels > 1:
        behind, before = J.slice(named, 1, 1, labels, 1), J.slice(named, 1, 0, labels - 1, 1)
        real = F.bool.bitwise_and(J.ne(behind, before), J.ne(behind, blank))
        leap = F.where(real, F.full((), 0), F.full((), -math.inf))
        F.copy_(F.slice(allowed, 1, 3, 2 * labels + 1, 2), leap)
    return states, allowed


def _emitted(F: Any, x: Any, states: Any) -> tuple[Any, Any]:
    """The logarithm of each state's probability at each time, and the index that picks it."""
    shape = x.shape[0], *states.shape
    index = F.i64.expand(F.i64.unsqueeze(states, 0), shape)
    return F.gather(x, 2, index), index


def _loss(F: Any, x: Any, y: Any, steps: Any, lengths: Any, blank: int) -> tuple[Any, Any]:
    states, allowed = _states(F, y, lengths, blank)
    emitted, _ = _emitted(F, x, states)
    n, size = states.shape
    # Two states before the first, which no path is in, stand for what is not there.
    alpha = F.full((x.shape[0], n, size + 2), -math.inf)
    first = min(size, 2)
    begun = F.slice(F.select(emitted, 0, 0), 1, 0, first, 1)
    F.copy_(F.slice(F.select(alpha, 0, 0), 1, 2, 2 + first, 1), begun)
    for t in range(1, x.shape[0]):
        known = F.select(alpha, 0, t - 1)
        stay, go, leap = (F.slice(known, 1, at, at + size, 1) for at in (2, 1, 0))
        made = F.add(F.ctc_step(stay, go, leap, allowed), F.select(emitted, 0, t))
        F.copy_(F.slice(F.select(alpha, 0, t), 1, 2, size + 2, 1), made)
    return _total(F, alpha, steps, lengths), alpha


def _total(F: Any, alpha: Any, steps: Any, lengths: Any) -> Any:
    """The loss: of what has come to the last two states with the last step of each sample."""
    J, (_, n, width) = F.i64, alpha.shape
    none = J.lt(steps, 1)
    time = J.maximum(J.sub(steps, 1), 0)
    index = J.expand(J.reshape(time, (1, n, 1)), (1, n, width))
    ended = F.reshape(F.gather(alpha, 0, index), (n, width))
    at = J.unsqueeze(J.mul(lengths, 2), 1)
    last, before = (F.gather(ended, 1, J.add(at, shift)) for shift in (2, 1))
    found = F.neg(F.reshape(_step(F, last, before, F.full((n, 1), -math.inf)), (n,)))
    empty = F.where(J.lt(lengths, 1), F.full((), 0), F.full((), math.inf))
    return F.where(none, empty, found)


def _backward(
    F: Any, g: Any, x: Any, y: Any, steps: Any, lengths: Any, loss: Any, alpha: Any, blank: int
) -> Any:
    J, never = F.i64, F.full((), -math.inf)
    states, allowed = _states(F, y, lengths, blank)
    times, (n, size) = x.shape[0], states.shape
    steps = J.reshape(steps, (1, n, 1))
    time = J.reshape(J.arange(times, 0, 1), (times, 1, 1))
    during = J.lt(time, steps)
    emitted, index = _emitted(F, x, states)
    emitted = F.where(during, emitted, never)
    away = J.sub(J.unsqueeze(J.mul(lengths, 2), 1), J.arange(size, 0, 1))
    ends = F.bool.bitwise_and(J.lt(away, 2), J.le(J.full((), 0), away))
    last = F.bool.bitwise_and(J.eq(time, J.sub(steps, 1)), F.bool.unsqueeze(ends, 0))
    ending = F.where(last, F.full((), 0), never)

    ahead = F.full((n, size + 2), -math.inf)
    leaps = F.full((n, size), -math.inf)
    if size > 2:
        F.copy_(F.slice(leaps, 1, 0, size - 2, 1), F.slice(allowed, 1, 2, size, 1))
    stay, go, leap = (F.slice(ahead, 1, at, at + size, 1) for at in (0, 1, 2))
    beta = F.empty((times, n, size))
    for t in range(times - 1, -1, -1):
        made = F.maximum(F.ctc_step(stay, go, leap, leaps), F.select(ending, 0, t))
        F.copy_(F.select(beta, 0, t), made)
        F.copy_(stay, F.add(made, F.select(emitted, 0, t)))

    paths = F.add(F.slice(alpha, 2, 2, size + 2, 1), beta)
    shares = F.exp(F.add(paths, F.reshape(loss, (1, n, 1))))
    taken = F.scatter(F.zeros(tuple(x.shape)), 2, index, shares, "add")
    scale = F.reshape(F.where(F.lt(loss, math.inf), g, F.mul(g, math.nan)), (1, n, 1))
    wanted = F.bool.bitwise_and(during, F.ne(F.reshape(g, (1, n, 1)), 0))
    return F.where(wanted, F.mul(F.sub(F.exp(x), taken), scale), F.full((), 0))
