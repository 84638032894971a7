"""What values there are, how often, and between which bounds they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import device_error
from tensorbus._base.size import check_storage
from tensorbus._dispatch.wrapping import wrap_number
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.node import UNKNOWN
from tensorbus.autograd.underived import not_written, underived
from tensorbus.op_engine.argument_checks import also_named, one_by_one
from tensorbus.op_engine.argument_values import every_value, read_number
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dims
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.promotion import result_type
from tensorbus.op_engine.public import public
from tensorbus.op_engine.scalars import fitted
from tensorbus.ops.creation.from_data import tensor
from tensorbus.ops.indexing.index_tensors import true_indices
from tensorbus.rows.registry import row

# fmt: off
row("searchsorted", "x:T, y:T, right",
    doc="The index at which each element of *y* belongs in *x*, sorted along its last dimension: "
        "before equal elements, with *right* behind them.",
    result="int64",
    composite=lambda F, x, y, right: _searchsorted(F, x, y, right))
row("bincount", "x:T, n",
    doc="How often each integer below *n* stands in the vector *x*.",
    result="int64", composite=lambda F, x, n: _bincount(F, x, n))
# fmt: on


def _searchsorted(F: Any, x: Any, y: Any, right: bool) -> Any:
    """Bisection of all values at once; *y* has the leading dimensions of *x*."""
    I, B = F.i64, F.bool  # noqa: E741 -- the namespaces of indices and of truth values
    dim, n = len(x.shape) - 1, x.shape[-1]
    low, high = I.full(tuple(y.shape), 0), I.full(tuple(y.shape), n)
    if not n:
        return low
    for _ in range(n.bit_length()):
        middle = I.rshift(I.add(low, high), I.full((), 1))
        at = F.gather(x, dim, I.minimum(middle, n - 1))
        # NaN lies behind all else, in the sequence and among the values.
        if right:
            behind = B.bitwise_or(F.le(at, y), F.ne(y, y))
        else:
            behind = B.bitwise_or(F.lt(at, y), B.bitwise_and(F.ne(y, y), F.eq(at, at)))
        behind = B.bitwise_and(behind, I.lt(low, high))
        low, high = (
            I.where(behind, I.add(middle, 1), low),
            I.where(B.bitwise_or(behind, I.eq(low, high)), high, middle),
        )
    return low


def _bincount(F: Any, x: Any, n: int) -> Any:
    out = F.i64.zeros((n,))
    if n and x.shape[0]:
        F.i64.put(out, 0, x, F.i64.full(tuple(x.shape), 1), "add", False)
    return out


# -- between bounds --------------------------------------------------------------------------
@public(method=False, out=SAME)
@also_named(input="self")
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | complex | None = None,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    values: Tensor | complex | None = None,
) -> Tensor:
    """Where each value would be put in a sorted sequence, before equal ones or, *right*, behind.

    The sequence has one dimension, or the leading dimensions of the values.

    >>> import tensorbus
    >>> tensorbus.searchsorted(tensorbus.tensor([1, 3, 5]), 4)
    tensor(2)
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    right = right or side == "right"
    given = values if input is None else input
    if given is None:
        raise TypeError('searchsorted() missing 1 required positional arguments: "input"')
    if sorted_sequence._k.dtype.is_complex:
        raise not_implemented("searchsorted_out_cpu", sorted_sequence)
    x = sorted_sequence.detach()
    scalar = not isinstance(given, Tensor)
    if x._k.dtype is dtypes.bool:
        raise not_implemented("searchsorted_out_cpu", x)
    if type(given) is int:  # it wraps around in the dtype
        given = wrap_number(given, x._k.dtype)
    v = given if isinstance(given, Tensor) else tensor(given, device=x._k.device)
    if v._k.device is not x._k.device:
        raise device_error(x._k.device, v._k.device)
    if not x._s or (len(x._s) > 1 and not v._s):
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({len(x._s)}) and input value's "
            f"dim({len(v._s)}) numel({v._s.numel()})"
        )
    if len(x._s) > 1 and (len(v._s) != len(x._s) or v._s[:-1] != x._s[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(x._s)} and input value tensor {list(v._s)}"
        )
    if sorter is not None:
        if sorter._s != x._s:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got "
                f"boundary tensor {list(x._s)} and got sorter tensor {list(sorter._s)}"
            )
        if sorter._k.dtype is not dtypes.int64:
            raise RuntimeError(
                "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
                f"{scalar_name(sorter._k.dtype)}"
            )
        if (
            sorter._s.numel()
            and sorter._k.has_values
            and not (
                every_value(sorter.amin()).min() >= 0
                and every_value(sorter.amax()).max() < x._s[-1]
            )
        ):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        x = core("gather")(x, len(x._s) - 1, sorter)
    k = x._k.of(result_type(x, v)) if not scalar else x._k.of(result_type(x, v.reshape(1)))
    x, v = to_kind(x, k), to_kind(v.detach(), k)
    flat = v.reshape(-1) if len(x._s) == 1 else v
    if flat._s.numel():
        found = core("searchsorted")(x, flat, right)
    else:
        found = from_array(k.i64.empty(tuple(flat._s)), k.i64)
    if found._s != v._s:
        found = core("view")(found, tuple(v._s))
    return found.to(dtypes.int32) if out_int32 else found


