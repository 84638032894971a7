"""Statistics beyond sums: means without NaN, moments together, differences, covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_checks import Given, either
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_tensors, floating, not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim, wrap_dims
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.pointwise.complex_numbers import complex as complex_of
from tensorbus.ops.pointwise.special import widest
from tensorbus.ops.reduce.reduction_rows import from_the_end
from tensorbus.ops.reduce.reductions import SPREAD, correction_of, cumsum, mean, spread_of
from tensorbus.ops.reduce.reductions import sum as sum_of
from tensorbus.rows.registry import row

# fmt: off
row("logcumsumexp", "x:T, dim",
    domain="ordered float",
    doc="``log(cumsum(exp(x)))`` along *dim*, without overflow.",
    composite=lambda F, x, dim: _logcumsumexp(F, x, dim),
    x=lambda F, g, x, dim: _logcumsumexp_backward(F, g, x, dim))
# fmt: on


def _logcumsumexp(F: Any, x: Any, dim: int) -> Any:
    """By doubling: after step k each element holds the 2**k values up to it."""
    n, reach = x.shape[dim], 1
    while reach < n:
        head = F.slice(x, dim, 0, reach, 1)
        tail = F.logaddexp(F.slice(x, dim, reach, n, 1), F.slice(x, dim, 0, n - reach, 1))
        x = F.cat(head, tail, dim)
        reach *= 2
    return F.clone(x)


def _logcumsumexp_backward(F: Any, g: Any, x: Any, dim: int) -> Any:
    """The gradient, computed in float64: exponentials of large numbers lose digits."""
    wide = widest(F)
    if wide is F:
        return _suffixes(F, g, x, dim)
    return F.cast(_suffixes(wide, wide.cast(g, F), wide.cast(x, F), dim), wide)


def _suffixes(F: Any, g: Any, x: Any, dim: int) -> Any:
    """``exp(x - out) * h`` where ``h[i] = g[i] + exp(out[i] - out[i + 1]) * h[i + 1]``.

    The factors are at most 1, so nothing overflows; the recurrence is solved by doubling.
    """
    n = x.shape[dim]
    out = F.logcumsumexp(x, dim)
    finite = F.ne(out, -math.inf)
    after = F.slice(out, dim, 1, n, 1)
    steps = F.exp(F.sub(F.slice(out, dim, 0, n - 1, 1), after))
    unknown = F.bool.bitwise_and(F.ne(steps, steps), F.eq(after, after))  # inf - inf, but no NaN
    last = F.zeros((*x.shape[:dim], 1, *x.shape[dim + 1 :]))
    factor = F.cat(F.where(unknown, F.number(0), steps), last, dim) if n > 1 else last
    total = from_the_end(F, g, factor, dim)
    return F.mul(F.where(finite, F.exp(F.sub(x, out)), F.number(0)), total)


# -- public ----------------------------------------------------------------------------------
@public(out=SAME)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sums of exponentials along a dimension, without overflow."""
    check_tensors("logcumsumexp", input=input)
    d = wrap_dim(dim, len(input._s))
    if input._k.dtype.category < dtypes.FLOAT:
        raise not_implemented("logcumsumexp_out_cpu", input)
    if not input._s or not input._s.numel():
        return input.clone()
    if input._k.dtype.is_complex:
        return _complex_logcumsumexp(input, d)
    return core("logcumsumexp")(input, d)


def _complex_logcumsumexp(x: Tensor, d: int) -> Tensor:
    """By doubling, as for real numbers; the larger of two is the one with the larger real part."""
    from tensorbus.ops.joining.joining import cat

    n, reach = x._s[d], 1
    while reach < n:
        a, b = x.narrow(d, reach, n - reach), x.narrow(d, 0, n - reach)
        first = a.real >= b.real
        high, low = core("where")(first, a, b), core("where")(first, b, a)
        added = high + ((low - high).exp() + 1).log()
        # Where both are log(0) their difference is no number.
        x = cat((x.narrow(d, 0, reach), core("where")(high.real == -math.inf, high, added)), d)
        reach *= 2
    return x.clone()


