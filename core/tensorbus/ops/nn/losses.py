"""Rows of the losses that deserve a derivative of their own."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import row

# Scores in dimension 1 of (N, C), class numbers in ``i`` of (N,); ``c`` marks those that count.
# fmt: off
row("nll_rows", "x:T, i:T, c:T", composite=lambda F, x, i, c: _nll(F, x, i, c),
    x=lambda F, g, x_shape, i, c: F.nll_rows_backward(g, i, c, tuple(x_shape)))
row("nll_rows_backward", "g:T, i:T, c:T, shape",
    composite=lambda F, g, i, c, shape: _nll_backward(F, g, i, c, shape),
    g=lambda F, g, i, c: F.nll_rows(g, i, c))
row("cross_entropy_rows", "x:T, i:T, c:T",
    composite=lambda F, x, i, c: F.nll_rows(F.log_softmax(x, 1), i, c),
    x=lambda F, g, x, i, c: _cross_entropy_backward(F, g, x, i, c))
row("cross_entropy_mean", "x:T, i:T, ignore",
    composite=lambda F, x, i, ignore: _mean_loss(F, x, i, ignore),
    x=lambda F, g, x, i, ignore: F.cross_entropy_mean_backward(g, x, i, ignore))
row("cross_entropy_mean_backward", "g:T, x:T, i:T, ignore",
    composite=lambda F, g, x, i, ignore: _mean_loss_backward(F, g, x, i, ignore))
row("bce_logits", "x:T, y:T",
    composite=lambda F, x, y: F.add(F.sub(F.maximum(x, 0.0), F.mul(x, y)),
                                    F.log1p(F.exp(F.neg(F.abs(x))))),
    x=lambda F, g, x, y: F.mul(g, F.sub(F.sigmoid(x), y)),
    y=lambda F, g, x: F.neg(F.mul(g, x)))
row("smooth_l1", "x:T, y:T, beta",
    composite=lambda F, x, y, beta: _smooth(F, F.sub(x, y), beta),
    x=lambda F, g, x, y, beta: F.mul(g, _slope(F, x, y, beta)),
    y=lambda F, g, x, y, beta: F.neg(F.mul(g, _slope(F, x, y, beta))))
# fmt: on


def _nll(F: Any, x: Any, i: Any, c: Any) -> Any:
    n = x.shape[0]
    places = F.i64.mul(i, F.i64.cast(c, F.bool))  # rows that do not count read class 0
    picked = F.reshape(F.gather(x, 1, F.i64.reshape(places, (n, 1))), (n,))
    return F.where(c, F.neg(picked), F.number(0))


def _nll_backward(F: Any, g: Any, i: Any, c: Any, shape: Any) -> Any:
    n = shape[0]
    places = F.i64.reshape(F.i64.mul(i, F.i64.cast(c, F.bool)), (n, 1))
    values = F.reshape(F.where(c, F.neg(g), F.number(0)), (n, 1))
    return F.scatter(F.zeros(shape), 1, places, values, "set")


def _mean_loss(F: Any, x: Any, i: Any, ignore: int) -> Any:
    counted = F.i64.ne(i, ignore)
    total = F.sum(F.nll_rows(F.log_softmax(x, 1), i, counted), (0,))
    return F.div(total, F.sum(F.cast(counted, F.bool), (0,)))


def _mean_loss_backward(F: Any, g: Any, x: Any, i: Any, ignore: int) -> Any:
    counted = F.i64.ne(i, ignore)
    each = F.cast(counted, F.bool)
    each = F.mul(each, F.div(g, F.sum(each, (0,))))
    chosen = F.nll_rows_backward(each, i, counted, tuple(x.shape))
    return F.add(F.mul(F.softmax(x, 1), F.unsqueeze(each, 1)), chosen)


def _cross_entropy_backward(F: Any, g: Any, x: Any, i: Any, c: Any) -> Any:
    counted = F.where(c, g, F.number(0))
    chosen = F.nll_rows_backward(g, i, c, tuple(x.shape))
    return F.add(F.mul(F.softmax(x, 1), F.unsqueeze(counted, 1)), chosen)


def _smooth(F: Any, d: Any, beta: float) -> Any:
    a = F.abs(d)
    if beta == 0:
        return a
    return F.where(F.lt(a, beta), F.mul(F.mul(a, a), 0.5 / beta), F.sub(a, 0.5 * beta))


def _slope(F: Any, x: Any, y: Any, beta: float) -> Any:
    d = F.sub(x, y)
    if beta == 0:
        return F.sign(d)
    return F.clamp(F.mul(d, 1.0 / beta), -1.0, 1.0)
