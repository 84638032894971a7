"""Constant borders."""

from __future__ import annotations

from typing import Any

from tensorbus.rows.registry import row

# fmt: off
row("pad", "x:T, widths, value",
    doc="*x* with a border of *value*, whose *widths* are a pair for each dimension.",
    composite=lambda F, x, widths, value: _pad(F, x, widths, value),
    x=lambda F, g, x_shape, widths: F.unpad(g, tuple(x_shape), widths))
row("unpad", "x:T, shape, widths",
    doc="The derivative of ``pad``: *x* without the border of *widths*, in *shape*.",
    composite=lambda F, x, shape, widths: _unpad(F, x, shape, widths),
    x=lambda F, g, widths: F.pad(g, widths, 0.0))
# fmt: on


def _pad(F: Any, x: Any, widths: Any, value: Any) -> Any:
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True))
    out = F.full(shape, value)
    inner = out
    for d, (n, (a, _)) in enumerate(zip(x.shape, widths, strict=True)):
        inner = F.slice(inner, d, a, a + n, 1)
    F.copy_(inner, x)
    return out


def _unpad(F: Any, x: Any, shape: Any, widths: Any) -> Any:
    for d, (n, (a, _)) in enumerate(zip(shape, widths, strict=True)):
        x = F.slice(x, d, a, a + n, 1)
    return F.clone(x)
