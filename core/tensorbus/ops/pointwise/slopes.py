"""Rows of derivatives with rules of their own: the second order is not that of their parts."""

from __future__ import annotations

from typing import Any

from tensorbus.ops.pointwise.compositions import one_minus_square
from tensorbus.rows.registry import row

# fmt: off
row("asin_slope", "x:T", "unary",
    doc="The derivative of ``asin``: ``1 / sqrt(1 - x * x)``, element by element.",
    domain="float", holomorphic=True,
    composite=lambda F, x: F.rsqrt(one_minus_square(F, x)),
    x=lambda F, g, x, out: F.mul(g, F.mul(x, F.mul(out, F.mul(out, out)))))
row("acosh_slope", "x:T", "unary",
    doc="The derivative of ``acosh``: ``1 / sqrt((x - 1) * (x + 1))``, element by element.",
    domain="float", holomorphic=True,
    composite=lambda F, x: _acosh_slope(F, x),
    x=lambda F, g, x, out: F.neg(F.mul(g, F.mul(x, F.mul(out, F.mul(out, out))))))
row("atanh_slope", "x:T", "unary",
    doc="The derivative of ``atanh``: ``1 / (1 - x * x)``, element by element.",
    domain="float", holomorphic=True,
    composite=lambda F, x: F.reciprocal(one_minus_square(F, x)),
    x=lambda F, g, x, out: F.mul(g, F.mul(F.mul(x, 2.0), F.mul(out, out))))
row("sigmoid_backward", "d:T, y:T",
    doc="The derivative of ``sigmoid`` from its result *y*: ``d * y * (1 - y)``.",
    holomorphic=True,
    in_float32=True,
    composite=lambda F, d, y: F.mul(d, F.mul(y, F.sub(F.number(1), y))),
    d=lambda F, g, y: F.sigmoid_backward(g, y),
    y=lambda F, g, d, y: F.mul(F.mul(g, d), F.sub(F.number(1), F.mul(y, 2.0))))
row("relu_backward", "g:T, y:T",
    doc="The derivative of ``relu`` from its result *y*: *g*, but 0 where ``y <= 0``.",
    composite=lambda F, g, y: F.where(F.le(y, 0), F.number(0), g),
    g=lambda F, g, y: F.relu_backward(g, y))
# fmt: on


def _acosh_slope(F: Any, x: Any) -> Any:
    below, above = F.sub(x, 1.0), F.add(x, 1.0)
    if F.is_complex:  # the root of the product is another one where the real part is below 0
        return F.mul(F.rsqrt(below), F.rsqrt(above))
    return F.rsqrt(F.mul(below, above))