@public(out=SAME)
@also_named(input="self")
def bucketize(
    input: Tensor | complex, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bucket between boundaries that each value lies in."""
    if len(boundaries._s) != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({len(boundaries._s)})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public(method=False, out=SAME)
@also_named(elements="element", test_elements="test_element")
def isin(
    elements: Tensor | complex,
    test_elements: Tensor | complex,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """Whether each element is among the test elements."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): at least one of elements and test_elements must be a Tensor")
    device = next(x._k.device for x in (elements, test_elements) if isinstance(x, Tensor))
    e, t = (
        (x if isinstance(x, Tensor) else tensor(x, device=device)).detach()
        for x in (elements, test_elements)
    )
    for x in (e, t):
        if x._k.dtype.category not in (dtypes.INTEGER, dtypes.FLOAT):
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {scalar_name(x._k.dtype)}"
            )
    k = e._k.of(result_type(e, t))
    e, t = to_kind(e, k), to_kind(t, k).reshape(-1)
    if not t._s[0] or not e._s.numel():
        return from_array(k.bool.full(tuple(e._s), invert), k.bool)
    ordered = core("take")(t, 0, core("argsort")(t, 0), False)
    at = core("minimum")(searchsorted(ordered, e), t._s[0] - 1)
    found = core("eq")(core("take")(ordered, 0, at.reshape(-1), False), e.reshape(-1))
    found = core("view")(found, tuple(e._s))
    return core("logical_not")(found) if invert else found


@public()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
    if input._k.dtype.category >= dtypes.FLOAT:
        raise NotImplementedError(
            f"\"bincount\" not implemented for '{scalar_name(input._k.dtype)}'"
        )
    if input._k.dtype is dtypes.bool:
        raise not_implemented("bincount_cpu", input)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if len(input._s) != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and input._s[0] and weights._s != input._s:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    x = to_kind(input, input._k.i64)
    n = minlength
    if x._s[0]:
        if read_number(core("amin")(x, (0,))) < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        n = max(n, read_number(core("amax")(x, (0,))) + 1)
    if weights is None or not x._s[0]:
        check_storage((n,))
    if weights is None:
        return core("bincount")(x, n)
    wide = weights._k.dtype is not dtypes.float32
    k = x._k.of(dtypes.float64 if wide else dtypes.float32)
    out = k.zeros((n,))
    if n and x._s[0]:
        k.put(out, 0, x._a, to_kind(weights.detach(), k)._a, "add", False)
    return underived([from_array(out, k)], (weights,), not_written("bincount"), UNKNOWN)[0]


@public(out=SAME)
def histc(input: Tensor, bins: int = 100, min: complex = 0, max: complex = 0) -> Tensor:
    """How many values lie in each of equal bins from *min* to *max*, or from least to greatest."""
    if input._k.dtype.category < dtypes.FLOAT:
        raise NotImplementedError(
            f"\"histogram\" not implemented for '{scalar_name(input._k.dtype)}'"
        )
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    check_storage((bins,))
    x = input.detach().reshape(-1)
    low, high = (float(fitted(bound, dtypes.float64)) for bound in (min, max))
    k = x._k
    if low == high and x._s[0] and k.has_values:
        low, high = float(x.amin().item()), float(x.amax().item())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not k.has_values:
        return from_array(k.empty((bins,)), k)
    inside = core("bitwise_and")(core("ge")(x, low), core("le")(x, high))
    x = core("take")(x, 0, true_indices(inside), False)
    if not x._s[0]:
        return from_array(k.zeros((bins,)), k)
    scaled = core("mul")(core("sub")(x, low), bins)
    at = core("div")(scaled, high - low).to(dtypes.int64)
    return to_kind(core("bincount")(core("minimum")(at, bins - 1), bins), k)


@public()
@one_by_one("dim")
def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """How many elements are not zero, of all or along some dimensions."""
    dims = wrap_dims(dim, len(input._s))
    hit = core("ne")(input.detach(), 0).to(dtypes.int64)
    return core("sum")(hit, dims) if dims else hit
