"""Rows of reductions and cumulative ops, and of their derivatives."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus.op_engine.dims import kept
from tensorbus.rows.registry import row

# fmt: off
row("sum", "x:T, dims",
    doc="The sum of *x* over *dims*.",
    takes_dtype=True,
    x=lambda F, g, x_shape, dims: _spread(F, g, x_shape, dims), autocast="device float32")
# Without a copy in int64, eight times as large.
row("sum_long", "x:T, dims",
    doc="The sum of *x* over *dims*, counted in int64.",
    result="int64", kernel="sum", takes_dtype=True)
row("mean", "x:T, dims",
    doc="The mean of *x* over *dims*.",
    composite=lambda F, x, dims: _wider(_mean, F, x, dims),
    x=lambda F, g, x_shape, dims:
        _spread(F, F.div(g, float(_count(x_shape, dims))), x_shape, dims))
row("prod", "x:T, dims",
    doc="The product of *x* over *dims*.",
    takes_dtype=True, identities=(1, 1), holomorphic=True,
    x=lambda F, g, x, dims: _prod_backward(F, g, x, dims), autocast="float32")
row("amax", "x:T, dims",
    doc="The largest element of *x* over *dims*, NaN where any is.",
    identities=(None, 0),
    x=lambda F, g, x, out, dims: _extreme_backward(F, g, x, out, dims))
row("amin", "x:T, dims",
    doc="The smallest element of *x* over *dims*, NaN where any is.",
    identities=(None, 1),
    x=lambda F, g, x, out, dims: _extreme_backward(F, g, x, out, dims))
for _op, _word in (("max", "largest"), ("min", "smallest")):
    row(f"{_op}_of_all", "x:T, dims",
        doc=f"The {_word} element of *x* over *dims*, all of its; NaN share its gradient too.",
        node_name=f"{_op.capitalize()}Backward1",
        composite=lambda F, x, dims, op=f"a{_op}": getattr(F, op)(x, dims),
        x=lambda F, g, x, out: _shared(F, g, x, out))
row("valued", "x:T, value:T, skips_nan",
    domain="ordered",
    doc="A copy of *value*, whose gradient the elements of *x* that equal it share, NaN beside "
        "others too unless *skips_nan*.",
    composite=lambda F, x, value, skips_nan: F.clone(value),
    x=lambda F, g, x, out, skips_nan: _shared(F, g, x, out, skips_nan))
row("argmax", "x:T, dim",
    doc="The index of the largest element of *x* along *dim*, the first among equals.",
    result="int64", identities=(None, None))
row("argmin", "x:T, dim",
    doc="The index of the smallest element of *x* along *dim*, the first among equals.",
    result="int64", identities=(None, None))
row("any", "x:T, dims",
    doc="Whether any element of *x* over *dims* is not zero.",
    result="bool", composite=lambda F, x, dims: F.bool.amax(F.ne(x, 0), dims))
row("all", "x:T, dims",
    doc="Whether no element of *x* over *dims* is zero.",
    result="bool", composite=lambda F, x, dims: F.bool.amin(F.ne(x, 0), dims))
row("cumsum", "x:T, dim",
    doc="The sums of the elements of *x* along *dim* up to each one.",
    takes_dtype=True,
    x=lambda F, g, dim: F.flip(F.cumsum(F.flip(g, (dim,)), dim), (dim,)), autocast="device float32")
row("cumprod", "x:T, dim",
    doc="The products of the elements of *x* along *dim* up to each one.",
    takes_dtype=True, holomorphic=True,
    x=lambda F, g, x, dim: _cumprod_backward(F, g, x, dim), autocast="device float32")
row("cummax", "x:T, dim",
    doc="The largest of the elements of *x* along *dim* up to each one.")
row("cummin", "x:T, dim",
    doc="The smallest of the elements of *x* along *dim* up to each one.")
row("var", "x:T, dims, correction",
    domain="ordered float",
    doc="The variance of *x* over *dims*, whose divisor is the number of elements less "
        "*correction*.",
    composite=lambda F, x, dims, correction: _wider(_var, F, x, dims, correction),
    x=lambda F, g, x, dims, correction: _var_backward(F, g, x, dims, correction))
row("std", "x:T, dims, correction",
    domain="ordered float",
    doc="The square root of ``var(x, dims, correction)``.",
    composite=lambda F, x, dims, correction: _wider(_std, F, x, dims, correction),
    x=lambda F, g, x, out, dims, correction: _std_backward(F, g, x, out, dims, correction))
row("logsumexp", "x:T, dims",
    domain="ordered float",
    doc="``log(sum(exp(x)))`` over *dims*, without overflow.",
    composite=lambda F, x, dims: _wider(_logsumexp, F, x, dims),
    x=lambda F, g, x, out, dims: F.mul(_keep(F, g, x.shape, dims),
                                       F.exp(F.sub(x, _keep(F, out, x.shape, dims)))))
# fmt: on


def _count(shape: Any, dims: tuple[int, ...]) -> int:
    return math.prod(shape[d] for d in dims)


def _keep(F: Any, r: Any, shape: Any, dims: tuple[int, ...]) -> Any:
    """A reduced result with its dimensions back, of size 1."""
    return F.reshape(r, kept(tuple(shape), dims))


def _spread(F: Any, g: Any, shape: Any, dims: tuple[int, ...]) -> Any:
    return F.expand(_keep(F, g, shape, dims), tuple(shape))


def _extreme_backward(F: Any, g: Any, x: Any, out: Any, dims: tuple[int, ...]) -> Any:
    """Equal shares to all elements that hold the extreme."""
    hit = F.cast(F.eq(x, _keep(F, out, x.shape, dims)), F.bool)
    share = F.div(g, F.sum(hit, dims))
    return F.mul(hit, _keep(F, share, x.shape, dims))


def _shared(F: Any, g: Any, x: Any, out: Any, skips_nan: bool = False) -> Any:
    """Equal shares to all elements that hold the one value; NaN, unless skipped, is the value."""
    nan, hit = F.ne(x, x), F.eq(x, out)
    if skips_nan:
        nan = F.mul(F.cast(nan, F.bool), F.cast(F.ne(out, out), F.bool))
        hit = F.add(F.cast(hit, F.bool), nan)
    else:
        hit = F.cast(F.bool.bitwise_or(hit, nan), F.bool)
    return F.mul(hit, F.div(g, F.sum(hit, tuple(range(len(x.shape))))))


def _prod_backward(F: Any, g: Any, x: Any, dims: tuple[int, ...]) -> Any:
    """The product of all others, from exclusive products of both sides: right with zeros too."""
    shape = tuple(x.shape)
    rest = tuple(d for d in range(len(shape)) if d not in dims)
    order = (*rest, *dims)
    n = _count(shape, dims)
    if not n:  # no elements, with a history: what is asked of it further is not an error
        return F.mul(x, _spread(F, g, shape, dims))
    flat = F.reshape(F.permute(x, order), (*(shape[d] for d in rest), n))
    last = len(rest)
    before = _exclusive(F, flat, last)
    after = F.flip(_exclusive(F, F.flip(flat, (last,)), last), (last,))
    others = F.mul(before, after)
    spread = F.mul(others, F.unsqueeze(g, last))
    spread = F.reshape(spread, tuple(shape[d] for d in order))
    return F.permute(spread, tuple(order.index(d) for d in range(len(shape))))


def _exclusive(F: Any, x: Any, dim: int) -> Any:
    """Products of all elements before each one; there is at least one."""
    n = x.shape[dim]
    one = F.full((*x.shape[:dim], 1, *x.shape[dim + 1 :]), 1)
    return F.cumprod(F.cat(one, F.slice(x, dim, 0, n - 1, 1), dim), dim)


def _cumprod_backward(F: Any, g: Any, x: Any, dim: int) -> Any:
    """The product of all before ``x[i]`` times the sum over j >= i of ``g[j] x[i+1] ... x[j]``.

    No division, so zeros need no care, and its derivative is right at them too.
    """
    n = x.shape[dim]
    if n < 2:
        return g
    last = F.zeros((*x.shape[:dim], 1, *x.shape[dim + 1 :]))
    after = F.cat(F.slice(x, dim, 1, n, 1), last, dim)
    return F.mul(_exclusive(F, x, dim), from_the_end(F, g, after, dim))


def from_the_end(F: Any, x: Any, factor: Any, dim: int) -> Any:
    """``y[i] = x[i] + factor[i] * y[i + 1]`` by doubling; the last factor is 0."""
    n, reach = x.shape[dim], 1

    def later(y: Any) -> Any:
        nothing = F.zeros((*y.shape[:dim], reach, *y.shape[dim + 1 :]))
        return F.cat(F.slice(y, dim, reach, n, 1), nothing, dim)

    while reach < n:
        x = F.add(x, F.mul(factor, later(x)))
        factor = F.mul(factor, later(factor))
        reach *= 2
    return x


def _wider(f: Any, F: Any, x: Any, *args: Any) -> Any:
    """Half precision is computed in float32 and rounded once: sums on the way may not fit it."""
    if F.dtype.itemsize > 2:
        return f(F, x, *args)
    wide = F.of(dtypes.float32)
    return F.cast(f(wide, wide.cast(x, F), *args), wide)


def _mean(F: Any, x: Any, dims: tuple[int, ...]) -> Any:
    return F.div(F.sum(x, dims), _count(x.shape, dims))


def _var(F: Any, x: Any, dims: tuple[int, ...], correction: float) -> Any:
    d = F.sub(x, _keep(F, F.mean(x, dims), x.shape, dims))
    return F.div(F.sum(F.mul(d, d), dims), float(max(_count(x.shape, dims) - correction, 0)))


def _var_backward(F: Any, g: Any, x: Any, dims: tuple[int, ...], correction: float) -> Any:
    mean = F.mean(x, dims)
    left = _count(x.shape, dims) - correction
    if left <= 0 and len(dims) == len(x.shape):  # of too few elements, such as one
        return F.mul(g, F.where(F.eq(x, mean), F.number(math.nan), F.number(math.inf)))
    d = F.sub(x, _keep(F, mean, x.shape, dims))
    scale = 2.0 / left if left else math.inf
    return F.mul(d, _keep(F, F.mul(g, scale), x.shape, dims))


def _std(F: Any, x: Any, dims: tuple[int, ...], correction: float) -> Any:
    return F.sqrt(F.var(x, dims, correction))


def _std_backward(
    F: Any, g: Any, x: Any, out: Any, dims: tuple[int, ...], correction: float
) -> Any:
    """Zero where all elements are equal: the subgradient that has the least norm."""
    share = F.where(F.eq(out, 0.0), F.number(0), F.div(g, F.mul(out, 2.0)))
    return _var_backward(F, share, x, dims, correction)


def _logsumexp(F: Any, x: Any, dims: tuple[int, ...]) -> Any:
    top = F.amax(x, dims)
    top = F.where(F.isfinite(top), top, F.number(0))
    total = F.sum(F.exp(F.sub(x, _keep(F, top, x.shape, dims))), dims)
    return F.add(F.log(total), top)


# -- public ----------------------------------------------------------------------------------