def _moments(name: str, input: Tensor, spread: str, args: Any) -> tuple[Tensor, Tensor]:
    check_tensors(name, input=input)
    if input._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    dim, unbiased, keepdim, correction = args
    taken = correction_of(unbiased, correction)
    wide = spread_of(spread, input, dim, keepdim, taken, shown=name)
    return wide, mean(input, dim, keepdim)


@public(method=False, forms=SPREAD)
@either("dim", bool, "unbiased")
@composed(node="StdMeanBackward0")
def std_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: Given[bool] = None,
    keepdim: bool = False,
    *,
    correction: complex | None = None,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean, of all elements or over some dimensions."""
    return _moments("std_mean", input, "std", (dim, unbiased, keepdim, correction))


@public(method=False, forms=SPREAD)
@either("dim", bool, "unbiased")
@composed(node="VarMeanBackward0")
def var_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: Given[bool] = None,
    keepdim: bool = False,
    *,
    correction: complex | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean, of all elements or over some dimensions."""
    return _moments("var_mean", input, "var", (dim, unbiased, keepdim, correction))


def _without_nan(x: Tensor) -> Tensor:
    return x.masked_fill(x.detach().isnan(), 0)


@public(out=True)
@composed(node="NansumBackward0")
def nansum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The sum with NaN counted as 0."""
    check_tensors("nansum", input=input)
    wrap_dims(dim, len(input._s))
    if input._k.dtype.is_complex:
        device = input._k.device.type.upper()
        raise RuntimeError(f"nansum on {device} does not support complex inputs")
    if input._k.is_float and dtype is not None and dtype.is_complex and input._s.numel():
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{scalar_name(dtype)}'")
    x = _without_nan(input) if input._k.is_float else input
    return sum_of(x, dim, keepdim, dtype=dtype)


@public(out=True)
def nanmean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The mean of the values that are not NaN."""
    check_tensors("nanmean", input=input)
    if input._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{scalar_name(input._k.dtype)}"
        )
    if dtype is not None and dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {scalar_name(dtype)}"
        )
    present = (~input.detach().isnan()).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / present


@public(out=True)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along a dimension, taken *n* times."""
    check_tensors("diff", input=input)
    if not input._s:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, len(input._s))
    from tensorbus.ops.joining.joining import cat

    parts = [t for t in (prepend, input, append) if t is not None]
    for t in parts:
        _check_joined(input, t, d)
    if not n:
        return input.clone()
    x = cat(parts, d) if len(parts) > 1 else input
    for _ in range(min(n, x._s[d])):
        size = x._s[d]
        later, earlier = x.narrow(d, 1, size - 1), x.narrow(d, 0, size - 1)
        x = later ^ earlier if x._k.dtype is dtypes.bool else later - earlier
    return x


def _check_joined(x: Tensor, t: Tensor, d: int) -> None:
    """Refuse what cannot stand before or behind *x* along a dimension."""
    check_tensors("diff", input=t)
    if len(t._s) != len(x._s):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (n, m) in enumerate(zip(x._s, t._s, strict=True)):
        if i != d and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({i}) = {n}, but got "
                f"tensor.size({i}) = {m}"
            )


@public()
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariance matrix of variables in rows, observations in columns."""
    check_tensors("cov", input=input)
    if len(input._s) > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{len(input._s)} dimensions"
        )
    if input._k.dtype is dtypes.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if len(input._s) < 2 else input
    n = x._s[1]
    weights: Any = None
    total: Any = n
    if fweights is not None:
        check_tensors("cov", fweights=fweights)
        weights = _weights("fweights", fweights, n, dtypes.INTEGER, "integral")
    if aweights is not None:
        check_tensors("cov", aweights=aweights)
        a = _weights("aweights", aweights, n, dtypes.FLOAT, "floating point")
        weights = a if weights is None else weights * a
    if weights is None:
        if correction >= n:
            warn_user(
                "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
                "number of observations."
            )
        center = x.sum(1, keepdim=True) / n
        norm: Any = max(n - correction, 0)
    else:
        total = weights.sum()
        if n and total._k.has_values and not every_value(total).all():
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        center = (x * weights).sum(1, keepdim=True) / total
        less = correction
        if aweights is not None and correction:
            less = correction * (weights * a).sum() / total
        norm = (total - less).clamp(min=0)
    deviation = x - center
    scaled = deviation if weights is None else deviation * weights
    return ((scaled @ deviation.t().conj()) / norm).squeeze()


