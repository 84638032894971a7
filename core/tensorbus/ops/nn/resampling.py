"""Each new element the weighted sum of a few old ones: along one dimension, or of whole planes."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import row

# The derivative is the same op with the transposed table, so tables come in pairs.
# fmt: off
row("resampled", "x:T, dim, i:int64, w:T?, back_i:int64, back_w:T?, empty",
    doc="*x* with ``sum(w[t] * x[i[t]] for t in taps)`` in the place of its dimension *dim*, where "
        "*i* and *w* are (taps, n); without *w* all weights are 1; *back_i* and *back_w* are the "
        "table of the derivative; *empty* says of each table whether it has weights of 0, where "
        "an element is the sum of nothing.",
    domain="ordered number",
    in_float32=True, constants="i w back_i back_w",
    composite=lambda F, x, dim, i, w, back_i, back_w, empty: _resampled(F, x, dim, i, w, empty[0]),
    x=lambda F, g, dim, i, w, back_i, back_w, empty:
        F.resampled(g, dim, back_i, back_w, i, w, empty[::-1]))
row("sampled", "x:T, i:int64, f:T?", domain="ordered float",
    doc="For *x* (N, C, P) the sums (N, C, Q) of the K elements of its last dimension that *i* "
        "(K, N, Q) names, times their factors *f*; P names a zero.",
    composite=lambda F, x, i, f: _sampled(F, x, i, f),
    x=lambda F, g, x_shape, i, f: F.sampled_spread(g, i, f, x_shape[2]),
    f=lambda F, g, x, i: F.sampled_products(g, x, i))
row("sampled_spread", "x:T, i:int64, f:T?, size", domain="ordered float",
    doc="The derivative of ``sampled``: zeros (N, C, *size*), and each element of *x* (N, C, Q), "
        "times its K factors in *f*, added to those that *i* (K, N, Q) names but *size*.",
    composite=lambda F, x, i, f, size: _spread(F, x, i, f, size),
    x=lambda F, g, i, f: F.sampled(g, i, f),
    f=lambda F, g, x, i: F.sampled_products(x, g, i))
row("sampled_products", "x:T, w:T, i:int64", domain="ordered float",
    doc="For each element of *i* (K, N, Q) the sum over C of the products of *x* (N, C, Q) in its "
        "place, and of *w* (N, C, P) in the one that it names; P names a zero.",
    composite=lambda F, x, w, i: _products(F, x, w, i),
    x=lambda F, g, w, i: F.sampled(w, i, g),
    w=lambda F, g, x, w_shape, i: F.sampled_spread(x, i, g, w_shape[2]))
# fmt: on


def _resampled(F: Any, x: Any, dim: int, i: Any, w: Any, empty: bool) -> Any:
    total = None
    shape = tuple(i.shape[1] if d == dim else 1 for d in range(len(x.shape)))
    for t in range(i.shape[0]):
        tap = F.take(x, dim, F.i64.contiguous(F.i64.select(i, 0, t)), False)
        if w is not None:
            line = F.view(F.contiguous(F.select(w, 0, t)), shape)
            tap = F.mul(tap, line)
            if empty:  # what is not meant may be infinite
                tap = F.where(F.ne(line, 0.0), tap, 0.0)
        total = tap if total is None else F.add(total, tap, out=total)
    return total


# -- planes ------------------------------------------------------------------------------------
def _beside_zero(F: Any, x: Any) -> Any:
    return F.concatenate([x, F.zeros((*x.shape[:2], 1))], 2)


def _named(F: Any, i: Any, k: int, channels: int) -> Any:
    """What names the element *k* of each sum, for all channels."""
    one = F.i64.unsqueeze(F.i64.select(i, 0, k), 1)
    return F.i64.expand(one, (i.shape[1], channels, i.shape[2]))


def _factor(F: Any, f: Any, k: int) -> Any:
    return F.unsqueeze(F.select(f, 0, k), 1)


def _sampled(F: Any, x: Any, i: Any, f: Any) -> Any:
    wide, total = _beside_zero(F, x), None
    for k in range(i.shape[0]):
        part = F.gather(wide, 2, _named(F, i, k, x.shape[1]))
        if f is not None:
            part = F.mul(part, _factor(F, f, k))
        total = part if total is None else F.add(total, part, out=total)
    return total


def _spread(F: Any, x: Any, i: Any, f: Any, size: int) -> Any:
    made = F.zeros((*x.shape[:2], size + 1))
    for k in range(i.shape[0]):
        part = x if f is None else F.mul(x, _factor(F, f, k))
        made = F.scatter(made, 2, _named(F, i, k, x.shape[1]), part, "add")
    return F.contiguous(F.slice(made, 2, 0, size, 1))


def _products(F: Any, x: Any, w: Any, i: Any) -> Any:
    wide = _beside_zero(F, w)
    each = [
        F.sum(F.mul(x, F.gather(wide, 2, _named(F, i, k, x.shape[1]))), (1,))
        for k in range(i.shape[0])
    ]
    return F.concatenate([F.unsqueeze(part, 0) for part in each], 0)
