"""Quantiles, slices cut to a norm, and sums over what was repeated."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.op_engine.argument_values import as_float, every_value
from tensorbus.op_engine.arguments import check_tensors
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import list_argument, wrap_dim
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.reduce.norms import vector_norm
from tensorbus.ops.reduce.sorting import sort

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _ranks(name: str, x: Tensor, q: Any) -> Tensor:
    """*q* as a tensor on the input's device, checked."""
    if not isinstance(q, Tensor):
        found = as_float(q)
        if found is None:
            raise type_error(name, "q", 2, "float or Tensor", q)
        if not 0 <= found <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {found:g}")
        return from_array(x._k.full((), float(found)), x._k)
    if len(q._s) > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q._k.dtype is not x._k.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q._k.device != x._k.device:
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")
    if q._s.numel() and q._k.has_values and not every_value((q >= 0) & (q <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    check_tensors(name, input=input)
    if not input._s.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if input._k.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    ranks = _ranks(name, input, q)
    rank = len(input._s)
    if dim is None or not rank:
        if dim is not None:
            wrap_dim(dim, rank)
        x, kept = input.reshape(-1), (1,) * rank
    else:
        d = wrap_dim(dim, rank)
        x = input.movedim(d, -1)
        kept = (*input._s[:d], 1, *input._s[d + 1 :])
    found = _at_ranks(sort(x, -1)[0], ranks.reshape(-1), name == "nanquantile", interpolation)
    shape = kept if keepdim else tuple(x._s[:-1])
    if ranks._s:
        return found.movedim(-1, 0).reshape((ranks._s[0], *shape))
    return found.squeeze(-1).reshape(shape)


def _at_ranks(ordered: Tensor, q: Tensor, ignore: bool, interpolation: str) -> Tensor:
    """The values at such parts of the way through the last dimension; NaN are last in it."""
    n = ordered._s[-1]
    missing = ordered.detach().isnan()
    if ignore:
        last = (n - 1 - missing.sum(-1, keepdim=True)).clamp(min=0)
        places = q * to_kind(last, q._k)
    else:
        places = (q * (n - 1)).expand((*ordered._s[:-1], q._s[0]))
        places = places.masked_fill(missing.any(-1, keepdim=True), n - 1)
    if interpolation == "nearest":
        places = places.round()
    below, above = places.detach().floor(), places.detach().ceil()
    if interpolation in ("lower", "nearest"):
        return ordered.gather(-1, below.long())
    if interpolation == "higher":
        return ordered.gather(-1, above.long())
    low, high = ordered.gather(-1, below.long()), ordered.gather(-1, above.long())
    if interpolation == "midpoint":
        return low.lerp(high, 0.5)
    return low.lerp(high, places - below)


@public(out=SAME)
@composed(node="SqueezeBackward4", autocast="cpu float32")
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The values below which the parts *q* lie, of all elements or along a dimension.

    *q* is a number or a vector of them, from 0 to 1; a vector gives a first dimension of its own.
    *interpolation* between two values is ``linear``, ``lower``, ``higher``, ``midpoint`` or
    ``nearest``. NaN where one is among the values. RuntimeError for dtypes other than float32 and
    float64, and for no elements.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@public(out=SAME)
@composed(node="SqueezeBackward4", autocast="cpu float32")
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """``quantile`` of the values that are not NaN; NaN where all are."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


@public(out=SAME, inplace=True)
@composed(node="RenormBackward0", layout="row_major", autocast="device float32")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along a dimension scaled down to a norm of *maxnorm* where theirs is larger.

    *p* is the order of the norm. RuntimeError where it is not above 0, where *maxnorm* is
    negative, and for fewer than two dimensions.
    """
    check_tensors("renorm", input=input)
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    rank = len(input._s)
    if rank < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {rank} dimensions")
    d = wrap_dim(dim, rank)
    others = [i for i in range(rank) if i != d]
    x = input
    if x._k.is_float and x._k.dtype.itemsize < 4:
        x = to_kind(x, x._k.of(dtypes.float32))
    norms = vector_norm(x, float(p), others, keepdim=True)
    # The small number keeps PyTorch's result, and a norm of 0 from dividing.
    factor = (float(maxnorm) / (norms + 1e-7)).masked_fill(norms.detach() <= maxnorm, 1.0)
    return to_kind(x * factor, input._k)


@public(function=False)
@composed(node="SumBackward1")
def sum_to_size(self: Tensor, *args: Any, size: Any = None) -> Tensor:
    """The sum over the dimensions along which *size* would be repeated to give this shape.

    RuntimeError where *size* does not broadcast to the tensor's shape.
    """
    wanted = tuple(list_argument("sum_to_size", "size", args, size))
    own = tuple(self._s)
    tail = own[len(own) - len(wanted) :]
    if len(wanted) > len(own) or any(n not in (1, m) for n, m in zip(wanted, tail, strict=True)):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(own)}}}.")
    if wanted == own:
        return self
    return core("sum_to")(self, wanted)
