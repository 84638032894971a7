"""Reductions over all elements or some dimensions, and cumulative ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_checks import Given, either
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import kept, wrap_dim, wrap_dims
from tensorbus.op_engine.out import COMPUTED, SAME, TRUTH
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted, scalar_name_of
from tensorbus.ops.joining.joining import stack


def _accumulated(x: Tensor, dtype: Any) -> Tensor:
    """Integers and truth values are summed in int64 unless a dtype is given."""
    if dtype is None:
        if x._k.dtype.category > dtypes.INTEGER or x._k.dtype is dtypes.int64:
            return x
        dtype = dtypes.int64
    elif dtype.category < dtypes.FLOAT and x._e is not None and (GRAD.on or THREAD.on):
        raise RuntimeError(
            f"Autograd not support dtype: {scalar_name(dtype)}: only floating point and complex "
            "numbers have gradients"
        )
    return to_kind(x, x._k.of(dtype))


def _reduce(name: str, x: Tensor, dim: Any, keepdim: bool, *more: Any) -> Tensor:
    dims = wrap_dims(dim, len(x._s))
    if not dims:  # of no dimensions: one element
        return core(name)(core("view")(x, (1,)), (0,), *more)
    r = core(name)(x, dims, *more)
    if keepdim:
        r = core("view")(r, kept(x._s, dims))
    if r._e is not None and (keepdim or dim is not None):
        over = "1" if dim is not None and name in ("sum", "mean", "prod") else "0"
        name_node(r, f"{name.capitalize()}Backward{over}")
    return r


_SUMMED = ("dim, keepdim=, dtype=, out=", "dtype=")
"""What sums and products take together: with ``keepdim`` and ``out`` the dimensions are given."""


@public(out=COMPUTED, forms=_SUMMED)
def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The sum of all elements, or over some dimensions; integers give int64.

    >>> import tensorbus
    >>> tensorbus.tensor([[1, 2], [3, 4]]).sum(0)
    tensor([4, 6])
    """
    if dtype is None and input._k.dtype.category <= dtypes.INTEGER:
        return _reduce("sum_long", input, dim, keepdim)
    return _reduce("sum", _accumulated(input, dtype), dim, keepdim)


@public(out=True, forms=("dim, keepdim=, dtype=", "dtype="))
def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The mean of all elements, or over some dimensions; floating point or complex only."""
    x = input if dtype is None else to_kind(input, input._k.of(dtype))
    if x._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "mean(): could not infer output dtype. "
            f"{'Input' if dtype is None else 'Optional'} dtype must be either a floating point or "
            f"complex dtype. Got: {scalar_name_of(x)}"
        )
    return _reduce("mean", x, dim, keepdim)


@public(out=COMPUTED, forms=_SUMMED)
def prod(
    input: Tensor,
    dim: Given[int] = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The product of all elements, or over one dimension; integers give int64."""
    return _reduce("prod", _accumulated(input, dtype), dim, keepdim)


