"""How many values lie between edges, in one dimension or in several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorbus import return_types
from tensorbus._base import dtypes
from tensorbus._base.dtype_names import c_name
from tensorbus._base.size import check_storage
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.node import UNKNOWN
from tensorbus.autograd.underived import not_written, underived
from tensorbus.op_engine.argument_forms import mixed_error
from tensorbus.op_engine.arguments import check_device, check_tensors, not_implemented
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.named_results import result_type_of
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.creation.ranges import linspace
from tensorbus.ops.reduce.counting import searchsorted


def _check_edges(x: Tensor, edges: Sequence[Tensor]) -> None:
    for i, e in enumerate(edges):
        check_device(x, e)
        if e._k.dtype is not x._k.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {c_name(x._k.dtype)} and bins for dimension {i} with dtype "
                f"{c_name(e._k.dtype)}"
            )
        if len(e._s) != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {len(e._s)} "
                f"dimensions in the bins tensor for dimension {i}"
            )
        if not e._s[0]:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements "
                f"in the bins tensor for dimension {i}"
            )


def _check_counts(counts: Sequence[int]) -> None:
    for i, n in enumerate(counts):
        if n <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {n} for dimension {i}"
            )
    check_storage(tuple(counts))


def _check_weight(x: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    check_device(x, weight)
    if weight._k.dtype is not x._k.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({c_name(x._k.dtype)}), and "
            f"weight({c_name(weight._k.dtype)})"
        )
    if weight._s != x._s[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{list(x._s)} and weight with shape {list(weight._s)}"
        )


def _equal_edges(x: Tensor, counts: Sequence[int], bounds: Sequence[float] | None) -> list[Tensor]:
    """Edges of equal bins, between the bounds or from the least value to the greatest."""
    if bounds is not None and len(bounds) != 2 * len(counts):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(counts)}-dimensional histogram range should have "
            f"{2 * len(counts)} elements, but got {len(bounds)}"
        )
    edges = []
    for i, n in enumerate(counts):
        low, high = 0.0, 1.0
        if bounds is not None:
            low, high = float(bounds[2 * i]), float(bounds[2 * i + 1])
        elif x._s[0] and x._k.has_values:
            values = x[:, i]
            low, high = float(values.amin().item()), float(values.amax().item())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(
                f"torch.histogramdd: dimension {i}'s range [{low:g}, {high:g}] is not finite"
            )
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
                f"for dimension {i}"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        made: Tensor = linspace(low, high, n + 1, dtype=x._k.dtype, device=x._k.device)
        edges.append(made)
    return edges


def _counted(x: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """What lies in each bin of the points, the rows of *x*; one bin more takes those outside.

    Points without coordinates lie nowhere.
    """
    shape = tuple(e._s[0] - 1 for e in edges)
    total, k = math.prod(shape), x._k
    at = from_array(k.i64.zeros((x._s[0],)), k.i64)
    outside = from_array(k.bool.full((x._s[0],), not shape), k.bool)
    for i, (e, n) in enumerate(zip(edges, shape, strict=True)):
        values = x[:, i].contiguous()
        at = at * n + (searchsorted(e, values, right=True) - 1).clamp(0, n - 1)
        outside = outside | ~((values >= e[0]) & (values <= e[-1]))
    at = at.masked_fill(outside, total)
    if weight is None:
        found = to_kind(core("bincount")(at, total + 1), k)
    else:
        sums = k.zeros((total + 1,))
        if x._s[0]:
            k.put(sums, 0, at._a, weight.reshape(-1).contiguous()._a, "add", False)
        found = from_array(sums, k)
    found = found[:total].reshape(shape)
    if density:
        found = found / found.sum()
        for i, e in enumerate(edges):
            widths = (e[1:] - e[:-1]).reshape(-1, *(1,) * (len(shape) - 1 - i))
            found = found / widths
    return found.clone()


def _histogram(
    x: Tensor, bins: Any, bounds: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """The histogram of the points along the last dimension; *bins* are counts or edges."""
    given = bool(bins) and isinstance(bins[0], Tensor)
    if given:
        _check_edges(x, bins)
    _check_counts([e._s[0] - 1 for e in bins] if given else bins)
    _check_weight(x, weight)
    if x._k.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("histogramdd", x)
    n = math.prod(x._s[:-1])
    operands = (x, weight, *(bins if given else ()))
    x = x.detach().reshape(n, x._s[-1])
    edges = [e.detach().clone() for e in bins] if given else _equal_edges(x, bins, bounds)
    weight = None if weight is None else weight.detach()
    made = [_counted(x, edges, weight, density), *edges]
    counts, *edges = underived(made, operands, not_written("histogram"), UNKNOWN)
    return counts, edges


_RESULTS = result_type_of("histogram", "hist bin_edges")
_RESULTS_DD = result_type_of("histogramdd", "hist bin_edges")


@public(out=SAME)
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogram:
    """(hist, bin_edges): how many values lie in each bin, or the sum of their weights.

    *bins* are edges in order, or a number of equal bins over *range*, by default from the least
    value to the greatest. A bin holds its left edge, the last one both. With *density* the values
    times the widths of the bins add up to 1. RuntimeError where dtypes, shapes or the range do not
    fit; NotImplementedError for dtypes other than float32 and float64.
    """
    check_tensors("histogram", input=input)
    points = input.reshape(-1).unsqueeze(-1)
    if weight is not None:
        weight = weight.reshape(-1)
    if isinstance(bins, Tensor) and range is not None:
        raise mixed_error("histogram", {"input": input, "bins": bins, "range": range})
    hist, edges = _histogram(points, [bins], range, weight, density)
    return _RESULTS(hist, edges[0])


@public(method=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """(hist, bin_edges) of points, which are the rows along the last dimension.

    *bins* is a number of equal bins, or a sequence of such numbers or of tensors of edges, one for
    each coordinate; *range* has two bounds for each. (..., d) -> a tensor of d dimensions, and a
    tuple of d tensors. RuntimeError where dtypes, shapes or the range do not fit.
    """
    check_tensors("histogramdd", input=input)
    if len(input._s) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    d = input._s[-1]
    each = [bins] * d if type(bins) is int else bins
    whole = isinstance(each, (list, tuple)) and all(type(n) is int for n in each)
    tensors = isinstance(each, (list, tuple)) and all(isinstance(e, Tensor) for e in each)
    if not whole and not tensors:
        raise TypeError(
            "histogramdd(): argument 'bins' (position 2) must be int, tuple of ints or tuple of "
            f"Tensors, not {type(bins).__name__}"
        )
    if len(each) != d and whole:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if len(each) != d:
        raise RuntimeError(
            f"torch.histogramdd: expected {d} sequences of bin edges for a {d}-dimensional "
            f"histogram but got {len(each)}"
        )
    hist, edges = _histogram(input, each, range, weight, density)
    return _RESULTS_DD(hist, tuple(edges))
