"""Order: sorting, extremes with their indices, medians, and what is counted by value."""

from __future__ import annotations

import math
from typing import Any

from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.argument_checks import Given, either
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.reduce.reductions import no_complex
from tensorbus.rows.registry import row

# fmt: off
row("argsort", "x:T, dim",
    doc="The indices that sort *x* along *dim*, ascending and stable, NaN last.",
    result="int64")
# fmt: on

Shape = tuple[int, ...]

# fmt: off
row("argsort_down", "x:T, dim",
    doc="The indices that sort *x* along *dim*, descending and stable, NaN first.",
    result="int64",
    composite=lambda F, x, dim: _argsort_down(F, x, dim))
row("top_indices", "x:T, dim, count, largest",
    doc="The indices of the *count* largest, or least, elements of *x* along *dim*: the first of "
        "``argsort_down`` or ``argsort``.",
    result="int64",
    composite=lambda F, x, dim, count, largest:
        _part(F, (F.argsort_down if largest else F.argsort)(x, dim), dim, 0, count))
row("kth_index", "x:T, dim, place",
    doc="The index at *place* of ``argsort`` of *x* along *dim*, which stays with size 1.",
    result="int64",
    composite=lambda F, x, dim, place: _part(F, F.argsort(x, dim), dim, place, place + 1))
# fmt: on

_sort = result_type_of("sort", "values indices")
_topk = result_type_of("topk", "values indices")
_kthvalue = result_type_of("kthvalue", "values indices")
_median = result_type_of("median", "values indices")
_nanmedian = result_type_of("nanmedian", "values indices")
_mode = result_type_of("mode", "values indices")
_max = result_type_of("max", "values indices")
_min = result_type_of("min", "values indices")
_cummax = result_type_of("cummax", "values indices")
_cummin = result_type_of("cummin", "values indices")
_aminmax = result_type_of("aminmax", "min max")


def _argsort_down(F: Any, x: Any, dim: int) -> Any:
    """Descending and stable: the ascending order of the reversed, read backwards."""
    n = x.shape[dim]
    order = F.i64.flip(F.argsort(F.flip(x, (dim,)), dim), (dim,))
    return F.i64.sub(F.i64.full((), n - 1), order)


def _part(F: Any, order: Any, dim: int, start: int, stop: int) -> Any:
    """A piece of an order, which does not keep the whole."""
    return F.i64.clone(F.i64.slice(order, dim, start, stop, 1))


def _lined(x: Tensor, dim: int) -> tuple[Tensor, int]:
    """A tensor of at least one dimension, and which of its dimensions is meant."""
    d = wrap_dim(dim, len(x._s))
    return (x if x._s else core("view")(x, (1,))), d


def _shaped(made: Any, x: Tensor, d: int, i: Tensor, shape: Any) -> Any:
    """(values, indices) of indices along a dimension."""
    values = core("gather")(x, d, i)
    if i._b is not None:
        i = core("clone")(i)
    if tuple(values._s) != tuple(shape):
        values, i = core("view")(values, tuple(shape)), _reshaped(i, tuple(shape))
    return made(values, i)


def _reshaped(i: Tensor, shape: Shape) -> Tensor:
    """Indices that nobody else has, in another shape: a view would remember the first."""
    return from_array(i._k.view(i._a, shape), i._k)


def _refuse_complex(name: str, x: Tensor) -> None:
    if x._k.dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex dtypes on {x._k.device.type.upper()}")


_BY_INDEX = ("dim, keepdim=, out=", "")
"""What medians take together: of all elements, or along a dimension."""
_BY_INDEX_OR_BOTH = ("dim, keepdim=", "other", "")
"""What extremes take together: also a second tensor."""


# -- sorted ----------------------------------------------------------------------------------
@public(out=True)
@composed(node="SortBackward0", layout="order", operands=1)
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False
) -> return_types.sort:
    """(values, indices) in order along a dimension; NaN counts as largest. Always stable.

    >>> import tensorbus
    >>> tensorbus.tensor([3, 1, 2]).sort().indices
    tensor([1, 2, 0])
    """
    if isinstance(dim, bool):
        descending, dim = dim, -1
    x, d = _lined(input, dim)
    _refuse_complex(" Sort", input)
    return _shaped(_sort, x, d, _order(x, d, descending), input._s)


def _order(x: Tensor, d: int, descending: bool) -> Tensor:
    if not x._s.numel():
        return _no_indices(x, tuple(x._s))
    return core("argsort_down" if descending else "argsort")(x, d)


def _no_indices(x: Tensor, shape: Shape) -> Tensor:
    return from_array(x._k.i64.empty(shape), x._k.i64)


def _kth(x: Tensor, d: int, k: int) -> Tensor:
    """The index at place *k* of the order along a dimension, which stays with size 1."""
    if not x._s.numel():
        return _no_indices(x, (*x._s[:d], 1, *x._s[d + 1 :]))
    return core("kth_index")(x, d, k)


