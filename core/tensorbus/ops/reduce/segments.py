"""Reductions of segments: runs of elements that follow one another along a dimension."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.composed import composed
from tensorbus.op_engine.dims import wrap_dim
from tensorbus.op_engine.names import FUNCTIONS
from tensorbus.op_engine.public import public

_EMPTY = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
"""What an empty segment gives; the mean's is divided by 0 then."""


@public(method=False)
@composed(node="SegmentReduceBackward0")
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """``sum``, ``mean``, ``max``, ``min`` or ``prod`` of segments of *data* along *axis*.

    *lengths*, or *offsets* with one element more, says where they lie; its last dimension is
    *axis*, and the ones before it are those of *data*. *initial* is one more element of each
    segment (which the mean does not count); without it the mean of an empty one is NaN.
    RuntimeError where the lengths do not sum to the size, unless *unsafe*.
    """
    check_tensors("segment_reduce", data=data)
    if reduce not in _EMPTY:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, max or min, got {reduce}"
        )
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    given = offsets if offsets is not None else lengths
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if data._k.dtype.category != dtypes.FLOAT:
        raise not_implemented("_segment_reduce_cpu", data)
    if given._k.dtype not in (dtypes.int32, dtypes.int64):
        raise not_implemented("_segment_reduce_lengths_cpu_kernel1", given)
    axis = wrap_dim(axis, max(data.dim(), 1))
    if not data._s or given.dim() - 1 != axis or given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            "segment_reduce(): Expected axis to be the last dimension of lengths but got "
            f"{axis}, with lengths of shape {list(given.shape)} and data of shape "
            f"{list(data.shape)}."
        )
    starts = given.long() if offsets is not None else _starts(given.long(), data, axis, unsafe)
    return _reduced(data, reduce, starts, axis, initial)


def _starts(lengths: Tensor, data: Tensor, axis: int, unsafe: bool) -> Tensor:
    """Where the segments begin, and where the last one ends."""
    if not unsafe and lengths._k.has_values:
        values = every_value(lengths)
        if (values < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (values.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    return FUNCTIONS["cat"]([FUNCTIONS["zeros_like"](lengths[..., :1]), lengths.cumsum(-1)], -1)


def _reduced(data: Tensor, reduce: str, starts: Tensor, axis: int, initial: Any) -> Tensor:
    size, n = data.shape[axis], starts.shape[-1] - 1
    lead, rest = data.shape[:axis], data.shape[axis + 1 :]
    rows = math.prod(lead)
    at = FUNCTIONS["arange"](size, device=data.device).expand(*lead, size)
    segment = FUNCTIONS["searchsorted"](starts.contiguous(), at.contiguous(), right=True) - 1
    # What lies outside of all segments goes to one more, which is left out.
    segment = segment.where((segment >= 0) & (segment < n), segment.new_full((), n))
    first = FUNCTIONS["arange"](rows, device=data.device).view(rows, 1) * (n + 1)
    index = (segment.reshape(rows, size) + first).reshape(-1)
    values = data.reshape(rows * size, *rest)

    base = data.new_full((rows * (n + 1), *rest), _EMPTY[reduce])
    if reduce in ("sum", "mean"):
        made = base.index_add(0, index, values)
    else:
        name = {"max": "amax", "min": "amin"}.get(reduce, reduce)
        made = base.index_reduce(0, index, values, name)
    made = made.view(*lead, n + 1, *rest).narrow(axis, 0, n)
    if initial is not None:
        made = _with(made, reduce, data.new_full((), initial))
    if reduce == "mean":
        counts = starts.diff(dim=-1).to(data.dtype)
        counts = counts if initial is None else counts.clamp(min=1)
        made = made / counts.view(*lead, n, *(1,) * len(rest))
    return made


def _with(made: Tensor, reduce: str, initial: Tensor) -> Tensor:
    if reduce in ("sum", "mean"):
        return made + initial
    if reduce == "prod":
        return made * initial
    # Where both are equal, the gradient is the segment's; NaN stays.
    behind = made < initial if reduce == "max" else made > initial
    return initial.where(behind, made)
