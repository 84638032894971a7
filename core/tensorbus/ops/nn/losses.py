"""Rows of the losses that deserve a derivative of their own."""

from __future__ import annotations

from typing import Any

from tensorbus.ops.pointwise.compositions import in_single
from tensorbus.rows.registry import row

# Scores in dimension 1 of (N, C), class numbers in ``i`` of (N,); ``c`` marks those that count.
# fmt: off
row("nll_rows", "x:T, i:int64, c:bool",
    doc="``-x[n, i[n]]`` for each row n of *x* where *c* is true, else 0.",
    piecewise_linear=True,
    composite=lambda F, x, i, c: _nll(F, x, i, c),
    x=lambda F, g, x_shape, i, c: F.nll_rows_backward(g, i, c, tuple(x_shape)))
row("nll_rows_backward", "g:T, i:int64, c:bool, shape",
    doc="The derivative of ``nll_rows``: zeros of *shape*, with ``-g[n]`` at index ``i[n]`` of "
        "each row n where *c* is true.",
    composite=lambda F, g, i, c, shape: _nll_backward(F, g, i, c, shape),
    g=lambda F, g, i, c: F.nll_rows(g, i, c))
row("cross_entropy_rows", "x:T, i:int64, c:bool",
    doc="``-log_softmax(x, 1)[n, i[n]]`` for each row n of *x* where *c* is true, else 0.",
    in_float32=True,
    composite=lambda F, x, i, c: F.nll_rows(F.log_softmax(x, 1), i, c),
    x=lambda F, g, x, i, c: _cross_entropy_backward(F, g, x, i, c))
row("cross_entropy_mean", "x:T, i:int64, ignore",
    doc="The mean of ``-log_softmax(x, 1)[n, i[n]]`` over the rows n whose *i* is not *ignore*.",
    in_float32=True,
    composite=lambda F, x, i, ignore: _mean_loss(F, x, i, ignore),
    x=lambda F, g, x, i, ignore: F.cross_entropy_mean_backward(g, x, i, ignore))
row("cross_entropy_mean_backward", "g:T, x:T, i:int64, ignore",
    doc="The derivative of ``cross_entropy_mean`` for *x*, times the gradient *g*.",
    in_float32=True,
    composite=lambda F, g, x, i, ignore: _mean_loss_backward(F, g, x, i, ignore))
row("bce_logits", "x:T, y:T",
    doc="``(1 - y) * x - log_sigmoid(x)``: the cross entropy of the logits *x* and the targets "
        "*y*.",
    in_float32=True,
    composite=lambda F, x, y: F.sub(F.mul(F.sub(F.number(1), y), x), F.log_sigmoid(x)),
    x=lambda F, g, x, y: F.mul(g, F.sub(F.sigmoid(x), y)),
    y=lambda F, g, x: F.neg(F.mul(g, x)))
row("bce", "x:T, y:T",
    doc="``-(y * log(x) + (1 - y) * log(1 - x))`` with logarithms of at least -100.",
    node_name="BinaryCrossEntropyBackward0",
    in_float32=True,
    composite=lambda F, x, y: in_single(F, _bce, x, y),
    x=lambda F, g, x, y: F.bce_backward(g, x, y),
    y=lambda F, g, x: F.mul(g, F.sub(F.log1p(F.neg(x)), F.log(x))))
row("bce_backward", "d:T, x:T, y:T",
    doc="The derivative of ``bce`` for *x*, times the gradient *d*: ``d * (x - y) / (x * (1 - "
        "x))``.",
    in_float32=True,
    composite=lambda F, d, x, y: in_single(F, _bce_backward, d, x, y),
    d=lambda F, g, x, y: in_single(F, _bce_slope, g, F.sub(x, y), x),
    x=lambda F, g, d, x, y: in_single(F, _bce_curve, F.mul(g, d), x, y),
    y=lambda F, g, d, x: F.neg(in_single(F, _bce_slope, g, d, x)))
row("smooth_l1", "x:T, y:T, beta",
    doc="``d * d / (2 * beta)`` where ``d = abs(x - y)`` is below *beta*, else ``d - beta / 2``.",
    in_float32=True,
    composite=lambda F, x, y, beta: _smooth(F, F.sub(x, y), beta),
    x=lambda F, g, x, y, beta: F.mul(g, _slope(F, x, y, beta)),
    y=lambda F, g, x, y, beta: F.neg(F.mul(g, _slope(F, x, y, beta))))