@public(out=SAME)
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Tensor:
    """The indices of the elements in order along a dimension; always stable."""
    return sort(input.detach(), dim, descending).indices


@public(out=SAME)
def msort(input: Tensor) -> Tensor:
    """Sorted along the first dimension."""
    return sort(input, 0).values


@public(out=True)
@composed(node="TopkBackward0")
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> return_types.topk:
    """(values, indices) of the *k* largest, or smallest, along a dimension, in order."""
    x, d = _lined(input, dim)
    _refuse_complex(" topk", input)
    if input._k.dtype is dtypes.bool:
        raise RuntimeError("topk does not support bool dtypes: convert the tensor first")
    if not 0 <= k <= x._s[d]:
        raise RuntimeError("selected index k out of range")
    shape = (*x._s[:d], k, *x._s[d + 1 :]) if input._s else ()
    if x._s.numel() and k:
        i = core("top_indices")(x.detach(), d, k, largest)
    else:
        i = _no_indices(x, (*x._s[:d], k, *x._s[d + 1 :]))
    return _shaped(_topk, x, d, i, shape if input._s or k else (0,))


def _one_index(made: Any, x: Tensor, d: int, i: Tensor, keepdim: bool, scalar: bool) -> Any:
    """(values, indices) where *i* has one index for each line; its dimension goes unless kept."""
    if scalar:
        shape: Shape = ()
    else:
        shape = tuple(i._s) if keepdim else (*i._s[:d], *i._s[d + 1 :])
    found = _shaped(made, x, d, i, shape)
    if found.values._e is not None:
        name = made.__name__
        name_node(found.values, f"{name.capitalize()}Backward{'median' in name:d}")
    return found