def _nonempty(name: str, x: Tensor, dim: Any) -> None:
    """Extremes of nothing are no values."""
    if x._s.numel():
        return
    if dim is None or dim == () or dim == []:
        missing = f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        if name.startswith("arg"):
            raise IndexError(missing)
        raise RuntimeError(f"{missing} Specify the reduction dim with the 'dim' argument.")
    for d in wrap_dims(dim, len(x._s)):
        if x._s[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


@public(out=SAME)
def amax(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Tensor:
    """The largest value over some dimensions; the gradient is shared among equals."""
    _nonempty("amax", input, dim)
    return _reduce("amax", input, dim, keepdim)


@public(out=SAME)
def amin(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Tensor:
    """The smallest value over some dimensions; the gradient is shared among equals."""
    _nonempty("amin", input, dim)
    return _reduce("amin", input, dim, keepdim)


def no_complex(name: str, x: Tensor) -> None:
    """Complex numbers have no order."""
    if x._k.dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")


def _arg(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    rank = len(input._s)
    if input._k.dtype is dtypes.bool:
        raise RuntimeError(f"{name}(): does not support bool input")
    no_complex(name, input)
    _nonempty(name, input, dim)
    if dim is None or not rank:
        if dim is not None:
            wrap_dim(dim, rank)
        r = core(name)(input.reshape(-1), 0)
        return core("view")(r, (1,) * rank) if keepdim else r
    d = wrap_dim(dim, rank)
    r = core(name)(input, d)
    return core("view")(r, kept(tuple(input._s), (d,))) if keepdim else r


@public(out=SAME)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest value, int64; the first among equals."""
    return _arg("argmax", input, dim, keepdim)


@public(out=SAME)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest value, int64; the first among equals."""
    return _arg("argmin", input, dim, keepdim)


def _truth(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """An empty tuple of dimensions reduces nothing here; bytes stay bytes: PyTorch's rules."""
    if isinstance(dim, (tuple, list)) and not dim:
        r = core("ne")(input, 0)
    else:
        r = _reduce(name, input, dim, keepdim)
    return to_kind(r, input._k) if input._k.dtype is dtypes.uint8 else r


@public(out=TRUTH)
def any(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true."""
    return _truth("any", input, dim, keepdim)


@public(out=TRUTH)
def all(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true."""
    return _truth("all", input, dim, keepdim)


def correction_of(unbiased: Any, correction: Any) -> Any:
    if correction is not None:
        return fitted(correction, dtypes.float64)
    return 1 if unbiased is None or unbiased else 0


SPREAD = ("dim=, correction=, keepdim=", "dim, unbiased=, keepdim=", "unbiased")
"""What variances take together: *unbiased* is the older argument, *correction* the newer."""


@public(out=True, forms=SPREAD)
@either("dim", bool, "unbiased")
def var(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: Given[bool] = None,
    keepdim: bool = False,
    *,
    correction: complex | None = None,
) -> Tensor:
    """The variance, with Bessel's correction unless ``correction=0``."""
    return spread_of("var", input, dim, keepdim, correction_of(unbiased, correction))


def spread_of(
    name: str, x: Tensor, dim: Any, keepdim: bool, correction: Any, shown: str = ""
) -> Tensor:
    """The variance or standard deviation, for the public function *shown*, if not that of *name*.

    A UserWarning where no degrees of freedom are left.
    """
    made = _spread(name, x, dim, keepdim, correction)
    if made._s.numel() * correction >= x._s.numel():
        warn_user(
            f"{shown or name}(): degrees of freedom is <= 0. Correction should be "
            "strictly less than the reduction factor (input numel divided by output numel)."
        )
    return made


def _spread(name: str, x: Tensor, dim: Any, keepdim: bool, correction: Any) -> Tensor:
    if x._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if not x._k.dtype.is_complex:
        return _reduce(name, x, dim, keepdim, correction)
    both = [_reduce(name, p, dim, keepdim, correction) for p in (x.real, x.imag)]
    # Not the ``hypot`` of both, which has no derivative where all elements are equal.
    made = core("add")(*both) if name == "var" else core("vector_norm")(stack(both), 2.0, (0,))
    name_node(made, f"{name.capitalize()}Backward0")
    return made


@public(out=True, forms=SPREAD)
@either("dim", bool, "unbiased")
def std(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: Given[bool] = None,
    keepdim: bool = False,
    *,
    correction: complex | None = None,
) -> Tensor:
    """The standard deviation, with Bessel's correction unless ``correction=0``."""
    return spread_of("std", input, dim, keepdim, correction_of(unbiased, correction))


@public(out=True)
@composed(node="LogsumexpBackward0")
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` over some dimensions, without overflow."""

    if input._k.dtype.category < dtypes.FLOAT:
        input = to_kind(input, input._k.of(dtypes.get_default_dtype()))
    if not input._s.numel():
        return core("log")(sum(core("exp")(input), dim, keepdim))
    if input._k.dtype.is_complex:
        return _complex_logsumexp(input, dim, keepdim)
    return _reduce("logsumexp", input, dim, keepdim)


def _complex_logsumexp(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    top = _reduce("amax", x.detach().real, dim, True)
    top = to_kind(top.masked_fill(core("logical_not")(core("isfinite")(top)), 0), x._k)
    total = sum(core("exp")(core("sub")(x, top)), dim, keepdim)
    return core("add")(core("log")(total), top if keepdim else core("view")(top, total._s))


def _running(name: str, input: Tensor, dim: int, dtype: Any) -> tuple[Tensor, int]:
    x = _accumulated(input, dtype)
    d = wrap_dim(dim, len(x._s))
    if x._k.dtype is dtypes.bool and x._s and x._s.numel():
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    return x, d


@public(out=COMPUTED, inplace=True)
def cumsum(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Running sums along a dimension; integers give int64."""
    x, d = _running("cumsum", input, dim, dtype)
    return core("cumsum")(x, d) if x._s else core("clone")(x)


@public(out=COMPUTED, inplace=True)
def cumprod(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Running products along a dimension; integers give int64."""
    x, d = _running("cumprod", input, dim, dtype)
    return core("cumprod")(x, d) if x._s else core("clone")(x)
