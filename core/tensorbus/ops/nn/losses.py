"""Rows of the losses that deserve a derivative of their own."""

from __future__ import annotations

from typing import Any

from tensorbus.ops.pointwise.compositions import in_single, sigmoid_in_rule
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
row("cross_entropy", "x:T, i:int64, w:T?, ignore, smoothing, reduction",
    results="loss:same top:same total:same", domain="ordered float",
    node_name="NllLossBackward0",
    doc="The cross entropy of the rows of *x* and the classes *i*, of which *w* has the weights, "
        "reduced as *reduction* says: ``none``, ``sum`` or ``mean``, which divides by the weights; "
        "rows whose *i* is *ignore* do not count; a share *smoothing* of each target belongs to "
        "all classes alike; *top* and *total* are what ``softmax_statistics`` gives.",
    composite=lambda F, x, i, w, ignore, smoothing, reduction:
        _cross_entropy(F, x, i, w, ignore, smoothing, reduction),
    x=lambda F, g, x, i, w, top, total, ignore, smoothing, reduction:
        _cross_entropy_input(F, g, x, i, w, top, total, ignore, smoothing, reduction))
row("cross_entropy_backward", "g:T, x:T, i:int64, w:T?, top:T, total:T, ignore, smoothing, "
    "reduction", domain="ordered float",
    doc="The derivative of ``cross_entropy`` for *x*, times the gradient *g*.",
    composite=lambda F, g, x, i, w, top, total, ignore, smoothing, reduction:
        _cross_entropy_backward(F, g, x, i, w, top, total, ignore, smoothing, reduction))
row("softmax_statistics", "x:T",
    results="top:same total:same", domain="ordered float",
    doc="Of each row of *x* the maximum *top*, and the sum of ``exp(x - top)``.",
    composite=lambda F, x: _softmax_statistics(F, x))
row("class_shares", "g:T, i:int64, w:T?, total:T, ignore, smoothing, reduction, n",
    results="own:same scale:same spread:same classes:int64", domain="ordered float",
    doc="Of the gradient *g* of ``cross_entropy`` of *n* classes what each row adds to its class, "
        "what it multiplies its exponentials with, what it takes from every class where there is "
        "*smoothing*, and its class, 0 for rows that do not count.",
    composite=lambda F, g, i, w, total, ignore, smoothing, reduction, n:
        _class_shares(F, g, i, w, total, ignore, smoothing, reduction, n))
row("scaled_exponentials", "x:T, top:T, scale:T",
    domain="ordered float",
    doc="``exp(x - top) * scale``, where each row of *x* has one *top* and one *scale*.",
    composite=lambda F, x, top, scale: F.mul(
        F.exp(F.sub(x, F.unsqueeze(top, 1))), F.unsqueeze(scale, 1)))
row("distances_below", "x:T, level:T, w:T?",
    domain="ordered float",
    doc="The sum of ``(level - x) * w`` along the rows of *x*, each of which has one *level*.",
    composite=lambda F, x, level, w: _distances_below(F, x, level, w))
row("bce_logits", "x:T, y:T",
    doc="``(1 - y) * x - log_sigmoid(x)``: the cross entropy of the logits *x* and the targets "
        "*y*.",
    in_float32=True,
    composite=lambda F, x, y: F.sub(F.mul(F.sub(F.number(1), y), x), F.log_sigmoid(x)),
    x=lambda F, g, x, y: F.mul(g, F.sub(sigmoid_in_rule(F, x), y)),
    y=lambda F, g, x: F.neg(F.mul(g, x)))
row("bce", "x:T, y:T",
    doc="``-(y * log(x) + (1 - y) * log(1 - x))`` with logarithms of at least -100.",
    node_name="BinaryCrossEntropyBackward0",
    in_float32=True,
    composite=lambda F, x, y: in_single(F, _bce, x, y),
    x=lambda F, g, x, y: F.bce_backward(g, x, y),
    y=lambda F, g, x: F.mul(g, F.sub(F.log1p(F.neg(x)), F.log(x))))
row("outside_unit", "x:T", result="bool", domain="ordered float", keeps_order=True,
    doc="Whether *x* is below 0, above 1 or NaN.",
    composite=lambda F, x: F.bool.logical_not(F.ge(F.mul(x, F.sub(F.number(1), x)), 0.0)))
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