# fmt: on


def _nll(F: Any, x: Any, i: Any, c: Any) -> Any:
    n = x.shape[0]
    classes = F.i64.mul(i, F.i64.cast(c, F.bool))  # rows that do not count read class 0
    picked = F.reshape(F.gather(x, 1, F.i64.reshape(classes, (n, 1))), (n,))
    return F.where(c, F.neg(picked), F.number(0))


def _nll_backward(F: Any, g: Any, i: Any, c: Any, shape: Any) -> Any:
    n = shape[0]
    classes = F.i64.reshape(F.i64.mul(i, F.i64.cast(c, F.bool)), (n, 1))
    values = F.reshape(F.where(c, F.neg(g), F.number(0)), (n, 1))
    return F.scatter(F.zeros(shape), 1, classes, values, "set")


def _mean_loss(F: Any, x: Any, i: Any, ignore: int) -> Any:
    counted = F.i64.ne(i, ignore)
    total = F.sum(F.nll_rows(F.log_softmax(x, 1), i, counted), (0,))
    return F.div(total, F.sum(F.cast(counted, F.bool), (0,)))


def _mean_loss_backward(F: Any, g: Any, x: Any, i: Any, ignore: int) -> Any:
    counted = F.i64.ne(i, ignore)
    n = F.sum(F.cast(counted, F.bool), (0,))
    each = F.where(counted, F.div(g, n), F.number(0))
    chosen = F.nll_rows_backward(each, i, counted, tuple(x.shape))
    return F.add(F.mul(F.softmax(x, 1), F.unsqueeze(each, 1)), chosen)


def _cross_entropy_backward(F: Any, g: Any, x: Any, i: Any, c: Any) -> Any:
    counted = F.where(c, g, F.number(0))
    chosen = F.nll_rows_backward(g, i, c, tuple(x.shape))
    return F.add(F.mul(F.softmax(x, 1), F.unsqueeze(counted, 1)), chosen)


def _bce(F: Any, x: Any, y: Any) -> Any:
    """Logarithms are cut at -100, so that no loss is infinite."""
    taken = F.mul(y, F.maximum(F.log(x), -100.0))
    left = F.mul(F.sub(F.number(1), y), F.maximum(F.log1p(F.neg(x)), -100.0))
    return F.neg(F.add(taken, left))


_LEAST = 1e-12
"""Stands for a probability of 0 where it is divided by."""


def _bce_backward(F: Any, d: Any, x: Any, y: Any) -> Any:
    both = F.mul(x, F.sub(F.number(1), x))
    return F.div(F.mul(d, F.sub(x, y)), F.maximum(both, _LEAST))


def _bce_slope(F: Any, g: Any, d: Any, x: Any) -> Any:
    return F.div(F.mul(g, d), _chances(F, x))


def _bce_curve(F: Any, g: Any, x: Any, y: Any) -> Any:
    square = F.add(F.sub(F.mul(x, x), F.mul(F.mul(x, y), 2.0)), y)
    both = _chances(F, x)
    return F.mul(g, F.div(F.div(square, both), both))


def _chances(F: Any, x: Any) -> Any:
    """The product of a probability and its counterpart, never 0."""
    return F.mul(F.add(x, _LEAST), F.add(F.sub(F.number(1), x), _LEAST))


def _smooth(F: Any, d: Any, beta: float) -> Any:
    a = F.abs(d)
    if beta == 0:
        return a
    return F.where(F.lt(a, beta), F.mul(F.mul(a, a), 0.5 / beta), F.sub(a, 0.5 * beta))


def _slope(F: Any, x: Any, y: Any, beta: float) -> Any:
    d = F.sub(x, y)
    if beta == 0:
        return F.sign(d)
    if not F.records:
        return F.clamp(F.mul(d, 1.0 / beta), -1.0, 1.0)
    d = F.mul(d, 1.0 / beta)
    return F.where(F.lt(F.abs(d), 1.0), d, F.round(F.clamp(d, -1.0, 1.0)))  # flat from beta on