def _weights(name: str, w: Tensor, n: int, category: int, kind: str) -> Tensor:
    """One weight for each of *n* observations."""
    expected = f"cov(): expected {name} to have"
    if len(w._s) > 1:
        raise RuntimeError(
            f"{expected} one or fewer dimensions but got {name} with {len(w._s)} dimensions"
        )
    if w._k.dtype.category != category:
        got = scalar_name(w._k.dtype)
        raise RuntimeError(f"{expected} {kind} dtype but got {name} with {got} dtype")
    if w._s.numel() != n:
        raise RuntimeError(
            f"{expected} the same numel as there are observations in the input but got "
            f"{w._s.numel()} != {n}"
        )
    if n and w._k.has_values and every_value(w.detach().amin()).min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return w.reshape(-1)


@public()
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables in rows."""
    check_tensors("corrcoef", input=input)
    if len(input._s) > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{len(input._s)} dimensions"
        )
    c = cov(input)
    if not c._s:
        return c / c
    diagonal = c.diagonal()
    spread = (diagonal.real if c._k.dtype.is_complex else diagonal).sqrt()
    r = c / spread.unsqueeze(1) / spread
    if r._k.dtype.is_complex:
        return complex_of(r.real.clamp(-1, 1), r.imag.clamp(-1, 1))
    return r.clamp(-1, 1)


# -- areas -----------------------------------------------------------------------------------
def _slabs(name: str, y: Tensor, x: Tensor | None, dx: Any, d: int) -> Tensor:
    """The areas between neighbours."""
    n = y._s[d]
    bools = [t for t in (x, y) if isinstance(t, Tensor) and t._k.dtype is dtypes.bool]
    if bools:
        given = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {given}, but bool is not supported")
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    y = floating(y)
    heights = y.narrow(d, 1, n - 1) + y.narrow(d, 0, n - 1)
    if x is None:
        return heights * (dx * 0.5)
    check_tensors(name, 2, x=x)
    if len(x._s) == 1:
        if x._s[0] != n:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape((-1,) + (1,) * (len(y._s) - d - 1))
    if len(x._s) < len(y._s):
        x = x.reshape((1,) * (len(y._s) - len(x._s)) + tuple(x._s))
    if not x._k.dtype.is_signed:  # falling points have negative steps
        x = to_kind(x, x._k.of(dtypes.int64))
    return heights * diff(x, dim=d) * 0.5


_AREAS = ("dx=, dim=", "x, dim=")


@public(method=False, aliases=("trapz",), forms=_AREAS)
@composed(node="MulBackward1")
def trapezoid(y: Tensor, x: Given[Tensor] = None, *, dx: complex = 1, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""
    check_tensors("trapezoid", y=y)
    if not y.size(dim):
        return y.sum(dim).to(y._k.dtype)
    d = wrap_dim(dim, len(y._s))  # a dimension of y: x may have more
    return _slabs("trapezoid", y, x, dx, d).sum(d)


@public(method=False, forms=_AREAS)
def cumulative_trapezoid(
    y: Tensor, x: Given[Tensor] = None, *, dx: complex = 1, dim: int = -1
) -> Tensor:
    """The running integrals along a dimension by the trapezoidal rule."""
    check_tensors("cumulative_trapezoid", y=y)
    if not y.size(dim):
        return floating(y).clone()
    d = wrap_dim(dim, len(y._s))
    return cumsum(_slabs("cumulative_trapezoid", y, x, dx, d), d)
