"""Normalisation over batches, layers and groups."""

from __future__ import annotations

import math
from typing import Any

from tensorbus.op_engine.dims import kept
from tensorbus.rows.registry import row

# The statistics are results, so that the backward pass has them: with their own history where it is
# recorded. What they hand on themselves comes only then, or in forward mode.
# fmt: off
row("layer_norm", "x:T, w:T?, b:T?, dims, eps",
    results="y:same mean:same rstd:same", domain="ordered float",
    node_name="NativeLayerNormBackward0",
    doc="``(x - mean) * rstd * w + b`` with the mean of *x* over the last dimensions *dims* and "
        "the reciprocal of its standard deviation, whose variance is that of a population plus "
        "*eps*; *w* and *b* have these dimensions, *mean* and *rstd* have them with size 1.",
    composite=lambda F, x, w, b, dims, eps: _layer_norm(F, x, w, b, dims, eps),
    x=lambda F, g, x, mean, rstd, w, dims: _layer_norm_input(F, g, x, mean, rstd, w, dims),
    w=lambda F, g, x, mean, rstd, dims:
        None if g[0] is None else F.normalize_weight(g[0], x, mean, rstd, dims, dims),
    b=lambda F, g, dims: None if g[0] is None else F.sum_to_dims(g[0], dims))
row("rms_norm", "x:T, w:T?, dims, eps",
    results="y:same rstd:same", domain="ordered float", node_name="MulBackward0",
    doc="``x * rstd * w`` with the reciprocal of the root of the mean of ``x * x`` over the last "
        "dimensions *dims*, plus *eps*; *w* has these dimensions, *rstd* has them with size 1.",
    composite=lambda F, x, w, dims, eps: _rms_norm(F, x, w, dims, eps),
    x=lambda F, g, x, rstd, w, dims: _rms_norm_input(F, g, x, rstd, w, dims),
    w=lambda F, g, x, rstd, dims:
        None if g[0] is None else F.normalize_weight(g[0], x, None, rstd, dims, dims))
row("batch_norm", "x:T, w:T?, b:T?, dims, eps",
    results="y:same mean:same rstd:same var:same", domain="ordered float",
    node_name="NativeBatchNormBackward0",
    doc="``(x - mean) * rstd * w + b`` with the mean and the variance, that of a population, of "
        "*x* over *dims*, which are all but that of the channels, 1, and with ``rstd = 1 / "
        "sqrt(var + eps)``.",
    composite=lambda F, x, w, b, dims, eps: _batch_norm(F, x, w, b, dims, eps),
    x=lambda F, g, x, mean, rstd, w, dims: _batch_norm_input(F, g, x, mean, rstd, w, dims),
    w=lambda F, g, x, mean, rstd, dims:
        None if g[0] is None else F.normalize_weight(g[0], x, mean, rstd, dims, (1,)),
    b=lambda F, g: None if g[0] is None else F.sum_to_dims(g[0], (1,)))
row("batch_norm_inference", "x:T, m:T, v:T, w:T?, b:T?, eps",
    domain="ordered float", node_name="NativeBatchNormBackward0",
    doc="``(x - m) / sqrt(v + eps) * w + b`` with *m*, *v*, *w* and *b* along dimension 1 of *x*; "
        "*m* and *v* have no derivative.",
    composite=lambda F, x, m, v, w, b, eps: _by_channel(F, x, m, _reciprocal(F, v, eps), w, b),
    x=lambda F, g, v, w, eps: F.mul(g, _factor(F, g, _reciprocal(F, v, eps), w)),
    w=lambda F, g, x, m, v, eps:
        F.normalize_weight(g, x, m, _reciprocal(F, v, eps), _others(x), (1,)),
    b=lambda F, g: F.sum_to_dims(g, (1,)))
