"""Normalisation over batches, layers and groups."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.op_engine.dims import kept
from tensorbus.rows.registry import row

# ``m`` and ``v`` are the mean and the variance of x over dims, computed beforehand because running
# statistics need them too. They carry no history: the rule for x knows how they follow from it.
# fmt: off
row("normalize", "x:T, m:T, v:T, w:T?, b:T?, dims, affine, eps",
    domain="ordered float",
    doc="``(x - m) / sqrt(v + eps) * w + b`` with *m* and *v*, the mean and variance of *x* over "
        "*dims*, and *w* and *b* along the dimensions *affine*.",
    composite=lambda F, x, m, v, w, b, dims, affine, eps:
        _normalize(F, x, m, v, w, b, dims, affine, eps),
    x=lambda F, g, x, m, v, w, dims, affine, eps: _backward(F, g, x, m, v, w, dims, affine, eps),
    w=lambda F, g, x, m, v, dims, affine, eps:
        F.sum_to_dims(F.mul(g, _unit(F, x, m, v, dims, eps)), affine),
    b=lambda F, g, affine: F.sum_to_dims(g, affine))
row("sum_to_dims", "x:T, affine",
    doc="The sum of *x* over all dimensions but those in *affine*.",
    composite=lambda F, x, affine: _sum_to_dims(F, x, affine))
# fmt: on


def _sum_to_dims(F: Any, x: Any, affine: tuple[int, ...]) -> Any:
    """The sum over all dimensions but those that weights have."""
    dims = tuple(d for d in range(len(x.shape)) if d not in affine)
    return F.sum(x, dims) if dims else x


def _along(F: Any, w: Any, x_shape: Any, affine: tuple[int, ...]) -> Any:
    shape = tuple(n if d in affine else 1 for d, n in enumerate(x_shape))
    return F.reshape(w, shape)


def _statistics(F: Any, x: Any, m: Any, v: Any, dims: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and variance: those at hand, or with history where a graph is recorded."""
    if F.records:
        m = F.mean(x, dims)
        v = F.var(x, dims, 0)
    shape = kept(tuple(x.shape), dims)
    return F.reshape(m, shape), F.reshape(v, shape)


def _unit(F: Any, x: Any, m: Any, v: Any, dims: tuple[int, ...], eps: float) -> Any:
    m, v = _statistics(F, x, m, v, dims)
    return F.mul(F.sub(x, m), F.rsqrt(F.add(v, eps)))


def _normalize(
    F: Any, x: Any, m: Any, v: Any, w: Any, b: Any, dims: Any, affine: Any, eps: float
) -> Any:
    shape = kept(tuple(x.shape), dims)
    scale = F.rsqrt(F.add(F.reshape(v, shape), eps))
    mean = F.reshape(m, shape)
    if affine is not None and not set(affine) & set(dims):
        # One factor and one shift for each channel: two passes over the data.
        if w is not None:
            scale = F.mul(scale, _along(F, w, x.shape, affine))
        shift = F.neg(F.mul(mean, scale))
        if b is not None:
            shift = F.add(shift, _along(F, b, x.shape, affine))
        y = F.mul(x, scale)
        return F.add(y, shift, out=y)
    y = F.sub(x, mean)
    y = F.mul(y, scale, out=y)
    if w is not None:
        y = F.mul(y, _along(F, w, x.shape, affine), out=y)
    if b is not None:
        y = F.add(y, _along(F, b, x.shape, affine), out=y)
    return y


def _backward(
    F: Any, g: Any, x: Any, m: Any, v: Any, w: Any, dims: Any, affine: Any, eps: float
) -> Any:
    mean, var = _statistics(F, x, m, v, dims)
    scale = F.rsqrt(F.add(var, eps))
    unit = F.mul(F.sub(x, mean), scale)
    if w is not None:
        g = F.mul(g, _along(F, w, x.shape, affine))
    n = float(math.prod(x.shape[d] for d in dims))
    shape = kept(tuple(x.shape), dims)
    g_mean = F.reshape(F.div(F.sum(g, dims), n), shape)
    gu_mean = F.reshape(F.div(F.sum(F.mul(g, unit), dims), n), shape)
    return F.mul(F.sub(F.sub(g, g_mean), F.mul(unit, gu_mean)), scale)
