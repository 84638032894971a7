"""Dimensions that are resampled: each new element the weighted sum of a few old ones."""

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