row("normalize_input", "g:T, x:T, m:T?, rstd:T, w:T?, dims, affine",
    domain="ordered float",
    doc="The derivative of ``y = (x - m) * rstd * w`` for *x*, where *m* is its mean over *dims* "
        "and *rstd* the reciprocal of its standard deviation, from the gradient *g*; *w* is along "
        "the dimensions *affine*; without *m* that of ``x * rstd * w``, where *rstd* is the "
        "reciprocal of the root of its mean square.",
    composite=lambda F, g, x, m, rstd, w, dims, affine: _input(F, g, x, m, rstd, w, dims, affine))
row("normalize_weight", "g:T, x:T, m:T?, rstd:T, dims, affine",
    domain="ordered float",
    doc="The derivative of ``(x - m) * rstd * w`` for ``w``, from the gradient *g*; without *m* "
        "that of ``x * rstd * w``.",
    composite=lambda F, g, x, m, rstd, dims, affine: _weight(F, g, x, m, rstd, dims, affine))
row("sum_to_dims", "x:T, affine",
    doc="The sum of *x* over all dimensions but those in *affine*.",
    composite=lambda F, x, affine: _sum_to_dims(F, x, affine))
# fmt: on


def _others(x: Any) -> tuple[int, ...]:
    """All dimensions but that of the channels."""
    return tuple(d for d in range(len(x.shape)) if d != 1)


def _reciprocal(F: Any, v: Any, eps: float) -> Any:
    """The reciprocal of the standard deviation."""
    return F.rsqrt(F.add(v, eps))


def _along(F: Any, w: Any, x: Any, affine: tuple[int, ...]) -> Any:
    return F.reshape(w, tuple(n if d in affine else 1 for d, n in enumerate(x.shape)))


def _unit(F: Any, x: Any, m: Any, r: Any, dims: tuple[int, ...]) -> Any:
    """*x* with mean 0 and variance 1; without *m* with mean square 1."""
    shape = kept(tuple(x.shape), dims)
    distance = x if m is None else F.sub(x, F.reshape(m, shape))
    return F.mul(distance, F.reshape(r, shape))


def _sum_to_dims(F: Any, x: Any, affine: tuple[int, ...]) -> Any:
    """The sum over all dimensions but those that weights have."""
    dims = tuple(d for d in range(len(x.shape)) if d not in affine)
    return F.sum(x, dims) if dims else x


# -- forward -----------------------------------------------------------------------------------
def _layer_norm(F: Any, x: Any, w: Any, b: Any, dims: tuple[int, ...], eps: float) -> Any:
    shape = kept(tuple(x.shape), dims)
    m = F.reshape(F.mean(x, dims), shape)
    y = F.sub(x, m)
    r = _reciprocal(F, F.reshape(F.mean(F.mul(y, y), dims), shape), eps)
    y = F.mul(y, r, out=y)
    if w is not None:
        y = F.mul(y, _along(F, w, x, dims), out=y)
    if b is not None:
        y = F.add(y, _along(F, b, x, dims), out=y)
    return y, m, r


def _rms_norm(F: Any, x: Any, w: Any, dims: tuple[int, ...], eps: float) -> Any:
    square = F.reshape(F.mean(F.mul(x, x), dims), kept(tuple(x.shape), dims))
    r = _reciprocal(F, square, eps)
    y = F.mul(x, r)
    return (y if w is None else F.mul(y, _along(F, w, x, dims), out=y)), r


def _batch_norm(F: Any, x: Any, w: Any, b: Any, dims: tuple[int, ...], eps: float) -> Any:
    m = F.mean(x, dims)
    distance = F.sub(x, _along(F, m, x, (1,)))
    v = F.mean(F.mul(distance, distance), dims)
    return F.batch_norm_inference(x, m, v, w, b, eps), m, _reciprocal(F, v, eps), v


def _factor(F: Any, x: Any, r: Any, w: Any) -> Any:
    """What each channel is multiplied with."""
    return _along(F, r if w is None else F.mul(r, w), x, (1,))