def _reducible(name: str, x: Tensor, dim: int) -> tuple[Tensor, int]:
    x, d = _lined(x, dim)
    if not x._s[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return x, d


@public(out=True)
@composed(node="KthvalueBackward0")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> return_types.kthvalue:
    """(values, indices) of the *k*-th smallest along a dimension; *k* counts from 1."""
    x, d = _reducible("kthvalue", input, dim)
    if input._k.dtype is dtypes.bool and input._s:
        raise not_implemented("kthvalue_cpu", input)
    if not 1 <= k <= x._s[d]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    return _one_index(_kthvalue, x, d, _kth(x.detach(), d, k - 1), keepdim, not input._s)


@public(out=True, forms=_BY_INDEX)
def median(input: Tensor, dim: Given[int] = None, keepdim: bool = False) -> Any:
    """The lower median, NaN if any element is; with *dim* (values, indices)."""
    return _middle("median", _median, input, dim, keepdim)


@public(out=True, forms=_BY_INDEX)
def nanmedian(input: Tensor, dim: Given[int] = None, keepdim: bool = False) -> Any:
    """The lower median of what is not NaN; with *dim* (values, indices)."""
    return _middle("nanmedian", _nanmedian, input, dim, keepdim)


def _of_nothing(d: dtypes.dtype) -> float:
    """The median of no elements: NaN, or what PyTorch makes of it in integers."""
    if d.category >= dtypes.FLOAT:
        return math.nan
    return dtypes.iinfo(d).min if d in (dtypes.int32, dtypes.int64) else 0


def _middle(name: str, made: Any, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        if input._k.dtype is dtypes.bool:
            raise not_implemented("median_cpu", input)
        if not input._s.numel():
            return from_array(input._k.full((), _of_nothing(input._k.dtype)), input._k)
        value, _ = _middle(name, made, input.detach().reshape(-1), 0, False)
        result = core("valued")(input, value, name == "nanmedian")
        if result._e is not None:
            name_node(result, f"{name.capitalize()}Backward0")
        return result
    x, d = _reducible(name, input, dim)
    if input._k.dtype is dtypes.bool:
        raise not_implemented("median_out", input)
    n = x._s[d]
    plain = x.detach()
    if x._k.dtype.category < dtypes.FLOAT:
        i = _kth(plain, d, (n - 1) // 2)
        return _one_index(made, x, d, i, keepdim, not input._s)
    missing = core("isnan")(plain)
    count = core("unsqueeze")(core("sum")(missing.to(dtypes.int64), (d,)), d)
    if name == "nanmedian":
        # NaN are last in the order, so the middle of the others is near its start.
        left = core("maximum")(core("sub")(core("neg")(count), 1 - n), 0)
        i = core("gather")(_order(plain, d, False), d, core("rshift")(left, 1))
    else:
        middle = _kth(plain, d, (n - 1) // 2)
        first_nan = core("unsqueeze")(core("argmax")(plain, d), d)
        i = core("where")(core("eq")(count, 0), middle, first_nan)
    return _one_index(made, x, d, i, keepdim, not input._s)


@public(out=True)
@composed(node="ModeBackward0")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.mode:
    """(values, indices) of the most frequent value, the smallest of several; its last place."""
    x, d = _reducible("mode", input, dim)
    plain = x.detach()
    order = _order(plain, d, False)
    run = _run_position(core("gather")(plain, d, order), d)
    longest = core("unsqueeze")(core("argmax")(run, d), d)
    return _one_index(_mode, x, d, core("gather")(order, d, longest), keepdim, not input._s)


def _run_position(ordered: Tensor, d: int) -> Tensor:
    """How many equal elements stand directly before each one."""
    n = ordered._s[d]
    k = ordered._k.i64
    lines = (*(1,) * d, n, *(1,) * (len(ordered._s) - d - 1))
    position = from_array(k.view(k.arange(n, 0, 1), lines), k).expand(tuple(ordered._s))
    if n == 1:
        return core("clone")(position)
    cut = core("slice")
    same = core("eq")(cut(ordered, d, 1, n, 1), cut(ordered, d, 0, n - 1, 1))
    zero = from_array(k.full((), 0), k)
    starts = core("where")(same, zero, cut(position, d, 1, n, 1))
    starts = core("cat")(cut(position, d, 0, 1, 1), starts, d)
    return core("sub")(position, core("cummax")(starts, d))


# -- extremes --------------------------------------------------------------------------------
def _extreme(name: str, made: Any, input: Tensor, dim: Any, keepdim: Any, other: Any) -> Any:
    if other is not None:
        return core("maximum" if name == "max" else "minimum")(input, other)
    if dim is None:
        if not input._s.numel():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        if not input._s:
            return core("clone")(input)
        return core(f"{name}_of_all")(input, tuple(range(len(input._s))))
    x, d = _reducible(name, input, dim)
    no_complex(name, x)
    i = core("argmax" if name == "max" else "argmin")(x, d)
    i = _reshaped(i, (*i._s[:d], 1, *i._s[d:]))
    return _one_index(made, x, d, i, bool(keepdim), not input._s)


@public(out=True, forms=_BY_INDEX_OR_BOTH)
@either("dim", Tensor, "other")
def max(
    input: Tensor,
    dim: Given[int | Tensor] = None,
    keepdim: bool = False,
    *,
    other: Given[Tensor] = None,
) -> Any:
    """The largest element; with *dim* (values, indices), the first among equals.

    With a second tensor: the larger of both, element by element.

    >>> import tensorbus
    >>> tensorbus.tensor([1, 3, 2]).max()
    tensor(3)
    """
    return _extreme("max", _max, input, dim, keepdim, other)


@public(out=True, forms=_BY_INDEX_OR_BOTH)
@either("dim", Tensor, "other")
def min(
    input: Tensor,
    dim: Given[int | Tensor] = None,
    keepdim: bool = False,
    *,
    other: Given[Tensor] = None,
) -> Any:
    """The smallest element; with *dim* (values, indices), the first among equals.

    With a second tensor: the smaller of both, element by element.
    """
    return _extreme("min", _min, input, dim, keepdim, other)


@public(out=True)
@composed(node="AminmaxBackward0")
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False
) -> return_types.aminmax:
    """(min, max) of all elements or along a dimension."""
    if dim is None:
        if not input._s.numel():
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                "identity."
            )
        low, high = min(input), max(input)
        if keepdim:
            shape = (1,) * len(input._s)
            low, high = core("view")(low, shape), core("view")(high, shape)
        return _aminmax(low, high)
    d = wrap_dim(dim, len(input._s))
    if input._s and not input._s[d]:
        raise IndexError(f"aminmax: Expected reduction dim {d} to have non-zero size.")
    return _aminmax(input.amin(d, keepdim), input.amax(d, keepdim))


def _running(name: str, made: Any, input: Tensor, dim: int) -> Any:
    """Running extremes, and the last place so far that holds them."""
    if not input._s.numel():
        k = input._k.i64
        return made(core("clone")(input), from_array(k.empty(tuple(input._s)), k))
    x, d = _lined(input, dim)
    plain = x.detach()
    best = core(name)(plain, d)
    hit = core("eq")(plain, best)
    if x._k.dtype.category >= dtypes.FLOAT:
        hit = core("bitwise_or")(hit, core("isnan")(plain))
    k = x._k.i64
    lines = (*(1,) * d, x._s[d], *(1,) * (len(x._s) - d - 1))
    position = from_array(k.view(k.arange(x._s[d], 0, 1), lines), k)
    marked = core("where")(hit, position, from_array(k.full((), 0), k))
    i = core("cummax")(marked, d)
    return _shaped(made, x, d, i, input._s)


@public(out=True)
@composed(node="CummaxBackward0")
def cummax(input: Tensor, dim: int) -> return_types.cummax:
    """(values, indices) of the largest element so far; its last place among equals."""
    return _running("cummax", _cummax, input, dim)


@public(out=True)
@composed(node="CumminBackward0")
def cummin(input: Tensor, dim: int) -> return_types.cummin:
    """(values, indices) of the smallest element so far; its last place among equals."""
    return _running("cummin", _cummin, input, dim)