def _softmax_statistics(F: Any, x: Any) -> tuple[Any, Any]:
    top = F.amax(x, (1,))
    return top, F.sum(F.exp(F.sub(x, F.unsqueeze(top, 1))), (1,))


def _distances_below(F: Any, x: Any, level: Any, w: Any) -> Any:
    distances = F.sub(F.unsqueeze(level, 1), x)
    return F.sum(distances if w is None else F.mul(distances, w), (1,))


def _cross_entropy(
    F: Any, x: Any, i: Any, w: Any, ignore: int, smoothing: float, reduction: str
) -> tuple[Any, Any, Any]:
    counted, classes = _counted(F, i, ignore)
    top, total = F.softmax_statistics(x)
    picked = F.reshape(F.gather(x, 1, F.i64.unsqueeze(classes, 1)), tuple(i.shape))
    log_total = F.log(total)
    each = F.sub(log_total, F.sub(picked, top))  # two differences, so that no digits are lost
    shares = _shares(F, w, classes, counted)
    if w is not None:
        each = F.mul(each, shares)
    if smoothing:
        below = F.distances_below(x, F.add(top, log_total), w)
        spread = F.mul(F.div(below, float(x.shape[1])), smoothing)
        each = F.add(F.mul(each, 1 - smoothing), spread)
    each = F.where(counted, each, F.number(0))
    if reduction == "none":
        return each, top, total
    loss = F.sum(each, (0,))
    return (F.div(loss, F.sum(shares, (0,))) if reduction == "mean" else loss), top, total


def _counted(F: Any, i: Any, ignore: int) -> tuple[Any, Any]:
    """Which rows count, and the classes, with 0 for rows that do not."""
    counted = F.i64.ne(i, ignore)
    return counted, F.i64.mul(i, F.i64.cast(counted, F.bool))


def _shares(F: Any, w: Any, classes: Any, counted: Any) -> Any:
    """The weight of each row: that of its class, 0 for rows that do not count."""
    if w is None:
        return F.cast(counted, F.bool)
    return F.where(counted, F.gather(w, 0, classes), F.number(0))


def _cross_entropy_input(
    F: Any,
    g: Any,
    x: Any,
    i: Any,
    w: Any,
    top: Any,
    total: Any,
    ignore: int,
    smoothing: float,
    reduction: str,
) -> Any:
    """*top* has no gradient: what it takes from *x* it gives to *total*."""
    loss, _, of_total = g
    found = None
    if loss is not None:
        options = ignore, smoothing, reduction
        found = F.cross_entropy_backward(loss, x, i, w, top, total, *options)
    if of_total is not None:
        more = F.scaled_exponentials(x, top, of_total)
        found = more if found is None else F.add(found, more)
    return found


def _cross_entropy_backward(
    F: Any,
    g: Any,
    x: Any,
    i: Any,
    w: Any,
    top: Any,
    total: Any,
    ignore: int,
    smoothing: float,
    reduction: str,
) -> Any:
    options = ignore, smoothing, reduction, x.shape[1]
    own, scale, spread, classes = F.class_shares(g, i, w, total, *options)
    y = F.scaled_exponentials(x, top, scale)
    if smoothing:
        each = F.unsqueeze(spread, 1)
        y = F.sub(y, each if w is None else F.mul(each, w))
    if F.records:
        at = classes, F.i64.ge(classes, 0), tuple(x.shape)
        return F.add(y, F.nll_rows_backward(F.neg(own), *at))
    return F.scatter(y, 1, F.i64.unsqueeze(classes, 1), F.unsqueeze(own, 1), "add")


def _class_shares(
    F: Any,
    g: Any,
    i: Any,
    w: Any,
    total: Any,
    ignore: int,
    smoothing: float,
    reduction: str,
    n: int,
) -> tuple[Any, Any, Any, Any]:
    counted, classes = _counted(F, i, ignore)
    shares = _shares(F, w, classes, counted)
    if reduction == "mean":
        g = F.div(g, F.sum(shares, (0,)))
    g = F.where(counted, g, F.number(0))
    own = g if w is None else F.mul(g, shares)
    if not smoothing:
        return F.neg(own), F.div(own, total), own, classes
    own = F.mul(own, 1 - smoothing)
    spread = F.mul(F.div(g, float(n)), smoothing)
    every = F.mul(spread, float(n) if w is None else F.sum(w, (0,)))
    return F.neg(own), F.div(F.add(own, every), total), spread, classes


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