def _by_channel(F: Any, x: Any, m: Any, r: Any, w: Any, b: Any) -> Any:
    """One factor and one shift for each channel: two passes over the data."""
    factor = _factor(F, x, r, w)
    shift = F.neg(F.mul(_along(F, m, x, (1,)), factor))
    if b is not None:
        shift = F.add(shift, _along(F, b, x, (1,)))
    y = F.mul(x, factor)
    return F.add(y, shift, out=y)


# -- backward ----------------------------------------------------------------------------------
def _input(
    F: Any, g: Any, x: Any, m: Any, r: Any, w: Any, dims: tuple[int, ...], affine: Any
) -> Any:
    unit = _unit(F, x, m, r, dims)
    if w is not None:
        g = F.mul(g, _along(F, w, x, affine))
    n = float(math.prod(x.shape[d] for d in dims))
    shape = kept(tuple(x.shape), dims)
    slope = F.reshape(F.div(F.sum(F.mul(g, unit), dims), n), shape)
    if m is not None:
        level = F.reshape(F.div(F.sum(g, dims), n), shape)
        g = F.sub(g, level)
    return F.mul(F.sub(g, F.mul(unit, slope)), F.reshape(r, shape))


def _weight(
    F: Any, g: Any, x: Any, m: Any, r: Any, dims: tuple[int, ...], affine: tuple[int, ...]
) -> Any:
    if set(affine).isdisjoint(dims):  # each weight has a scale of its own
        distance = F.sub(x, F.reshape(m, kept(tuple(x.shape), dims)))
        made = F.sum_to_dims(F.mul(g, distance), affine)
        return F.mul(made, F.reshape(r, tuple(made.shape)))
    return F.sum_to_dims(F.mul(g, _unit(F, x, m, r, dims)), affine)


def _layer_norm_input(
    F: Any, g: Any, x: Any, mean: Any, rstd: Any, w: Any, dims: tuple[int, ...]
) -> Any:
    y, level, slope = g
    of_y = None if y is None else F.normalize_input(y, x, mean, rstd, w, dims, dims)
    slope = None if slope is None else F.mul(slope, _slope(F, rstd))
    return _with_statistics(F, of_y, x, mean, level, slope, dims)


def _rms_norm_input(F: Any, g: Any, x: Any, rstd: Any, w: Any, dims: tuple[int, ...]) -> Any:
    y, slope = g
    of_y = None if y is None else F.normalize_input(y, x, None, rstd, w, dims, dims)
    slope = None if slope is None else F.mul(slope, _slope(F, rstd))
    return _with_statistics(F, of_y, x, None, None, slope, dims)


def _batch_norm_input(
    F: Any, g: Any, x: Any, mean: Any, rstd: Any, w: Any, dims: tuple[int, ...]
) -> Any:
    y, level, slope, of_var = g
    of_y = None if y is None else F.normalize_input(y, x, mean, rstd, w, dims, (1,))
    slope = None if slope is None else F.mul(slope, _slope(F, rstd))
    if of_var is not None:
        of_var = F.mul(of_var, 2.0)
        slope = of_var if slope is None else F.add(slope, of_var)
    return _with_statistics(F, of_y, x, mean, level, slope, dims)


def _slope(F: Any, r: Any) -> Any:
    """What the reciprocal of a standard deviation changes by with each distance from the mean."""
    return F.neg(F.mul(F.mul(r, r), r))


def _with_statistics(
    F: Any, found: Any, x: Any, mean: Any, level: Any, slope: Any, dims: tuple[int, ...]
) -> Any:
    """*found* and what the statistics hand on: the gradient *level* of the mean, and *slope* for
    each distance from it, or from 0, where there are such."""
    n = float(math.prod(x.shape[d] for d in dims))
    shape = kept(tuple(x.shape), dims)
    if slope is not None:
        slope = F.div(F.reshape(slope, shape), n)
        of_slope = F.mul(x if mean is None else F.sub(x, F.reshape(mean, shape)), slope)
        found = of_slope if found is None else F.add(found, of_slope)
    if level is not None:
        level = F.div(F.reshape(level, shape), n)
        found = F.expand(level, tuple(x.shape)) if found is None else F.add(found, level)
    return found
